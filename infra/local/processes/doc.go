// Package processes runs functions as Lambda does: the built binary of a function as a child process that asks a Runtime API of its
// own for events.
//
//	Invoke ─ pool of a function ─┬─ instance: process ─ GET next ─┐
//	                             │            Runtime API  <──────┘   POST response, POST error
//	                             └─ instance …
//
// # What is as in Lambda
//
//   - An instance handles one event at a time. When all are busy another is started, up to a limit.
//   - An instance that needs longer than the function's timeout is killed, and its invocation fails; so does that of an instance that
//     dies meanwhile. The next event gets another instance.
//   - A caller that goes away does not end an invocation.
//   - A function sees the environment variables that the template gives it, and those of Lambda, and no others.
//   - An instance that asks for work and dies while it has none is no failure.
//
// # What is not
//
// At the limit a caller waits for an instance, where Lambda would answer that it throttles: this machine has fewer processors. Idle
// instances stay until the stack ends.
package processes
