package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"holdfast/shared/sale"
)

// loss is how Redis loses memory in a seed.
type loss uint8

const (
	keeps    loss = iota // nothing is lost
	wiped                // FLUSHALL, or a key of the set goes
	restarts             // it comes back empty, as another run of the server
	failsOver
)

// job is a kind of actor.
type job uint8

const (
	reserving job = iota
	delivering
	cancelling
	reading
	paying
	compensating
	expiring
	reconciling
	loading
	adjusting
	switching // suspend or resume the sale
	closing
	recordingLetters
	payingByWallet
	payingByProvider
	notifying // the provider brings news
	confirming
	clocking // a workflow settles
	reminding
	joining
	leaving
	noticing // notices are sent
	refunding
	waiving
	extending
	postponing // all deadlines of a sale at once
	callingOff
	bulking          // jobs of the two before
	checkingDeposits // the daily check
	jobs             // how many there are
)

// prelude is what has happened before the first step.
type prelude uint8

const (
	nothing prelude = iota
	messed          // there is something for every part of the minute pass
	sold            // Redis has sold more than there is
	forgot          // Redis has gone back to an earlier moment, and MySQL has gone on for hours
	awaited         // everything is sold, and a unit that came free is offered to who waits
)

// prepare lets the prelude happen, with nothing in its way.
func (r *run) prepare(p prelude) {
	r.decide = func(*actor, *call) fault { return none }
	if p != nothing && r.profile.seats { // or nobody there could hold a seat
		for _, user := range []string{"a", "b", "c", "late", "early-0", "early-1", "early-2", "early-3", "early-4", "early-5"} {
			r.fund(user, "500.00")
		}
	}
	switch p {
	case messed:
		mess(r)
	case sold:
		soldTwice(r)
	case forgot:
		forgotten(r)
	case awaited:
		for i := range r.profile.capacity {
			r.ordered(fmt.Sprintf("early-%d", i), 1)
		}
		r.complete(r.join(r.process[0], "c", 1))
		r.complete(r.cancel(r.journal[0]))
		r.noteOthers()
	}
	r.decide = r.chance
}

// profile is what a seed draws once: no seed uses everything, so that rare combinations come up.
type profile struct {
	capacity, buckets, limit, users, keys int
	price                                 string
	crowd                                 int     // actors at once
	stay                                  float64 // chance that the actor of the last step goes on
	rate                                  float64 // of faults at boundaries
	kinds                                 [faults]bool
	unsent                                float64 // chance that the queue takes nothing
	away                                  float64 // chance that whoever is outside does not answer
	pace                                  float64 // chance that time passes between two steps
	before                                prelude
	loss                                  loss
	losses                                int // how often at most
	drops                                 bool
	doubles                               float64 // chance that a message is delivered twice
	weights                               [jobs]int
	payWindow                             time.Duration
	mode                                  sale.Mode
	seats                                 bool   // the sale is of deposit seats
	penaltyRatio, depositRatio            string // of seats; a deposit may be a fixed amount, too
	fixedDeposit                          string // "" is by ratio
	deadlineAfter                         time.Duration
	cancellation                          sale.Cancellation
	refundRule                            string
	purses                                []string // what users have in their wallets to begin with, in turn
}

