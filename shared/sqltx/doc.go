// Package sqltx opens the database, checks its settings, and runs transactions.
//
// # Transactions
//
// DB.Run runs a function in one transaction and commits it. When the server answers a deadlock (1213) or a lock wait that took too
// long (1205), or the connection breaks before COMMIT is sent, the server has rolled back or will: the whole function runs again, a
// bounded number of times, after a pause with jitter. A function must therefore hold no effect outside its transaction, and must
// return the errors of its statements: after a 1213 the server has no transaction any more, so whoever goes on writes without one.
//
// A COMMIT whose answer never came may have happened. Run says ErrCommitUnclear and repeats nothing; the caller looks its row up by
// its key, with a locking read, before it does anything else.
//
// # What may run twice, and why not here
//
// database/sql repeats a statement only when the driver says driver.ErrBadConn, and this driver says so only when it has written
// nothing, or when the server refused the statement as read-only. Inside a transaction database/sql repeats nothing.
//
// # Rows affected
//
// Open leaves clientFoundRows off: an UPDATE counts the rows that it changed, and an INSERT ... ON DUPLICATE KEY UPDATE key = key
// counts 1 for a new row and 0 for one that was there. An UPDATE that sets what already stands there counts 0, so a conditional
// UPDATE always moves something (status, revision), and 0 rows means: read the row again and see why.
//
// # Locks
//
// Every transaction locks in this order, and within a table in the order of keys: idempotency, activity (shared), trade_order,
// deposit_record, payment, waitlist_entry, purchase_limit, wallet, stock_bucket, then inserts.
//
// # Time
//
// DATETIME(3) holds UTC. Open sends instants in UTC, cut to milliseconds, since MySQL rounds what MariaDB cuts. Deadlines are
// compared with DB.Now, bound as a parameter; neither the zone of the server nor that of the process matters.
package sqltx
