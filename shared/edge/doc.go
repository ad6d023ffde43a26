// Package edge is where the outside meets the domain: its sub-packages decode what woke a function, call the domain, and encode
// the answer. Only they may import AWS packages, and none of them holds a business rule.
//
//	api       HTTP through API Gateway
//	queue     messages to create-orders, by any carrier, and what could not be handled
//	schedule  jobs that a clock wakes
//	topic     events, for whoever subscribed
//	objects   files that people fetch
//	deploy    what runs once per deployment
//	boot      environment to clients
//
// This package holds what they all take: the log, and Deps, the one struct from which every function is built, by its main and by the local
// stack alike.
package edge
