package api

import (
	"context"
	"math/rand/v2"
	"time"

	"holdfast/shared/deposit"
	"holdfast/shared/money"
	"holdfast/shared/order"
	"holdfast/shared/payment"
	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
)

// paymentView is the payment of an order as its buyer sees it: the one that paid it, else the latest that was begun.
type paymentView struct {
	PaymentID string          `json:"paymentId"`
	Method    payment.Method  `json:"method"`
	Status    payment.Status  `json:"status"`
	Action    *payment.Action `json:"action,omitempty"` // while it is PENDING
	ExpiresAt string          `json:"expiresAt,omitempty"`
	Failure   string          `json:"failure,omitempty"`
}

// refundView is a refund as buyers see it: to them one that is being sent and one that waits for it are the same.
type refundView struct {
	RefundID string       `json:"refundId"`
	Amount   money.Amount `json:"amount"`
	Status   string       `json:"status"`
	Reason   string       `json:"reason"`
	At       string       `json:"at"`
}

// orderMoney is what belongs to an order's money beside its own row.
type orderMoney struct {
	payment *payment.Payment
	refunds []payment.Refund
	deposit *deposit.Record
}

// readMoney reads what belongs to the money of orders. It asks only for what an order may have, for clients ask for an UNPAID one again and
// again: such an order holds a deposit and was never paid, or, with a deadline, waits for its payment and holds none yet.
func readMoney(ctx context.Context, q sqltx.Querier, orders []order.Order) (map[sale.OrderID]orderMoney, error) {
	var payable, refundable, seats []sale.OrderID
	for i := range orders {
		switch o := &orders[i]; {
		case o.Status == order.Reserved:
		case o.Status == order.Unpaid && o.PayDeadline == nil:
			seats = append(seats, o.ID)
		case o.Status == order.Unpaid:
			payable = append(payable, o.ID)
		default:
			payable, refundable, seats = append(payable, o.ID), append(refundable, o.ID), append(seats, o.ID)
		}
	}
	payments, err := payment.LatestOf(ctx, q, payable)
	if err != nil {
		return nil, err
	}
	for i := range orders {
		// A success that did not pay its order goes back: the sale was called off. Or the cache does not know yet that it did.
		if o := &orders[i]; o.Status == order.Unpaid && payments[o.ID].Status == payment.Succeeded {
			refundable = append(refundable, o.ID)
		}
	}
	refunds, err := payment.RefundsOf(ctx, q, refundable)
	if err != nil {
		return nil, err
	}
	deposits, err := deposit.GetMany(ctx, q, seats)
	if err != nil {
		return nil, err
	}
	out := make(map[sale.OrderID]orderMoney, len(orders))
	for i := range orders {
		id := orders[i].ID
		m := orderMoney{refunds: refunds[id]}
		if p, found := payments[id]; found {
			m.payment = &p
		}
		if d, found := deposits[id]; found {
			m.deposit = &d
		}
		out[id] = m
	}
	return out, nil
}

// viewWhole writes an order as it stands at an instant of the deciding clock, with all that belongs to its money. One that is only a
// reservation has nothing of that.
func viewWhole(ctx context.Context, q sqltx.Querier, o *order.Order, now time.Time) (orderView, error) {
	v := viewOrder(o, now)
	m, err := readMoney(ctx, q, []order.Order{*o})
	if err != nil {
		return v, err
	}
	v.addMoney(o, m[o.ID])
	return v, nil
}

// addMoney puts payment, refunds and deposit into a view.
func (v *orderView) addMoney(o *order.Order, m orderMoney) {
	v.Deposit = viewHeld(m.deposit)
	if p := m.payment; p != nil {
		v.Payment = viewPayment(p)
		if p.Disposition == payment.ToNewOrder && p.OrderID == o.ID { // the cache may not know yet
			v.ReplacedBy = p.NewOrderID.String()
		}
		if o.Status == order.Unpaid && p.Status == payment.Pending { // the provider may have told us in a moment
			v.PollAfterMs = (pollExpired + rand.N(pollExpired)).Milliseconds()
		}
	}
	total := money.Zero(o.Amount.Currency)
	for i := range m.refunds {
		r := &m.refunds[i]
		v.Refunds = append(v.Refunds, viewRefund(r))
		if r.Status != payment.RefundFailed {
			total = total.Plus(r.Amount)
		}
	}
	if len(m.refunds) > 0 {
		v.RefundedTotal = &total
	}
}

func viewPayment(p *payment.Payment) *paymentView {
	v := &paymentView{PaymentID: p.ID, Method: p.Method, Status: p.Status, Failure: p.Failure}
	if p.Status == payment.Pending {
		v.Action, v.ExpiresAt = p.Action, optStamp(p.ExpiresAt)
	}
	return v
}

func viewRefund(r *payment.Refund) refundView {
	v := refundView{RefundID: r.ID, Amount: r.Amount, Status: string(r.Status), Reason: r.Reason, At: stamp(r.CreatedAt)}
	if !r.Status.Final() {
		v.Status = "PENDING"
	}
	return v
}
