package crowd

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"holdfast/shared/reconcile/invariant"
	"holdfast/shared/sale"
)

// Crowd is one run.
type Crowd struct {
	o        Options
	client   *client
	operator string
	journal  *Journal
}

// ErrBroken says that an invariant does not hold, or that an answer broke the contract; the report has said which.
type ErrBroken struct{ What string }

func (e *ErrBroken) Error() string { return "the run is not in order: " + e.What }

// JournalPath is where the journal of an activity's promises stands in dir.
func JournalPath(dir, activityID string) string {
	return filepath.Join(dir, activityID+".promises.jsonl")
}

// Run makes a sale, sends the crowd, follows its orders and checks the result. It prints as it goes; the error is *ErrBroken
// when anything is off.
func Run(ctx context.Context, o Options) error {
	if err := o.check(); err != nil {
		return err
	}
	c := &Crowd{o: o, client: newClient(o.Addresses.API)}
	if err := c.openSale(ctx); err != nil {
		return err
	}
	buyers, err := c.gather(ctx)
	if err != nil {
		return err
	}
	path := JournalPath(o.Dir, o.ActivityID)
	if c.journal, err = CreateJournal(path); err != nil {
		return err
	}
	result, err := c.rush(ctx, buyers, c.tapOrder(len(buyers)), "the rush")
	if err == nil && len(result.again) > 0 {
		err = c.tryAgain(ctx, buyers, result)
	}
	if closeErr := c.journal.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	c.printRush(result)
	byUser := make(map[string]*buyer, len(buyers))
	for i := range buyers {
		byUser[buyers[i].userID] = &buyers[i]
	}
	after, err := c.follow(ctx, byUser, result.promises)
	if err != nil {
		return err
	}
	c.printOrders(result, after)
	if err := c.decide(ctx, byUser, result.promises); err != nil {
		return err
	}
	promises, err := ReadJournal(path)
	if err != nil {
		return err
	}
	c.say("\nThe proof, from MariaDB, Redis and the crowd's own journal of %d answers 202 for %d orders:", len(promises), len(result.promises))
	if err := Verify(ctx, o.Addresses, o.ActivityID, promises, o.Patience, o.Out); err != nil {
		return err
	}
	switch {
	case len(result.broken) > 0:
		return &ErrBroken{result.broken[0]}
	case len(result.promises) == 0:
		return &ErrBroken{"nobody got anything"}
	case len(after.missing) > 0:
		return &ErrBroken{fmt.Sprintf("order %s was promised and could not be read as an order within %s", after.missing[0], o.Patience)}
	}
	c.say("\nNothing was oversold, lost, or counted twice.")
	return nil
}

// tryAgain sends once more, with the same keys, the wishes whose answer asked for it.
func (c *Crowd) tryAgain(ctx context.Context, buyers []buyer, result *loadResult) error {
	second, err := c.rush(ctx, buyers, result.again, "asked to come again")
	if err != nil {
		return err
	}
	result.add(second)
	return nil
}

func (c *Crowd) say(format string, args ...any) { _, _ = fmt.Fprintf(c.o.Out, format+"\n", args...) }

func (c *Crowd) printRush(r *loadResult) {
	m, units := r.metrics, make(map[string]int)
	for _, p := range r.promises {
		units[p.Type] += p.Quantity
	}
	c.say("\n%d requests at %.0f a second and %d repeated ones: %d reservations", m.Requests, m.Rate, r.repeats, len(r.promises))
	for _, t := range ticketTypes {
		c.say("  %-9s %d of %d units", t.id, units[t.id], c.capacityOf(t.share))
	}
	c.say("  latency of all answers: p50 %s  p90 %s  p99 %s  max %s", round(m.Latencies.P50), round(m.Latencies.P90),
		round(m.Latencies.P99), round(m.Latencies.Max))
	for _, code := range slices.Sorted(maps.Keys(r.refusals)) {
		c.say("  refused %-28s %d", code, r.refusals[code])
	}
	if r.repeats > 0 {
		c.say("  whoever heard that nothing could be said for the moment (503: too much at once here) was asked to come again, and did")
	}
}

func (c *Crowd) printOrders(r *loadResult, a *aftermath) {
	var words []string
	for _, status := range slices.Sorted(maps.Keys(a.statuses)) {
		words = append(words, fmt.Sprintf("%d %s", a.statuses[status], status))
	}
	c.say("%d promises became orders, the slowest %s after its 202: %s", len(r.promises)-len(a.missing), round(a.slowest), strings.Join(words, ", "))
}

func round(d time.Duration) time.Duration {
	if d > time.Second {
		return d.Round(10 * time.Millisecond)
	}
	return d.Round(100 * time.Microsecond)
}

// asInvariant turns journal entries into what the checker takes, each order once.
func asInvariant(promises []Promise) []invariant.Promise {
	seen := make(map[sale.OrderID]bool, len(promises))
	var list []invariant.Promise
	for _, p := range promises {
		if !seen[p.OrderID] {
			seen[p.OrderID] = true
			list = append(list, invariant.Promise{OrderID: p.OrderID, UserID: p.UserID, Type: p.Type, Quantity: p.Quantity})
		}
	}
	return list
}
