package sim

import (
	"fmt"
	"math/rand/v2"
	"time"

	"holdfast/shared/sale"
)

// scenario is one thing that a function does, to be cut off at every boundary.
type scenario struct {
	name    string
	profile profile             // zero fields take the defaults of plan
	prepare func(r *run)        // what has happened before
	target  func(r *run) *actor // who is cut off
}

// plan fills a scenario's profile.
func (s *scenario) plan(*rand.Rand) profile {
	p := profile{capacity: 4, buckets: 2, limit: 2, users: 6, keys: 2, price: "12.50", payWindow: 90 * time.Second}
	if s.profile.capacity != 0 {
		p.capacity, p.buckets, p.limit = s.profile.capacity, s.profile.buckets, s.profile.limit
	}
	p.refundRule, p.seats = s.profile.refundRule, s.profile.seats
	p.penaltyRatio, p.depositRatio, p.cancellation, p.deadlineAfter = "0.3", "0.333333", sale.CancelPenalty, 10*time.Minute
	return p
}

// want adds the wish of a user.
func (r *run) want(user string, quantity int) *wish {
	w := &wish{id: r.facts.OrderID(user, "key"), user: user, key: "key", quantity: quantity}
	r.journal = append(r.journal, w)
	return w
}

// reserved makes a reservation whose message is in the queue.
func (r *run) reserved(user string, quantity int) *wish {
	w := r.want(user, quantity)
	r.complete(r.reserve(r.process[0], w))
	return w
}

// ordered makes an order.
func (r *run) ordered(user string, quantity int) *wish {
	w := r.reserved(user, quantity)
	r.complete(r.deliver(r.process[0], "create-orders", delivering, &r.queue.messages, 10))
	return w
}

// cancelled cancels an order in MySQL, and Redis never hears of it.
func (r *run) cancelled(w *wish) {
	r.cutOff(r.cancel(w), tableSide, "COMMIT", 1, diesAfter)
}

func (r *run) cancel(w *wish) *actor {
	return r.request(r.process[0], cancelling, "cancel", w, "POST", "/v1/orders/{orderId}/cancellation", nil, func(int) {})
}

// cutOff lets an actor run until the n-th call of a kind (from 0), where a fault befalls it, and then to its end.
func (r *run) cutOff(a *actor, s side, what string, n int, f fault) {
	before := r.decide
	r.decide = func(_ *actor, c *call) fault {
		if c.side == s && c.what == what {
			if n--; n == -1 {
				return f
			}
		}
		return none
	}
	r.toEnd(a)
	r.decide = before
}

// toEnd runs an actor alone, stopping at each boundary.
func (r *run) toEnd(a *actor) {
	for !a.ended {
		r.step(a)
	}
	r.finish(a)
}

