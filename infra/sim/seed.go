package sim

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"holdfast/shared/money"
	"holdfast/shared/reconcile/invariant"
	"holdfast/shared/sale"
)

// newRun prepares a seed: an empty world with one sale, open and loaded.
func (w *world) newRun(ctx context.Context, seed uint64, profile func(*rand.Rand) profile) (*run, error) {
	if err := w.clean(ctx); err != nil {
		return nil, err
	}
	r := &run{world: w, ctx: ctx, seed: seed, rng: rand.New(rand.NewPCG(seed, 0x686f6c6466617374)),
		names: rand.New(rand.NewPCG(seed, 0x776169746c697374)), queue: &carrier{}, outside: &outside{clock: w.clock, published: make(map[string]int)},
		parked: make(chan *actor)}
	r.profile = profile(r.rng)
	r.decide = r.chance
	for i := range r.process {
		r.process[i] = r.instance()
	}
	if err := r.publish(ctx); err != nil {
		return nil, err
	}
	r.prepare(r.profile.before)
	r.steps = 0
	return r, r.failed
}

// publish puts the sale up. Its salt comes from the seed, so that order ids, and with them their order and buckets, are the same again.
func (r *run) publish(ctx context.Context) error {
	on := r.process[0]
	draft := sale.Activity{ID: fmt.Sprintf("sim-%d", r.seed), Kind: sale.Ticket, Mode: cmp.Or(r.profile.mode, sale.Live), Title: "A seed",
		OpensAt: epoch.Add(-time.Hour), ClosesAt: epoch.Add(24 * time.Hour), PerUserLimit: r.profile.limit, PayWindow: r.profile.payWindow,
		Currency: "CNY", TicketTypes: []sale.TicketType{{ID: ticket, Title: "Standard", Capacity: r.profile.capacity, Buckets: r.profile.buckets,
			Price: money.Of(decimal.RequireFromString(r.profile.price), "CNY")}}}
	if r.profile.refundRule != "" {
		draft.RefundRule = json.RawMessage(r.profile.refundRule)
	}
	if r.profile.seats {
		r.profile.takeDeposits(&draft)
	}
	for i, amount := range r.profile.purses {
		r.fund(fmt.Sprintf("user-%d", i), amount)
	}
	if _, _, err := on.Catalog.Create(ctx, draft, operator("activity.create", draft.ID)); err != nil {
		return fmt.Errorf("creating the sale: %w", err)
	}
	salt := sha256.Sum256([]byte(draft.ID))
	if _, err := r.plain.ExecContext(ctx, `UPDATE activity SET salt = ? WHERE activity_id = ?`, salt[:], draft.ID); err != nil {
		return fmt.Errorf("fixing the salt: %w", err)
	}
	a, _, err := on.Catalog.Transition(ctx, draft.ID, sale.Published, operator("activity.publish", draft.ID))
	if err != nil {
		return fmt.Errorf("publishing the sale: %w", err)
	}
	r.activity, r.facts = a, a.Facts()
	if err := on.Reconcile.Load(ctx, a.ID); err != nil {
		return fmt.Errorf("loading the sale: %w", err)
	}
	return nil
}

// settleMinutes is how long the schedules need at most: the full reconcile comes once in five minutes, half a minute is on top.
const settleMinutes = 5

// settle lets the schedules run as they would, with nothing going wrong any more.
func (r *run) settle() error {
	r.tell("all is quiet; the schedules run")
	fullAt := 1 + r.rng.IntN(settleMinutes)
	for minute := 1; minute <= settleMinutes; minute++ {
		r.pass(time.Minute)
		for n := 0; len(r.queue.messages) > 0; n++ {
			if n > 1000 {
				return errors.New("the queue never becomes empty")
			}
			r.complete(r.deliver(r.process[0], "create-orders", delivering, &r.queue.messages, 10))
		}
		r.settleOutside()
		due := []job{expiring, compensating}
		if minute == fullAt {
			due = append(due, reconciling, checkingDeposits)
		}
		r.rng.Shuffle(len(due), func(i, j int) { due[i], due[j] = due[j], due[i] })
		for _, j := range due {
			r.complete(r.begin(j))
		}
	}
	r.pass(30 * time.Second)
	r.settleOutside()
	return r.failed
}

// complete runs an actor to its end with nothing in its way.
func (r *run) complete(a *actor) {
	if a == nil {
		return
	}
	a.direct = true
	r.step(a)
	r.finish(a)
}

// isOver says whether the sale is closed and needs no set any more.
func (r *run) isOver() bool {
	var open int
	r.check(r.plain.QueryRowContext(r.ctx, `SELECT (SELECT COUNT(*) FROM activity WHERE status NOT IN ('CLOSED', 'CANCELLED'))
 + (SELECT COUNT(*) FROM trade_order WHERE status = 'CANCELLED' AND released_at IS NULL)`).Scan(&open))
	return open == 0
}

// verdict checks everything; "" when all holds.
func (r *run) verdict(branches *invariant.Branches) (string, error) {
	var wrong []string
	r.look()
	wrong = append(wrong, r.states.Broken()...)
	wishes, promises := r.journal.list()
	on := r.instance()
	reading, err := invariant.Read(r.ctx, on.DB, on.Stock, r.activity.ID)
	if errors.Is(err, invariant.ErrNotChecked) && r.isOver() { // nobody needed it any more
		r.complete(r.begin(loading))
		reading, err = invariant.Read(r.ctx, on.DB, on.Stock, r.activity.ID)
	}
	switch {
	case errors.Is(err, invariant.ErrNotChecked):
		wrong = append(wrong, "the sale is not loaded")
	case err != nil:
		return "", fmt.Errorf("checking: %w", err)
	default:
		report := reading.Report(promises)
		for _, e := range report.Equations {
			if !e.Pass {
				wrong = append(wrong, fmt.Sprintf("%s %s: %d and %d, first: %s", e.ID, e.Text, e.Left, e.Right, e.FirstOffender))
			}
		}
		if report.InFlight != 0 {
			wrong = append(wrong, fmt.Sprintf("%d orders are still on their way", report.InFlight))
		}
		more, err := r.moneyWrong(on)
		if err != nil {
			return "", err
		}
		wrong = append(wrong, more...)
		fates := reading.Fates(wishes)
		for _, id := range fates.Lost {
			wrong = append(wrong, "lost: "+id.String())
		}
		for _, id := range fates.Phantom {
			wrong = append(wrong, "phantom: "+id.String())
		}
	}
	r.readEnds(branches.Reach)
	if err := branches.ReadRepairs(r.ctx, r.plain, r.activity.ID); err != nil {
		return "", err
	}
	return strings.Join(wrong, "\n"), r.failed
}