// draw draws a profile.
func draw(rng *rand.Rand) profile {
	pick := func(of ...float64) float64 { return of[rng.IntN(len(of))] }
	p := profile{
		capacity: 1 + rng.IntN(6), limit: 1 + rng.IntN(3), users: 2 + rng.IntN(5), keys: 1 + rng.IntN(6),
		price: "12.50", crowd: 2 + rng.IntN(6), stay: pick(0, 0.5, 0.8, 0.95), rate: pick(0.005, 0.02, 0.05, 0.1),
		unsent: pick(0, 0, 0, 0.5), doubles: pick(0, 0.1, 0.3), pace: pick(0.02, 0.05, 0.1),
		payWindow: time.Duration(60+rng.IntN(120)) * time.Second,
	}
	if p.buckets = 1 + rng.IntN(min(3, p.capacity)); rng.IntN(8) == 0 {
		p.price = "0"
	}
	for f := range p.kinds {
		p.kinds[f] = rng.IntN(3) > 0
	}
	if p.loss = loss(weighed(rng, []int{keeps: 3, wiped: 3, restarts: 1, failsOver: 5})); p.loss != keeps {
		p.losses = 1 + rng.IntN(2)
	}
	p.drops = p.loss == keeps && rng.IntN(2) == 0
	p.drawMoney(rng)
	// A pass of a schedule takes ten times as many steps as a reservation.
	p.weights = [jobs]int{reserving: 20, delivering: 1 + rng.IntN(16), cancelling: rng.IntN(10), reading: rng.IntN(2), paying: rng.IntN(4),
		compensating: rng.IntN(3), expiring: rng.IntN(6), reconciling: rng.IntN(3), loading: rng.IntN(2), adjusting: rng.IntN(3),
		switching: rng.IntN(3), recordingLetters: 1}
	p.weighMoney(rng)
	if p.drops {
		p.weights[loading] = 0 // a load forgets what only the set knows
	}
	if rng.IntN(10) == 0 {
		p.weights[closing] = 1
	}
	if p.before = prelude(weighed(rng, []int{nothing: 8, messed: 2, sold: 1, forgot: 1, awaited: 2})); p.before == sold || p.before == forgot {
		p.drops = false
	}
	if p.before == awaited {
		p.weights[payingByWallet] += 8 // or few would take the offer in time
	}
	if p.before == forgot { // hours pass before the first step, and every deadline with them
		p.seats = false
	}
	return p
}

// drawMoney draws what a sale is paid with. One in three is of deposit seats.
func (p *profile) drawMoney(rng *rand.Rand) {
	text := func(of ...string) string { return of[rng.IntN(len(of))] }
	p.seats, p.away = rng.IntN(3) == 0, []float64{0, 0, 0.3}[rng.IntN(3)]
	if p.mode = sale.Live; rng.IntN(10) == 0 {
		p.mode = sale.Test
	}
	p.penaltyRatio, p.depositRatio = text("0", "0.3", "0.333333", "1"), text("0.2", "0.333333", "1")
	if rng.IntN(3) == 0 {
		p.fixedDeposit = text("0.01", "5.00", "20.00") // 20.00 is more than the price
	}
	p.deadlineAfter = time.Duration(5+rng.IntN(20)) * time.Minute
	p.cancellation = []sale.Cancellation{sale.CancelFree, sale.CancelPenalty, sale.CancelForbidden}[rng.IntN(3)]
	p.refundRule = text("", `{"from":"CLOSES_AT","steps":[{"before":"PT0S","ratio":"1"}]}`, `{"from":"CLOSES_AT","steps":[{"before":"PT0S","ratio":"0.333333"}]}`)
	for range p.users {
		p.purses = append(p.purses, text("0.00", "10.00", "25.00", "500.00"))
	}
	if p.seats && p.price == "0" {
		p.price = "9.99"
	}
}

// weighMoney draws how often what is done about money.
func (p *profile) weighMoney(rng *rand.Rand) {
	w := &p.weights
	w[payingByWallet], w[payingByProvider], w[notifying] = rng.IntN(8), 2+rng.IntN(14), 1+rng.IntN(8)
	w[joining], w[leaving], w[noticing], w[refunding] = rng.IntN(6), rng.IntN(3), rng.IntN(3), rng.IntN(5)
	if p.seats {
		w[confirming], w[clocking] = rng.IntN(10), rng.IntN(6)
		w[waiving], w[extending], w[refunding] = rng.IntN(2), rng.IntN(2), rng.IntN(8)
	}
	if rng.IntN(6) == 0 {
		w[postponing], w[bulking] = 1, 2
	}
	if rng.IntN(10) == 0 {
		w[callingOff], w[bulking] = 1, 2
	}
	w[checkingDeposits] = rng.IntN(2)
}

// weighed draws an index by its weight; -1 when all are 0.
func weighed(rng *rand.Rand, weights []int) int {
	sum := 0
	for _, w := range weights {
		sum += w
	}
	if sum == 0 {
		return -1
	}
	n := rng.IntN(sum)
	return slices.IndexFunc(weights, func(w int) bool {
		n -= w
		return n < 0
	})
}
