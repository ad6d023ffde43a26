// Package metric counts what happens and writes each count as one line of JSON in CloudWatch's embedded metric format: what a Lambda
// function prints becomes a metric without any call, and is a readable line of the log everywhere else. Metrics have no dimensions:
// one sum over all functions is what alarms look at. They are for people and alarms; nothing is ever decided by them.
package metric
