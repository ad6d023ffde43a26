// Package metric writes counts as lines of JSON in CloudWatch's Embedded Metric Format, from which CloudWatch makes metrics without
// any call. It knows nothing but a writer and a clock.
package metric
