package crowd

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// How a crowd goes on when something fails: after a pause it tries again.
const (
	publishPatience = 20 * time.Second // for a sale to be ready, before its buyers come anyway
	tryAgainAfter   = time.Second
)

// Endured is what a crowd met that went on through errors.
type Endured struct {
	ActivityID string
	Requests   int            // reservations sent, repetitions included
	Promised   int            // orders promised by a 202
	Others     map[string]int // other answers, by code; "no answer (502)" where the function gave none
	Unanswered int            // buyers who heard nothing final to the end
	Cancelled  int            // orders that their buyers cancelled
	Paid       int            // orders that were paid: from wallets, by the operator, or by confirming a deposit; or a charge was begun
	Waited     int            // buyers who found too little left and joined the waitlist
	Accepted   int            // of these, who took what they were offered
	Broken     []string       // answers that break the contract, at most a few
}

// Endure makes a sale and sends the crowd at it, as Run does, while things are done to the stack: whoever gets no answer, or one that
// says to come again, sends the same key again until there is an answer or ctx ends; then the promised orders are cancelled and paid
// with the same patience. Every 202 goes into the journal. It returns an error only where no sale could be made, or the journal not be
// written; nothing is proved yet.
func Endure(ctx context.Context, o Options) (*Endured, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	c := &Crowd{o: o, client: newClient(o.Addresses.API)}
	if err := c.openThrough(ctx); err != nil {
		return nil, err
	}
	buyers, err := c.gather(ctx)
	if err != nil {
		return nil, err
	}
	if o.Deposits {
		c.fundThrough(ctx, buyers)
	}
	if c.journal, err = CreateJournal(JournalPath(o.Dir, o.ActivityID)); err != nil {
		return nil, err
	}
	result, err := c.rushThrough(ctx, buyers)
	if closeErr := c.journal.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return nil, err
	}
	endured := &Endured{ActivityID: o.ActivityID, Requests: int(result.metrics.Requests), Promised: len(result.promises), Others: result.refusals,
		Unanswered: len(result.without(c.tapOrder(len(buyers)))), Broken: result.broken}
	waiting := c.joinThrough(ctx, buyers, result.soldOut)
	endured.Cancelled, endured.Paid = c.decideThrough(ctx, buyers, result)
	endured.Waited, endured.Accepted = len(waiting), c.acceptThrough(ctx, waiting)
	return endured, nil
}

// openThrough makes the sale and publishes it, as often as it takes.
func (c *Crowd) openThrough(ctx context.Context) error {
	var err error
	if c.operator, err = c.client.token(ctx, "crowd-operator", "operator"); err != nil {
		return fmt.Errorf("no answer from %s: is the stack up? %w", c.o.Addresses.API, err)
	}
	draft, err := c.draft(ctx)
	if err != nil {
		return err
	}
	// That it exists already is what a second attempt hears when only the answer to the first was lost.
	if !c.insist(ctx, ctx.Done(), c.operator, "/ops/v1/activities", draft, http.StatusCreated, http.StatusConflict) {
		return fmt.Errorf("the sale %s could not be made: %w", c.o.ActivityID, ctx.Err())
	}
	patience, cancel := context.WithTimeout(ctx, publishPatience)
	defer cancel()
	// A sale that is published and not ready becomes so by itself; its buyers come again until then.
	c.insist(ctx, patience.Done(), c.operator, "/ops/v1/activities/"+c.o.ActivityID+"/publication", map[string]any{}, http.StatusOK)
	return nil
}

// poorEvery is who comes without money for a deposit: each so-manieth buyer.
const poorEvery = 20

// fundThrough gives the buyers money for what they want and for confirming it; a few have none.
func (c *Crowd) fundThrough(ctx context.Context, buyers []buyer) {
	_ = inParallel(len(buyers), 8, func(i int) error {
		if i%poorEvery != poorEvery-1 {
			c.topUp(ctx, buyers[i].userID, c.o.ActivityID+"-"+buyers[i].userID, priceOf(buyers[i].Type, buyers[i].quantity))
		}
		return nil
	})
}

