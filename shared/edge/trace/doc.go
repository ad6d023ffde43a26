// Package trace tells AWS X-Ray how long calls to other services took.
//
// Lambda itself records a segment for every invocation that is sampled, and leaves its id in the invocation's context. This
// package adds one subsegment per call, sent to the daemon that Lambda runs beside the function: one UDP datagram, no answer. Away
// from Lambda, and for invocations that are not sampled, it only calls. What can go wrong with tracing never reaches a caller.
package trace
