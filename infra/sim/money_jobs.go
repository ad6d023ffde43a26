package sim

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"holdfast/shared/checkout"
	"holdfast/shared/edge/provider"
	"holdfast/shared/money"
	"holdfast/shared/payment"
	"holdfast/shared/sale"
	"holdfast/shared/wallet"
)

// beginMoney is begin for what is done about money, deposits, the waitlist and notices.
func (r *run) beginMoney(on *instance, j job) *actor {
	switch j {
	case notifying:
		return r.notify(on, r.anyNews())
	case clocking:
		return r.tick(on, r.anyExecution())
	case joining:
		return r.join(on, fmt.Sprintf("user-%d", r.rng.IntN(r.profile.users)), 1+r.rng.IntN(r.profile.limit))
	case leaving:
		return r.leave(on, fmt.Sprintf("user-%d", r.rng.IntN(r.profile.users)))
	case noticing:
		return r.sendNotices(on)
	case checkingDeposits:
		return r.invoke(on, j, "check-deposits")
	case postponing:
		return r.postpone(on, r.rng.IntN(3))
	case callingOff:
		return r.callOff(on)
	case bulking:
		return r.spawn("jobs", on, func(ctx context.Context) { _, _ = on.Checkout.RunBulkJobs(ctx) })
	}
	w := r.knownWish()
	if w == nil {
		return nil
	}
	switch j {
	case payingByWallet:
		return r.payBy(on, w, "WALLET", r.rng.IntN(2))
	case payingByProvider:
		return r.payBy(on, w, "PROVIDER", r.rng.IntN(3))
	case confirming:
		return r.confirm(on, w)
	case refunding:
		return r.refund(on, w, r.rng.IntN(3))
	case waiving:
		return r.spawn("waive "+w.user, on, func(ctx context.Context) {
			_, _, _ = on.Checkout.WaiveDeposit(ctx, w.id, operator("deposit.waive", w.id.String()))
		})
	case extending:
		return r.extend(on, w)
	}
	return nil
}

// fund brings money into a user's wallet, with nothing in its way.
func (r *run) fund(user, amount string) {
	if amount == "0.00" {
		return
	}
	_, _, err := wallet.Carry(r.ctx, r.process[0].DB, wallet.Transfer{Type: wallet.TopUp, Reference: "top-up of " + user, UserID: user,
		Amount: money.Of(decimal.RequireFromString(amount), "CNY")}, operator("wallet.top-up", user))
	r.check(err)
}

// payBy pays an order, under one of a few keys, so that the same is also asked for again, and another beside it.
func (r *run) payBy(on *instance, w *wish, method string, n int) *actor {
	key := fmt.Sprintf("%s-%s-%d", w.key, method, n)
	return r.requestBy(on, payingByWallet, "pay by "+method, w, key, "POST", "/v1/orders/{orderId}/payment", map[string]any{"method": method}, func(int) {})
}

func (r *run) confirm(on *instance, w *wish) *actor {
	return r.requestBy(on, confirming, "confirm", w, w.key+"-confirm", "POST", "/v1/orders/{orderId}/confirmation", nil, func(int) {})
}

// refund gives a part of an order's payment back, under one of a few ids; the first gives all that is left.
func (r *run) refund(on *instance, w *wish, n int) *actor {
	in := checkout.RefundRequest{OrderID: w.id, RefundID: fmt.Sprintf("refund-%d-%s", n, w.id.Reference()), Reason: "sim"}
	if n > 0 {
		some := money.Of(decimal.New(int64(n), -1), "CNY")
		in.Amount = &some
	}
	return r.spawn(fmt.Sprintf("refund %d %s", n, w.user), on, func(ctx context.Context) {
		_, _, _ = on.Checkout.Refund(ctx, in, operator("order.refund", w.id.String()))
	})
}

