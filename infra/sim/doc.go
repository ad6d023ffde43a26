// Package sim runs the real functions against real stores, one step at a time, as a seed decides.
//
// # What is real
//
// The handlers of the API, of the queues, of the schedules and of the workflows, made by their constructors; every script in a
// redis-server, every statement in a mariadbd, both in memory. What is simulated: time, the queue, and all that lies between a function
// and its stores; and everybody outside: the provider who charges buyers and brings news of it late, twice and in any order, the service
// that wakes workflows, too early or again, the bell that wakes the sender of notices, the topic that takes them.
//
// One sale in three is of deposit seats; one in ten is a TEST sale, in which no money may move.
//
// # Steps
//
// A boundary is a call of Redis, a statement or a COMMIT, a call of the queue or of somebody outside, or a pause before another try. Every invocation is an
// actor that stops at each boundary; the scheduler lets one actor at a time go on to its next. At a boundary an actor may die before or
// after the call, the call may fail unsent, lose its answer, take effect later than its caller waits for, or take effect twice;
// messages are lost (only in seeds whose Redis keeps everything: no system survives both), doubled and reordered; Redis is wiped, loses
// a key, restarts empty, or fails over to a copy of an earlier moment. A seed draws which of these it uses, and how often.
//
// A transaction is one block: nobody else runs between its BEGIN and its end, though it can die at every statement. Otherwise an actor
// would wait for a row lock whose owner stands still, and the scheduler would wait for the actor. What goes on between transactions
// that overlap is left to the tests that let them.
//
// # Clocks
//
// One virtual clock is read by MySQL's side at the wrapper of the driver, which answers the one statement that asks for the time, and
// by Redis through the offset that scripts take. No code sleeps: pauses are boundaries, and chance says when the time for them is over.
// The deadlines that code gives its calls never pass, since they are of real time; create-orders' alone are real, and long.
//
// # What is checked
//
// After its steps a seed ends: everything in flight dies, the provider brings what news it has until they are taken, and the schedules
// run for five and a half minutes of virtual time. Then every equation of package invariant must hold, with every 202 that an actor was
// answered, and those of the whole ledger, whose PROVIDER account must be the provider's own list; no order may have taken a step that
// the diagram lacks; nobody may have been told what was rolled back; and over all seeds every branch of repair must have been reached,
// and every end that a deposit, a payment, a refund, an entry of the waitlist and a notice can come to.
package sim
