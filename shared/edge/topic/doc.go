// Package topic publishes events for whoever subscribed: the carrier of edge.Topic by Amazon SNS.
package topic