// extend moves the deadline of one deposit, by the revision that it has now.
func (r *run) extend(on *instance, w *wish) *actor {
	var revision int64
	if err := r.plain.QueryRowContext(r.ctx, `SELECT revision FROM deposit_record WHERE order_id = ?`, w.id[:]).Scan(&revision); err != nil {
		return nil // it holds none
	}
	deadline := r.clock.now().Add(time.Duration(2+r.rng.IntN(8)) * time.Minute).Truncate(time.Second)
	return r.spawn("extend "+w.user, on, func(ctx context.Context) {
		_, _ = on.Checkout.ExtendDeposit(ctx, w.id, deadline, revision, operator("deposit.extend", w.id.String()))
	})
}

// postpone moves all deadlines of the sale, under one of a few ids.
func (r *run) postpone(on *instance, n int) *actor {
	in := checkout.Extension{ID: fmt.Sprintf("extension-%d", n), By: time.Duration(n+1) * time.Minute, What: checkout.ExtendPayments, Reason: "sim"}
	if r.profile.seats {
		in.What = checkout.ExtendDeposits
	}
	return r.spawn(fmt.Sprintf("postpone %d", n), on, func(ctx context.Context) {
		_, _ = on.Checkout.ExtendDeadlines(ctx, r.activity.ID, in, operator("activity.extend-deadlines", r.activity.ID))
	})
}

// callOff calls the whole sale off.
func (r *run) callOff(on *instance) *actor {
	return r.spawn("call off", on, func(ctx context.Context) {
		if _, _, err := on.Checkout.CallOff(ctx, r.activity.ID, operator("activity.call-off", r.activity.ID)); err == nil {
			_ = on.Reconcile.ApplyRules(ctx, r.activity.ID)
		}
	})
}

// anyNews is something that the provider has to say; nil when there is nothing.
func (r *run) anyNews() *news {
	if len(r.outside.news) == 0 {
		return nil
	}
	return r.outside.news[r.rng.IntN(len(r.outside.news))]
}

// buyersPay lets a buyer do at the provider what an app asked for, or fail to.
func (r *run) buyersPay() {
	var open []*charge
	for _, c := range r.outside.charges {
		if !c.succeeded {
			open = append(open, c)
		}
	}
	if len(open) == 0 {
		return
	}
	c := open[r.rng.IntN(len(open))]
	c.succeeded, c.at = r.rng.IntN(2) == 0, r.clock.now()
	r.tell(fmt.Sprintf("the buyer pays at the provider: %v", c.succeeded))
	r.outside.news = append(r.outside.news, &news{charge: c, failed: !c.succeeded})
}

// tick lets a workflow do its next step, or one that it has done already, or does too early.
func (r *run) tick(on *instance, e *execution) *actor {
	if e == nil {
		return nil
	}
	j, name := clocking, "settle-deposit"
	if !e.reminded {
		j, name = reminding, "remind-deposit"
	}
	payload, err := json.Marshal(map[string]any{"orderId": e.OrderID.String(), "startedAt": epoch})
	r.check(err)
	var status string
	a := r.spawn(name, on, func(ctx context.Context) {
		answer, err := on.handlers[j].Invoke(ctx, payload)
		if err != nil || actorOf(ctx).dead.Load() {
			return
		}
		var said struct {
			Status string `json:"status"`
		}
		r.check(json.Unmarshal(answer, &said))
		status = said.Status
	})
	a.after = func() {
		if status == "" {
			return
		}
		r.tell(fmt.Sprintf("%s answers %s", a, status))
		if j == reminding {
			e.reminded = true
		}
		if status == "DONE" || status == "SETTLED" {
			e.ended = r.rng.IntN(4) > 0 // else it does it all again
		}
	}
	return a
}

// anyExecution is a workflow that has not ended; nil when there is none.
func (r *run) anyExecution() *execution {
	var open []*execution
	for _, e := range r.outside.executions {
		if !e.ended && !r.clock.now().Before(e.RemindAt) || !e.ended && r.rng.IntN(8) == 0 {
			open = append(open, e)
		}
	}
	if len(open) == 0 {
		return nil
	}
	return open[r.rng.IntN(len(open))]
}

