// Package crowd sends many distinct buyers at a running stack through its HTTP API, at a fixed rate that does not wait for
// answers (open loop), and then proves what became of them: every 202 goes into a journal on disk, every order is polled until
// it exists, some are cancelled and some are marked paid, and at the end the invariants are checked against both stores and
// the journal. Endure is a crowd for a stack that things are done to: it goes on through errors and leaves the proof to its caller.
package crowd
