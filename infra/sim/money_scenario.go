package sim

import (
	"time"

	"holdfast/shared/sale"
)

// Profiles of scenarios about money.
var (
	allBack = profile{refundRule: `{"from":"CLOSES_AT","steps":[{"before":"PT0S","ratio":"1"}]}`}
	seats   = profile{seats: true}
	scarce  = profile{capacity: 2, buckets: 2, limit: 2}
	bespoke = profile{capacity: 2, buckets: 2, limit: 2, seats: true}
)

// paid makes an order that its buyer paid by the wallet.
func (r *run) paid(user string) *wish {
	r.fund(user, "100.00")
	w := r.ordered(user, 1)
	r.complete(r.payBy(r.process[0], w, "WALLET", 0))
	return w
}

// charged makes an order whose buyer has paid at the provider, which has not told it yet.
func (r *run) charged(user string) *wish {
	w := r.ordered(user, 1)
	r.complete(r.payBy(r.process[0], w, "PROVIDER", 0))
	c := r.outside.charges[len(r.outside.charges)-1]
	c.succeeded, c.at = true, r.clock.now()
	r.outside.news = append(r.outside.news, &news{charge: c})
	return w
}

// undecided leaves a success that came after its order ran out, and of which nobody has decided what it becomes.
func (r *run) undecided(user string) {
	if r.profile.seats || r.profile.price == "0" || r.profile.mode == sale.Test {
		return // nobody pays at the provider there
	}
	r.charged(user)
	r.pass(4 * time.Minute)
	r.complete(expire(r))
	r.cutOff(told(r), tableSide, "COMMIT", 0, diesAfter)
	r.outside.news = nil // the provider counts it as told, so that nobody but repair comes back to it
}

// seated makes an order that a deposit holds.
func (r *run) seated(user string, quantity int) *wish {
	r.fund(user, "100.00")
	return r.ordered(user, quantity)
}

// soldOut sells the scarce sale to a and b, and has c wait.
func (r *run) soldOut() {
	r.ordered("a", 1)
	r.ordered("b", 1)
	r.complete(r.join(r.process[0], "c", 1))
}

// offered has an offer made to c.
func (r *run) offered() {
	r.soldOut()
	r.complete(r.cancel(r.journal[0]))
	r.noteOthers()
}

// offeredTo is the wish for what a user was offered last.
func (r *run) offeredTo(user string) *wish {
	i := len(r.journal) - 1
	for r.journal[i].user != user {
		i--
	}
	return r.journal[i]
}

// told is the delivery of the first news.
func told(r *run) *actor { return r.notify(r.process[0], r.outside.news[0]) }

func expire(r *run) *actor     { return r.begin(expiring) }
func compensate(r *run) *actor { return r.begin(compensating) }