// nameEntry names an entry of the waitlist by the seed, so that the orders offered to it, and with them their buckets, are the same again.
func (r *run) nameEntry() (id sale.EntryID) {
	binary.BigEndian.PutUint64(id[:], r.names.Uint64())
	binary.BigEndian.PutUint64(id[8:], r.names.Uint64())
	return id
}

// join and leave are of the waitlist.
func (r *run) join(on *instance, user string, quantity int) *actor {
	body := map[string]any{"ticketType": ticket, "quantity": quantity}
	if d := r.activity.Deposit; d != nil {
		body["policyHash"] = d.Hash().String()
	}
	return r.requestBy(on, joining, "join", &wish{user: user}, "", "PUT", "/v1/activities/{activityId}/waitlist/me", body, func(int) {})
}

func (r *run) leave(on *instance, user string) *actor {
	return r.requestBy(on, joining, "leave", &wish{user: user}, "", "DELETE", "/v1/activities/{activityId}/waitlist/me", nil, func(int) {})
}

// sendNotices wakes the sender as often as the bell rang; nil when it did not.
func (r *run) sendNotices(on *instance) *actor {
	if r.outside.bells == 0 {
		return nil
	}
	r.outside.bells--
	return r.spawn("send-notices", on, func(ctx context.Context) {
		_, _ = on.handlers[noticing].Invoke(ctx, []byte(`{"Records":[{"messageId":"bell","body":"{}","eventSourceARN":"arn:aws:sqs:local:0:notices"}]}`))
	})
}

// notify has the provider bring news to the webhook. What is answered well it may bring again, what is not it brings again.
func (r *run) notify(on *instance, n *news) *actor {
	if n == nil {
		return nil
	}
	payload, err := n.event(r.clock.now())
	r.check(err)
	var status int
	a := r.spawn("notify-payment", on, func(ctx context.Context) {
		answer, err := on.handlers[notifying].Invoke(ctx, payload)
		if actorOf(ctx).dead.Load() {
			return
		}
		r.check(err)
		status = r.statusOf(answer)
	})
	n.flying++
	a.after = func() {
		n.flying--
		if status != 0 {
			r.tell(fmt.Sprintf("%s answers %d", a, status))
		}
		if status == http.StatusNoContent && r.rng.IntN(3) > 0 {
			r.outside.news = slices.DeleteFunc(r.outside.news, func(other *news) bool { return other == n })
		}
		n.told = n.told || status == http.StatusNoContent
	}
	return a
}

// event is the notification as API Gateway hands it over, signed.
func (n *news) event(now time.Time) ([]byte, error) {
	say := map[string]any{"status": "SUCCEEDED"}
	switch {
	case n.refund != nil:
		say["refundId"], say["amount"] = n.refund.RefundID, n.refund.Amount
		if n.refund.state == payment.RefundFailed {
			say["status"], say["failure"] = "FAILED", "ACCOUNT_CLOSED"
		} else if n.refund.state != payment.RefundSucceeded {
			n.refund.state, n.refund.at = payment.RefundSucceeded, now
		}
	default:
		say["paymentId"], say["amount"], say["reference"] = n.charge.PaymentID, n.charge.Amount, "ch_"+n.charge.PaymentID
		if n.failed {
			say["status"], say["failure"] = "FAILED", "DECLINED"
		}
	}
	body, err := json.Marshal(say)
	if err != nil {
		return nil, err
	}
	timestamp, signature := provider.Sign(providerKey, body, now)
	return json.Marshal(map[string]any{"version": "2.0", "rawPath": "/v1/payments/notifications", "body": string(body),
		"headers": map[string]string{"content-type": "application/json", strings.ToLower(provider.TimestampHeader): timestamp,
			strings.ToLower(provider.SignatureHeader): signature},
		"requestContext": map[string]any{"requestId": "sim", "http": map[string]string{"method": "POST", "path": "/v1/payments/notifications"}}})
}

// providerKey is what the provider signs with.
var providerKey = []byte("a key of the simulation, 32 bytes.")
