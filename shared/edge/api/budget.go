package api

import "time"

// How long parts of a request may take. Every function answers long before the gateway gives up at 29 s.
const (
	// stockBudget bounds what is asked of Redis before a request is answered: a Redis that is away or slow shows within 400 ms.
	stockBudget = 350 * time.Millisecond
	// factsBudget bounds the look into MySQL of a reservation whose facts are not in Redis.
	factsBudget = time.Second
	// loadBudget bounds asking for a load, which the answer does not depend on.
	loadBudget = 200 * time.Millisecond
	// sendTimeout bounds one attempt to send; there are two.
	sendTimeout = 800 * time.Millisecond
	// reserveBudget bounds a reservation as a whole.
	reserveBudget = 2500 * time.Millisecond
	// readBudget bounds calls that only read.
	readBudget = 5 * time.Second
	// rowBudget bounds the look for an order's row when another store may answer in its place.
	rowBudget = 2 * time.Second
	// cancelBudget bounds a cancellation, which waits for locks.
	cancelBudget = 10 * time.Second
	// payBudget bounds a payment, which waits for locks and for the provider.
	payBudget = 15 * time.Second
	// notifyBudget bounds a notification, which waits for locks and may send a refund.
	notifyBudget = 10 * time.Second
)