// moneyScenarios are what functions do about money, deposits, the waitlist and notices.
var moneyScenarios = []scenario{
	{name: "pay by wallet", prepare: func(r *run) {
		r.fund("a", "100.00")
		r.ordered("a", 2)
	}, target: func(r *run) *actor { return r.payBy(r.process[0], r.journal[0], "WALLET", 0) }},
	{name: "pay by the provider", prepare: func(r *run) { r.ordered("a", 1) },
		target: func(r *run) *actor { return r.payBy(r.process[0], r.journal[0], "PROVIDER", 0) }},
	{name: "hear of a success", prepare: func(r *run) { r.charged("a") }, target: told},
	{name: "hear of a success too late", prepare: func(r *run) {
		r.charged("a")
		r.pass(2 * time.Minute)
		r.complete(expire(r))
	}, target: told},
	{name: "hear of a success when no unit is left", profile: scarce, prepare: func(r *run) {
		r.charged("a")
		r.pass(2 * time.Minute)
		r.complete(expire(r))
		r.ordered("b", 2)
	}, target: told},
	{name: "hear of a surplus", prepare: func(r *run) { r.complete(r.pay(r.process[0], r.charged("a"))) }, target: told},
	{name: "decide about a late payment", prepare: func(r *run) {
		r.undecided("a")
		r.pass(time.Minute)
	}, target: compensate},
	{name: "cancel what was paid by wallet", profile: allBack, prepare: func(r *run) { r.paid("a") },
		target: func(r *run) *actor { return r.cancel(r.journal[0]) }},
	{name: "cancel what the provider was paid", profile: allBack, prepare: func(r *run) {
		r.charged("a")
		r.complete(told(r))
	}, target: func(r *run) *actor { return r.cancel(r.journal[0]) }},
	{name: "give a part back", prepare: func(r *run) { r.paid("a") }, target: func(r *run) *actor { return r.refund(r.process[0], r.journal[0], 1) }},
	{name: "create seats", profile: seats, prepare: func(r *run) {
		r.fund("a", "100.00")
		r.fund("b", "4.17") // enough for one
		r.reserved("a", 1)
		r.reserved("b", 2)
		r.reserved("c", 1)
	}, target: func(r *run) *actor {
		return r.deliver(r.process[0], "create-orders", delivering, &r.queue.messages, 10)
	}},
	{name: "confirm a seat", profile: seats, prepare: func(r *run) { r.seated("a", 2) },
		target: func(r *run) *actor { return r.confirm(r.process[0], r.journal[0]) }},
	{name: "remind of a seat", profile: seats, prepare: func(r *run) {
		r.seated("a", 2)
		r.pass(5 * time.Minute)
	}, target: func(r *run) *actor { return r.tick(r.process[0], r.outside.executions[0]) }},
	{name: "settle a seat", profile: seats, prepare: func(r *run) {
		r.seated("a", 2)
		r.pass(10 * time.Minute)
		r.outside.executions[0].reminded = true
	}, target: func(r *run) *actor { return r.tick(r.process[0], r.outside.executions[0]) }},
	{name: "sweep seats", profile: seats, prepare: func(r *run) {
		r.seated("a", 2)
		r.seated("b", 1)
		r.pass(11 * time.Minute)
	}, target: compensate},
	{name: "cancel a seat", profile: seats, prepare: func(r *run) { r.seated("a", 2) }, target: func(r *run) *actor { return r.cancel(r.journal[0]) }},
	{name: "give a penalty back", profile: seats, prepare: func(r *run) { r.complete(r.cancel(r.seated("a", 2))) },
		target: func(r *run) *actor { return r.refund(r.process[0], r.journal[0], 1) }},
	{name: "join the waitlist", profile: scarce, prepare: func(r *run) {
		r.ordered("a", 1)
		r.ordered("b", 1)
	}, target: func(r *run) *actor { return r.join(r.process[0], "c", 1) }},
	{name: "offer what comes free", profile: scarce, prepare: (*run).soldOut, target: func(r *run) *actor { return r.cancel(r.journal[0]) }},
	{name: "accept an offered seat", profile: bespoke, prepare: func(r *run) {
		for _, user := range []string{"a", "b", "c"} {
			r.fund(user, "100.00")
		}
		r.offered()
	}, target: func(r *run) *actor { return r.payBy(r.process[0], r.offeredTo("c"), "WALLET", 0) }},
	{name: "decline an offer", profile: scarce, prepare: (*run).offered, target: func(r *run) *actor { return r.leave(r.process[0], "c") }},
	{name: "let an offer lapse", profile: scarce, prepare: func(r *run) {
		r.offered()
		r.pass(2 * time.Minute)
	}, target: expire},
	{name: "mend the waitlist", profile: scarce, prepare: func(r *run) {
		r.soldOut()
		r.cancelled(r.journal[0])
		r.check(r.cache.server().Del(r.ctx, keyOf(r.activity.ID, "waiters:"+ticket)).Err())
		r.pass(2 * time.Minute)
	}, target: compensate},
	{name: "check the money", profile: seats, prepare: func(r *run) {
		r.complete(r.confirm(r.process[0], r.seated("a", 1)))
		r.complete(r.cancel(r.seated("b", 1)))
		r.seated("c", 1)
		r.pass(11 * time.Minute)
	}, target: func(r *run) *actor { return r.begin(checkingDeposits) }},
	{name: "ask the provider", prepare: func(r *run) {
		r.undecided("a")
		r.charged("b")
		r.pass(11 * time.Minute)
	}, target: func(r *run) *actor { return r.begin(checkingDeposits) }},
	{name: "send notices", prepare: func(r *run) { r.paid("a") }, target: func(r *run) *actor { return r.sendNotices(r.process[0]) }},
	{name: "call a sale off", prepare: func(r *run) { r.paid("a") }, target: func(r *run) *actor { return r.callOff(r.process[0]) }},
	{name: "call off its orders", prepare: func(r *run) {
		r.paid("a")
		r.charged("b")
		r.ordered("c", 1)
		r.complete(r.callOff(r.process[0]))
	}, target: func(r *run) *actor { return r.begin(bulking) }},
}
