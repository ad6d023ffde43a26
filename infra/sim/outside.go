package sim

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"holdfast/shared/deposit"
	"holdfast/shared/edge"
	"holdfast/shared/money"
	"holdfast/shared/payment"
)

// outside is what functions call beside the stores and the queue of orders, in memory: the company that charges buyers, the service that
// runs workflows, the queue that wakes the sender of notices, and the topic that notices are published to. Each call is a boundary.
type outside struct {
	clock      *clock
	charges    []*charge
	refunds    []*returned
	news       []*news // that the provider still has to bring, in any order
	executions []*execution
	bells      int
	published  map[string]int // by the id of a notice
}

// charge is what the provider was asked to take from a buyer.
type charge struct {
	payment.Charge
	succeeded bool
	at        time.Time // when it did
}

// returned is what the provider was asked to give back.
type returned struct {
	payment.RefundOrder
	state payment.RefundStatus
	at    time.Time // when it SUCCEEDED
}

// news is one notification of the provider, of a charge or of a refund.
type news struct {
	charge *charge
	refund *returned
	failed bool // of a charge: that it failed, which a later one may contradict
	flying int  // deliveries that have not ended
	told   bool // one of them was answered well
}

// execution is one workflow that was started.
type execution struct {
	deposit.Execution
	reminded, ended bool
}

// Begin implements payment.Provider.
func (o *outside) Begin(ctx context.Context, c payment.Charge) (payment.Action, error) {
	take := func() {
		if !slices.ContainsFunc(o.charges, func(known *charge) bool { return known.PaymentID == c.PaymentID }) {
			o.charges = append(o.charges, &charge{Charge: c})
		}
	}
	if err := o.ask(ctx, providerSide, "charge", take); err != nil {
		return payment.Action{}, fmt.Errorf("%w: %w", payment.ErrNoProvider, err)
	}
	return payment.Action{Type: "REDIRECT", URL: "https://pay.example/" + c.PaymentID, Reference: "ch_" + c.PaymentID}, nil
}

// Refund implements payment.Provider. It refuses what was never charged, or more than was.
func (o *outside) Refund(ctx context.Context, r payment.RefundOrder) (payment.RefundState, error) {
	var answer payment.RefundState
	give := func() {
		i := slices.IndexFunc(o.refunds, func(known *returned) bool { return known.RefundID == r.RefundID })
		if i < 0 {
			i = len(o.refunds)
			o.refunds = append(o.refunds, &returned{r, o.verdict(ctx, r), o.clock.now()})
			if o.refunds[i].state != payment.RefundSucceeded {
				o.news = append(o.news, &news{refund: o.refunds[i]})
			}
		}
		answer = payment.RefundState{Status: o.refunds[i].state}
		if answer.Status == payment.RefundFailed {
			answer.Failure = "ACCOUNT_CLOSED"
		}
	}
	if err := o.ask(ctx, providerSide, "refund", give); err != nil {
		return payment.RefundState{}, fmt.Errorf("%w: %w", payment.ErrNoProvider, err)
	}
	return answer, nil
}

// verdict is how a new refund stands: done, on its way, or refused for good.
func (o *outside) verdict(ctx context.Context, r payment.RefundOrder) payment.RefundStatus {
	if o.left(r.PaymentID).Less(r.Amount) {
		return payment.RefundFailed
	}
	a := actorOf(ctx)
	if a == nil {
		return payment.RefundSucceeded
	}
	switch a.run.rng.IntN(8) {
	case 0, 1:
		return payment.RefundFailed
	case 2, 3:
		return payment.RefundSent
	}
	return payment.RefundSucceeded
}

// left is what of a charge has not gone back.
func (o *outside) left(paymentID string) money.Amount {
	left := money.Zero("CNY")
	for _, c := range o.charges {
		if c.PaymentID == paymentID && c.succeeded {
			left = left.Plus(c.Amount)
		}
	}
	for _, r := range o.refunds {
		if r.PaymentID == paymentID && r.state != payment.RefundFailed {
			left = left.Minus(r.Amount)
		}
	}
	return left
}

// List implements payment.Provider. The page after one begins behind as many entries as came before it.
func (o *outside) List(ctx context.Context, w payment.Listing) (payment.ListPage, error) {
	var page payment.ListPage
	look := func() {
		all := o.succeeded(w.From, w.To)
		from, _ := strconv.Atoi(w.After) // "": 0
		until := min(from+w.Limit, len(all))
		page = payment.ListPage{Successes: all[from:until]}
		if until < len(all) {
			page.Next = strconv.Itoa(until)
		}
	}
	if err := o.ask(ctx, providerSide, "list", look); err != nil {
		return payment.ListPage{}, fmt.Errorf("%w: %w", payment.ErrNoProvider, err)
	}
	return page, nil
}

// succeeded is what succeeded from an instant on and before another one, the earliest first.
func (o *outside) succeeded(from, to time.Time) (list []payment.Success) {
	add := func(s payment.Success) {
		if !s.At.Before(from) && s.At.Before(to) {
			list = append(list, s)
		}
	}
	for _, c := range o.charges {
		if c.succeeded {
			add(payment.Success{PaymentID: c.PaymentID, Amount: c.Amount, At: c.at, Reference: "ch_" + c.PaymentID})
		}
	}
	for _, r := range o.refunds {
		if r.state == payment.RefundSucceeded {
			add(payment.Success{RefundID: r.RefundID, Amount: r.Amount, At: r.at})
		}
	}
	slices.SortStableFunc(list, func(a, b payment.Success) int { return a.At.Compare(b.At) })
	return list
}

// start is how functions start workflows, one deposit at a time. A name that was used counts as started.
func (o *outside) start(ctx context.Context, list []deposit.Execution) error {
	for _, e := range list {
		if err := o.StartDeposit(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// StartDeposit starts an execution as workflow.Starter does.
func (o *outside) StartDeposit(ctx context.Context, e deposit.Execution) error {
	return o.ask(ctx, workflowSide, "start", func() {
		if !slices.ContainsFunc(o.executions, func(known *execution) bool { return known.OrderID == e.OrderID }) {
			o.executions = append(o.executions, &execution{Execution: e})
		}
	})
}

// Ring wakes send-notices as queue.Bell does.
func (o *outside) Ring(ctx context.Context) error {
	return o.ask(ctx, bellSide, "ring", func() { o.bells++ })
}

// Publish implements edge.Topic.
func (o *outside) Publish(ctx context.Context, messages []edge.TopicMessage) []error {
	errs := make([]error, len(messages))
	for i, m := range messages {
		errs[i] = o.ask(ctx, topicSide, "publish", func() { o.published[m.ID]++ })
	}
	return errs
}

// ask is one call of somebody outside, who may be asked twice.
func (o *outside) ask(ctx context.Context, s side, what string, do func()) error {
	return cross(ctx, call{side: s, what: what, apart: do, do: func() error {
		do()
		return nil
	}})
}
