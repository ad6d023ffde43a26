// Package sale holds what a sale is, without any store: the activity with its window, limit and ticket types; how capacity is
// spread over buckets; the order id and what it is made of; the reservation, which names what was taken for whom.
//
// # Words
//
// An activity is one sale. A ticket type is what is counted; its stock is split into buckets so that writers in MySQL do not
// queue on one row. A reservation is units taken for one user by one script run: it becomes an order or dies, and is named by
// the order id from its first moment. An allocation says how many units of which bucket.
//
//	DRAFT -> PUBLISHED <-> SUSPENDED
//	            |              |
//	            +---> CLOSED <-+
package sale
