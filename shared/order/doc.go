// Package order holds the record of a sale's orders: what an order is, how its state moves, and all SQL that writes the tables
// that belong to it: trade_order, order_router, purchase_limit and stock_log.
//
// # Words
//
// An order is a row of trade_order under the id that its reservation had from its first moment. A tombstone is an order that was
// CANCELLED when its row was inserted: whoever comes late finds it and stops. The router says whose order an id is and of which
// activity, the look-up by which orders can later be sharded by user. The stock log has one row of direction -1 for the taking
// of an order's units and one of direction +1 for giving them back.
//
// # States
//
//	(none) --create--> UNPAID --pay--> PAID
//	   |                  |              |
//	   |                  +---cancel-----+--> CANCELLED (final)
//	   +--create, amount 0--> PAID
//	   +--tombstone--> CANCELLED
//
// RESERVED is no state of a row: it is what a reader says of a reservation that Redis knows and MySQL does not know yet.
//
// # What always holds
//
// One life per id: a row never leaves CANCELLED, and no second row is made for an id. A state changes only by an UPDATE that
// names the state it leaves; the number of rows is checked, and the writer decides on a row that it has locked. The units of an
// UNPAID order are frozen in its buckets, those of a PAID one sold, those of a CANCELLED one free.
package order
