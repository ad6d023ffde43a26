package bench

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"holdfast/infra/local"
	"holdfast/infra/progress"
	"holdfast/shared/catalog"
)

// loadTurns is how the measurement of whole systems is cut into turns.
type loadTurns struct {
	count   int // turns of each contender
	ours    int // orders in a turn of ours
	theirs  int // orders in a turn of the baseline
	callers int // buyers at once
}

var fullLoad = loadTurns{count: 9, ours: 2500, theirs: 1200, callers: 64}

// warmUp is how many orders each contender makes before the first turn.
const warmUp = 300

// baselineConnections is the size of the baseline's pool: the one that suits it best. With a connection per caller, as instances of
// a function would have, its callers wait longer for each other's locks and it makes a tenth fewer orders.
const baselineConnections = 16

// standard is the ticket type of the sales in both stores.
const standard = "STANDARD"

// whole is both systems side by side.
type whole struct {
	o        Options
	turns    loadTurns
	stack    *local.Stack
	db       *database
	baseline *synchronous
	operator string
	ours     []string // tokens, one per buyer
	theirs   []string
	sales    int
}

// result is what one turn of one contender gave.
type result struct {
	perSecond float64
	p99       time.Duration
	repeats   int64
}

// measureEndToEnd compares whole systems.
func measureEndToEnd(ctx context.Context, o Options, t loadTurns) ([]Figure, error) {
	w, err := openWhole(ctx, o, t)
	if err != nil {
		return nil, err
	}
	defer w.close()
	if err := w.gather(ctx); err != nil {
		return nil, err
	}
	var ours, theirs, oursP99, theirsP99 []float64
	var repeats int64
	bar := progress.Bar(o.Out, t.count+1, "whole systems, turn by turn")
	defer func() { _ = bar.Finish() }()
	for turn := range t.count + 1 {
		n, m := t.ours, t.theirs
		if turn == 0 {
			n, m = min(warmUp, n), min(warmUp, m)
		}
		a, err := w.runOurs(ctx, w.ours[:n])
		if err != nil {
			return nil, err
		}
		b, err := w.runTheirs(ctx, w.theirs[:m])
		if err != nil {
			return nil, err
		}
		if turn > 0 {
			ours, theirs = append(ours, a.perSecond), append(theirs, b.perSecond)
			oursP99, theirsP99 = append(oursP99, milliseconds(a.p99)), append(theirsP99, milliseconds(b.p99))
			repeats += a.repeats
		}
		_ = bar.Add(1)
	}
	return []Figure{
		{Key: "end_to_end_speedup", Title: "orders per second from the request to the row, over a transaction inside the request",
			Value: ratio(ours, theirs), Target: Target{atLeast, 2}},
		{Key: "p99_ratio", Title: "p99 of the 202, over that of the synchronous answer", Value: ratio(oursP99, theirsP99), Target: Target{atMost, 0.5}},
		{Key: "orders_per_second", Title: fmt.Sprintf("from the request to the row, %d buyers at once; %d were asked to come again", t.callers, repeats),
			Value: median(ours)},
		{Key: "orders_per_second_synchronous", Title: "the same, with a transaction inside the request", Value: median(theirs)},
		{Key: "p99_ms", Title: "p99 of the 202", Value: median(oursP99), Unit: "ms"},
		{Key: "p99_ms_synchronous", Title: "p99 of the synchronous answer", Value: median(theirsP99), Unit: "ms"},
	}, nil
}

func openWhole(ctx context.Context, o Options, t loadTurns) (_ *whole, err error) {
	w := &whole{o: o, turns: t}
	defer func() {
		if err != nil {
			w.close()
		}
	}()
	if w.stack, err = local.Up(ctx, local.Options{DataDir: filepath.Join(o.Dir, "stack"), Out: o.Out}); err != nil {
		return nil, err
	}
	if w.db, err = attach(w.stack.Addresses.MySQL, baselineConnections); err != nil {
		return nil, err
	}
	if w.baseline, err = startSynchronous(o.Dir); err != nil {
		return nil, err
	}
	w.operator, err = w.token(ctx, "bench-operator", "operator")
	return w, err
}

func (w *whole) close() {
	if w.baseline != nil {
		w.baseline.close()
	}
	if w.db != nil {
		w.db.close()
	}
	if w.stack != nil {
		w.stack.Close()
	}
}

