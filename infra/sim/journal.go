package sim

import (
	"net/http"

	"holdfast/shared/reconcile/invariant"
	"holdfast/shared/sale"
)

// wish is what a user wants under one key.
type wish struct {
	id        sale.OrderID
	user, key string
	quantity  int
	promised  bool // a 202 was answered
	unclear   int  // attempts under way, or that ended without an answer that says whether something is held
	known     bool // its user has heard of the order
	over      bool // its user has heard that it is cancelled
}

func (w *wish) answer() invariant.Answer {
	switch {
	case w.promised:
		return invariant.Promised
	case w.unclear > 0:
		return invariant.Unclear
	}
	return invariant.Refused
}

// asks notes an attempt.
func (w *wish) asks() { w.unclear++ }

// hears notes the HTTP status that an attempt was answered. An attempt that is never answered stays unclear.
func (w *wish) hears(status int) {
	switch {
	case status == http.StatusAccepted:
		w.unclear--
		w.promised, w.known = true, true
	case status >= 400 && status < 500:
		w.unclear--
	default:
		w.known = true // the answer names the order
	}
}

// journal keeps everything that users asked for and what they were told, which no store can be asked for.
type journal []*wish

// list is the journal as the checkers take it.
func (j journal) list() (wishes []invariant.Wish, promises []invariant.Promise) {
	for _, w := range j {
		wishes = append(wishes, invariant.Wish{OrderID: w.id, UserID: w.user, Type: ticket, Quantity: w.quantity, Answer: w.answer()})
		if w.promised {
			promises = append(promises, invariant.Promise{OrderID: w.id, UserID: w.user, Type: ticket, Quantity: w.quantity})
		}
	}
	return wishes, promises
}
