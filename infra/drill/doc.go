// Package drill breaks a whole stack under load and sees whether it mends itself: the functions run as processes, a crowd buys, and a
// nemesis with a seed kills processes and servers, moves Redis to a replica that had fallen behind, and cuts, blinds and garbles what
// runs between them. Then everything is left alone until the schedules of the stack have settled it, and both stores, the journal of
// promises and the certificates say whether anything was lost or sold twice.
//
//	crowd ─ front ─ processes ─ wire ─ Redis        wire: toxiproxy, in this process
//	                          ─ wire ─ MariaDB      queue: in this process, with its fault points
//	                          ─ wire ─ queue
//
// # What becomes known
//
// Repair notes what it mends. Joined with the nemesis' own log of strikes this gives the repair matrix: at which step an order's way
// was cut, by what, which layer of repair mended it, and how long that took.
//
// The seed fixes which faults come, in which order, and how long each lasts, and what the buyers want; what meets what is up to the
// machine. Nothing here runs against a stack that the drill has not started itself.
package drill