// stockScenarios are those in which no money moves.
var stockScenarios = []scenario{
	{name: "reserve", target: func(r *run) *actor { return r.reserve(r.process[0], r.want("a", 1)) }},
	{name: "reserve again what is pending", prepare: func(r *run) {
		r.cutOff(r.reserve(r.process[0], r.want("a", 2)), queueSide, "send", 0, diesBefore)
	}, target: func(r *run) *actor { return r.reserve(r.process[0], r.journal[0]) }},
	{name: "reserve a sale that Redis has lost", prepare: func(r *run) {
		r.ordered("a", 1)
		r.check(r.cache.failOver(r.ctx, r.activity.ID, nil))
	}, target: func(r *run) *actor { return r.reserve(r.instance(), r.want("b", 1)) }},
	{name: "create a batch", prepare: func(r *run) {
		r.ordered("a", 1)
		r.complete(r.reserve(r.process[0], r.journal[0])) // known already
		r.reserved("b", 2)
		w := r.reserved("c", 1)
		r.cancelled(w) // a tombstone
		r.queue.messages = append(r.queue.messages, &message{id: "garbage", body: "{}"})
	}, target: func(r *run) *actor {
		return r.deliver(r.process[0], "create-orders", delivering, &r.queue.messages, 10)
	}},
	{name: "create a batch that a gate refuses", profile: profile{capacity: 2, buckets: 2, limit: 1}, prepare: func(r *run) {
		back := r.keepCopy()
		r.ordered("a", 1)
		r.ordered("b", 1)
		back()
		r.reserved("c", 1)
		r.reserved("d", 1)
	}, target: func(r *run) *actor {
		return r.deliver(r.process[0], "create-orders", delivering, &r.queue.messages, 10)
	}},
	{name: "cancel an order", prepare: func(r *run) { r.ordered("a", 2) }, target: func(r *run) *actor { return r.cancel(r.journal[0]) }},
	{name: "cancel a reservation", prepare: func(r *run) { r.reserved("a", 2) }, target: func(r *run) *actor { return r.cancel(r.journal[0]) }},
	{name: "pay", prepare: func(r *run) { r.ordered("a", 2) }, target: func(r *run) *actor { return r.pay(r.process[0], r.journal[0]) }},
	{name: "read an order", prepare: func(r *run) { r.ordered("a", 1) }, target: func(r *run) *actor { return r.begin(reading) }},
	{name: "expire", prepare: func(r *run) {
		r.ordered("a", 1)
		r.ordered("b", 2)
		r.pass(2 * time.Minute)
	}, target: func(r *run) *actor { return r.begin(expiring) }},
	{name: "compensate", prepare: mess, target: func(r *run) *actor { return r.begin(compensating) }},
	{name: "compensate a loss", prepare: func(r *run) {
		mess(r)
		r.check(r.cache.server().FlushAll(r.ctx).Err())
	}, target: func(r *run) *actor { return r.begin(compensating) }},
	{name: "load", prepare: func(r *run) {
		mess(r)
		r.complete(r.adjust(r.process[0]))
	}, target: func(r *run) *actor { return r.begin(loading) }},
	{name: "adjust", prepare: func(r *run) { r.ordered("a", 1) }, target: func(r *run) *actor { return r.adjust(r.process[0]) }},
	{name: "suspend", target: func(r *run) *actor { return r.transition(r.process[0], "SUSPENDED") }},
	{name: "close with reservations on their way", prepare: func(r *run) { r.reserved("a", 1) },
		target: func(r *run) *actor { return r.transition(r.process[0], "CLOSED") }},
	{name: "compensate what Redis has sold twice", prepare: soldTwice, target: func(r *run) *actor { return r.begin(compensating) }},
	{name: "reconcile after a failover", prepare: forgotten, target: func(r *run) *actor { return r.begin(reconciling) }},
	{name: "record a dead letter", prepare: func(r *run) {
		r.queue.messages = append(r.queue.messages, &message{id: "garbage", body: "{}"})
		r.complete(r.deliver(r.process[0], "create-orders", delivering, &r.queue.messages, 10))
	}, target: func(r *run) *actor {
		return r.deliver(r.process[0], "record-dead-letters", recordingLetters, &r.queue.letters, 10)
	}},
}

// mess leaves something of everything for repair: a success of which nobody has decided what it becomes, an order that waits for its acknowledgement, a cancelled one that waits for its
// release, a reservation whose message was never sent, a change of capacity and of the rules that Redis has not heard of.
func mess(r *run) {
	r.undecided("d")
	r.reserved("a", 1)
	r.cutOff(r.deliver(r.process[0], "create-orders", delivering, &r.queue.messages, 10), cacheSide, "ack.lua", 0, diesBefore)
	r.queue.messages = nil
	r.cancelled(r.ordered("b", 1))
	r.cutOff(r.reserve(r.process[0], r.want("c", 1)), queueSide, "send", 0, diesBefore)
	r.cutOff(r.adjust(r.process[0]), cacheSide, "adjust_stock.lua", 0, diesBefore)
	r.cutOff(r.transition(r.process[0], "SUSPENDED"), cacheSide, "change_rules.lua", 0, diesBefore)
	r.pass(2 * time.Minute)
}

// keepCopy keeps the set as it is now; the answer makes a replica take over that has it so.
func (r *run) keepCopy() (takeOver func()) {
	earlier, err := r.cache.copyOf(r.ctx, r.activity.ID)
	r.check(err)
	return func() {
		r.check(r.cache.failOver(r.ctx, r.activity.ID, earlier))
		r.lost = r.profile.losses
		r.tell("a replica takes over")
	}
}

// soldTwice has Redis forget that everything is sold, and sell once more, without a message.
func soldTwice(r *run) {
	back := r.keepCopy()
	for i := range r.profile.capacity {
		r.ordered(fmt.Sprintf("early-%d", i), 1)
	}
	back()
	r.cutOff(r.reserve(r.process[0], r.want("late", 1)), queueSide, "send", 0, diesBefore)
	r.pass(2 * time.Minute)
}

// forgotten has Redis forget an order, and the end of another, so long ago that the minute pass does not look for them any more.
func forgotten(r *run) {
	w := r.ordered("a", 1)
	back := r.keepCopy()
	r.ordered("b", 1)
	r.complete(r.cancel(w))
	r.complete(r.pay(r.process[0], r.journal[1]))
	r.pass(3 * time.Hour)
	back()
}
