// Package queue is the way from a reservation to create-orders: the message, the carrier, and the functions that the carrier
// wakes.
//
//	message.go              what a message says, whatever carries it
//	sqs.go                  the carrier SQS: publish, set aside, send again
//	batch.go                the event and the partial answer of an SQS event source
//	create_orders.go        messages become orders
//	record_dead_letters.go  messages that were given up become rows for operators
//	bell.go                 one message that says that notices are due
//	send_notices.go         notices that are due are published, whatever woke it
//
// # What becomes of a message
//
//	accepted -> made an order, or a CANCELLED one with a reason             done
//	         -> cannot be read, or its activity is unknown                  set aside to the dead-letter queue with the reason, done
//	         -> the database is away                                        sent again with a delay and a fresh receive count, done
//	         -> it alone makes the transaction fail                         reported failed; after several receives a dead letter
//
// Every step may happen twice: an order id makes one order, however many messages name it.
package queue