// topUp brings money into a user's wallet, once by its reference, as often as it takes; false when ctx ended first.
func (c *Crowd) topUp(ctx context.Context, user, reference, amount string) bool {
	body := map[string]any{"reference": reference, "amount": map[string]string{"amount": amount, "currency": currency}}
	return c.insist(ctx, ctx.Done(), c.operator, "/ops/v1/wallets/"+user+"/top-ups", body, http.StatusCreated, http.StatusOK)
}

// fundFor gives a buyer who is about to pay from the wallet the money for it.
func (c *Crowd) fundFor(ctx context.Context, payment map[string]any, p Promise) {
	if payment["method"] == "WALLET" && priceOf(p.Type, p.Quantity) != nothing {
		c.topUp(ctx, p.UserID, "for-"+p.OrderID.String(), priceOf(p.Type, p.Quantity))
	}
}

// insist posts until one of the statuses is answered; false when that did not happen before the end.
func (c *Crowd) insist(ctx context.Context, end <-chan struct{}, token, path string, body any, good ...int) bool {
	header := http.Header{"Idempotency-Key": {"once-" + c.o.ActivityID + path}}
	for {
		status, err := c.client.call(ctx, http.MethodPost, path, token, header, body, nil)
		if err == nil && slices.Contains(good, status) {
			return true
		}
		select {
		case <-end:
			return false
		case <-time.After(tryAgainAfter):
		}
	}
}

// rushThrough sends all wishes, and those without a final answer again.
func (c *Crowd) rushThrough(ctx context.Context, buyers []buyer) (*loadResult, error) {
	order := c.tapOrder(len(buyers))
	result, err := c.rush(ctx, buyers, order, "the rush")
	if err != nil {
		return nil, err
	}
	requests := result.metrics.Requests
	for {
		left := result.without(order)
		if len(left) == 0 || ctx.Err() != nil {
			result.metrics.Requests = requests
			return result, nil
		}
		select {
		case <-ctx.Done():
		case <-time.After(tryAgainAfter):
		}
		more, err := c.rush(ctx, buyers, left, "asked to come again")
		if err != nil {
			return nil, err
		}
		requests += more.metrics.Requests
		result.add(more)
	}
}

// final says whether an answer to a decision leaves nothing to be tried again. Refused is who comes too late, has too little money, or has
// an order that cannot be cancelled any more.
func final(status int) bool {
	return slices.Contains([]int{http.StatusOK, http.StatusAccepted, http.StatusConflict, http.StatusGone, http.StatusPaymentRequired}, status)
}

// decideThrough cancels some orders as their buyers and has some paid, and counts them.
func (c *Crowd) decideThrough(ctx context.Context, buyers []buyer, result *loadResult) (cancelled, paid int) {
	tokens := make(map[string]string, len(buyers))
	for i := range buyers {
		tokens[buyers[i].userID] = buyers[i].token
	}
	ids := sortedIDs(result.promises)
	cancels, pays := int(float64(len(ids))*cancelShare), int(float64(len(ids))*payShare)
	done := make([]bool, cancels+pays)
	_ = inParallel(len(done), 8, func(i int) error {
		p := result.promises[ids[i]]
		path, token, body := c.decision(i < cancels, i, p, tokens[p.UserID])
		c.fundFor(ctx, body, p)
		for ctx.Err() == nil && !done[i] {
			status, err := c.client.call(ctx, http.MethodPost, path, token, http.Header{"Idempotency-Key": {"after-" + p.OrderID.String()}}, body, nil)
			done[i] = err == nil && final(status)
			if !done[i] {
				wait(ctx, tryAgainAfter)
			}
		}
		return nil
	})
	for i := range done {
		switch {
		case !done[i]:
		case i < cancels:
			cancelled++
		default:
			paid++
		}
	}
	return cancelled, paid
}

// wait waits d, or less when ctx ends.
func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