// token asks the stack for a bearer token.
func (w *whole) token(ctx context.Context, subject string, scopes ...string) (string, error) {
	var answer struct {
		Token string `json:"token"`
	}
	err := post(ctx, w.stack.Addresses.API+"/local/tokens", "", map[string]any{"sub": subject, "scopes": scopes}, &answer)
	return answer.Token, err
}

// gather makes every buyer's token beforehand; they buy once in each turn's sale.
func (w *whole) gather(ctx context.Context) error {
	w.ours, w.theirs = make([]string, max(warmUp, w.turns.ours)), make([]string, max(warmUp, w.turns.theirs))
	bar := progress.Bar(w.o.Out, len(w.ours)+len(w.theirs), "buyers arrive")
	defer func() { _ = bar.Finish() }()
	err := inParallel(len(w.ours), 4, func(_, i int) (err error) {
		w.ours[i], err = w.token(ctx, userID(i))
		_ = bar.Add(1)
		return err
	})
	if err != nil {
		return err
	}
	return inParallel(len(w.theirs), 4, func(_, i int) (err error) {
		w.theirs[i], err = w.baseline.issuer.Mint(userID(i), nil)
		_ = bar.Add(1)
		return err
	})
}

// openSale makes and publishes a sale that cannot run dry.
func (w *whole) openSale(ctx context.Context, n int) (string, error) {
	w.sales++
	id, now := fmt.Sprintf("bench-%d", w.sales), time.Now().UTC()
	draft := map[string]any{"activityId": id, "kind": "TICKET", "mode": "TEST", "title": "A sale to measure", "currency": currency,
		"opensAt": now.Add(-time.Minute).Format(time.RFC3339), "closesAt": now.Add(24 * time.Hour).Format(time.RFC3339),
		"perUserLimit": 4, "payWindowSeconds": 900, "ticketTypes": []map[string]any{{"ticketType": standard, "title": "Standard",
			"capacity": 2 * n, "buckets": buckets, "price": map[string]string{"amount": "80.00", "currency": currency}}}}
	ops := w.stack.Addresses.API + "/ops/v1/activities"
	if err := post(ctx, ops, w.operator, draft, nil); err != nil {
		return "", err
	}
	return id, post(ctx, ops+"/"+id+"/publication", w.operator, map[string]any{}, nil)
}

// runOurs measures from the first request until the last row is committed.
func (w *whole) runOurs(ctx context.Context, tokens []string) (result, error) {
	id, err := w.openSale(ctx, len(tokens))
	if err != nil {
		return result{}, err
	}
	begin := time.Now()
	latencies, repeats, err := rush(ctx, w.stack.Addresses.API, id, tokens, w.turns.callers)
	if err != nil {
		return result{}, err
	}
	if err := w.awaitRows(ctx, id, len(tokens)); err != nil {
		return result{}, err
	}
	return result{perSecond(len(tokens), begin), percentile(latencies, 0.99), repeats}, nil
}

// runTheirs measures the same of the baseline, whose rows are committed when it answers.
func (w *whole) runTheirs(ctx context.Context, tokens []string) (result, error) {
	id, err := w.openSale(ctx, len(tokens))
	if err != nil {
		return result{}, err
	}
	a, err := catalog.Get(ctx, w.db.db, id)
	if err != nil {
		return result{}, err
	}
	w.baseline.open(&perOrder{db: w.db.db, activity: a})
	begin := time.Now()
	latencies, _, err := rush(ctx, w.baseline.url, id, tokens, w.turns.callers)
	if err != nil {
		return result{}, err
	}
	took := result{perSecond: perSecond(len(tokens), begin), p99: percentile(latencies, 0.99)}
	return took, w.awaitRows(ctx, id, len(tokens))
}

// awaitRows waits until the sale has this many units in orders. The buckets are written by the transaction that writes the orders.
func (w *whole) awaitRows(ctx context.Context, activityID string, want int) error {
	for begin := time.Now(); ; {
		var units int
		err := w.db.db.QueryRowContext(ctx, `SELECT SUM(frozen + sold) FROM stock_bucket WHERE activity_id = ?`, activityID).Scan(&units)
		switch {
		case err != nil:
			return err
		case units == want:
			return nil
		case time.Since(begin) > patience:
			return fmt.Errorf("%d of %d orders were made within %s", units, want, patience)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
