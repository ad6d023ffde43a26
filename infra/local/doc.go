// Package local runs Holdfast on one machine: a real Redis and a real MariaDB as child processes, and around them the little of
// AWS that the functions touch, in process: an HTTP front as API Gateway, queues that speak the wire protocol of SQS, event
// source mappings, schedules, topics and objects, the state machine of deposits, a token issuer, and a payment provider. The functions are the same handlers that run in Lambda, invoked with the same
// event JSON.
//
//	HTTP ─ front ──┐                       ┌─ Redis
//	queue ─ mapping ├─ Invoker ─ handler ──┤
//	schedules ──────┤                      └─ MariaDB
//	executions ─────┘
//
// One clock, which can be moved forward, rules them all. Faults can be injected at named points. None of this is ever deployed.
package local
