package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"holdfast/infra/local"
	"holdfast/infra/progress"
	"holdfast/shared/reconcile"
)

// repairTurns is how much the measurement of repair does.
type repairTurns struct {
	entries int           // of the log that a full reconcile goes through
	orders  int           // that a load brings into Redis
	rush    int           // orders by which the peak is found
	callers int           // buyers at once, at the peak
	turns   int           // of the open load, with a reconcile and without
	lasts   time.Duration // of each
}

var fullRepair = repairTurns{entries: 1_000_000, orders: 100_000, rush: 5000, callers: 64, turns: 2, lasts: 25 * time.Second}

// repairBench is a whole stack, with a reconciler of our own beside its functions, as another instance would be.
type repairBench struct {
	*whole
	t          repairTurns
	rdb        *redis.Client
	reconciler *reconcile.Reconciler
	program    string // of a reconciler in a process of its own
}

// measureRepair measures loading after a loss, and the full reconcile, alone and under load.
func measureRepair(ctx context.Context, o Options, t repairTurns) ([]Figure, error) {
	b, err := openRepair(ctx, o, t)
	if err != nil {
		return nil, err
	}
	defer b.shut()
	if _, err := b.runOurs(ctx, b.ours[:min(warmUp, t.rush)]); err != nil {
		return nil, err
	}
	peak, err := b.runOurs(ctx, b.ours)
	if err != nil {
		return nil, err
	}
	loading, back, err := b.wipe(ctx)
	if err != nil {
		return nil, err
	}
	ledger, first, err := b.openLedger(ctx)
	if err != nil {
		return nil, err
	}
	reconciling, scanning, err := b.reconcileAlone(ctx, ledger)
	if err != nil {
		return nil, err
	}
	with, without, err := b.underLoad(ctx, ledger, peak.perSecond/2)
	if err != nil {
		return nil, err
	}
	worst := 1.0
	for _, f := range with {
		worst = min(worst, f.completed)
	}
	return []Figure{
		{Key: "load_s", Title: fmt.Sprintf("building the set of a sale with %d orders", t.orders), Value: loading.Seconds(), Unit: "s",
			Target: Target{atMost, 10}},
		{Key: "back_after_wipe_s", Title: "from the loss of Redis at the peak until that sale sells again, the minute pass running as soon as a buyer has asked for it",
			Value: back.Seconds(), Unit: "s", Target: Target{atMost, 15}},
		{Key: "full_reconcile_s", Title: fmt.Sprintf("full reconcile of %d entries while nothing else runs", t.entries), Value: median(reconciling),
			Unit: "s", Target: Target{atMost, 15}},
		{Key: "full_reconcile_first_s", Title: "the first one, which writes statuses as well", Value: first.Seconds(), Unit: "s"},
		{Key: "full_reconcile_ratio", Title: "full reconcile over a bare HSCAN of the same log", Value: ratio(reconciling, scanning)},
		{Key: "reconcile_completions", Title: fmt.Sprintf("share of buyers with a 202, at %.0f a second, half the peak, beside reconciles without pause", peak.perSecond/2),
			Value: worst, Target: Target{atLeast, 0.99}},
		{Key: "reconcile_p99_ratio", Title: "their p99 over that of the same load without", Value: ratio(p99s(with), p99s(without)), Target: Target{atMost, 2}},
		{Key: "reconcile_p99_ms", Title: "their p99", Value: median(p99s(with)), Unit: "ms"},
	}, nil
}

func p99s(list []felt) []float64 {
	out := make([]float64, len(list))
	for i, f := range list {
		out[i] = milliseconds(f.p99)
	}
	return out
}

func openRepair(ctx context.Context, o Options, t repairTurns) (_ *repairBench, err error) {
	b := &repairBench{whole: &whole{o: o, turns: loadTurns{ours: t.rush, callers: t.callers}}, t: t}
	defer func() {
		if err != nil {
			b.shut()
		}
	}()
	if b.stack, err = local.Up(ctx, local.Options{DataDir: filepath.Join(o.Dir, "stack"), Out: o.Out}); err != nil {
		return nil, err
	}
	if b.db, err = attach(b.stack.Addresses.MySQL, baselineConnections); err != nil {
		return nil, err
	}
	b.rdb = newRedis(b.stack.Addresses.Redis)
	b.reconciler = newReconciler(b.rdb, b.db)
	if b.program, err = buildReconciler(ctx, o.Dir); err != nil {
		return nil, err
	}
	if b.operator, err = b.token(ctx, "bench-operator", "operator"); err != nil {
		return nil, err
	}
	b.ours = make([]string, t.rush)
	bar := progress.Bar(o.Out, len(b.ours), "buyers arrive")
	defer func() { _ = bar.Finish() }()
	return b, inParallel(len(b.ours), 4, func(_, i int) (err error) {
		b.ours[i], err = b.token(ctx, userID(i))
		_ = bar.Add(1)
		return err
	})
}

func (b *repairBench) shut() {
	if b.rdb != nil {
		_ = b.rdb.Close()
	}
	b.close()
}

// wipe loses Redis while as many buyers as there are callers ask without pause, and says how long a load takes by itself, and how long
// the sale is away in all.
func (b *repairBench) wipe(ctx context.Context) (loading, back time.Duration, err error) {
	id, err := b.openSale(ctx, b.t.orders)
	if err != nil {
		return 0, 0, err
	}
	if err := b.db.fill(ctx, b.o, id, b.t.orders); err != nil {
		return 0, 0, err
	}
	begin := time.Now()
	if err := b.reconciler.Load(ctx, id); err != nil {
		return 0, 0, err
	}
	loading = time.Since(begin)
	fmt.Fprintf(b.o.Out, "a load took %v\n", loading.Round(time.Millisecond))
	buying, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- b.crowd(buying, id) }()
	select {
	case err := <-ended:
		return 0, 0, errors.Join(errors.New("the buyers gave up"), err)
	case <-time.After(b.t.lasts / 5):
	}
	begin = time.Now()
	if err := b.rdb.FlushAll(ctx).Err(); err != nil {
		return 0, 0, err
	}
	if err := b.passUntilBack(ctx, id); err != nil {
		return 0, 0, err
	}
	back = time.Since(begin)
	fmt.Fprintf(b.o.Out, "the sale was back after %v\n", back.Round(time.Millisecond))
	stop()
	return loading, back, <-ended
}

// crowd has the callers buy until ctx ends, each with its next buyer as soon as the last one has an answer and has waited as told.
func (b *repairBench) crowd(ctx context.Context, activityID string) error {
	return inParallel(b.t.callers, b.t.callers, func(line, _ int) error {
		c, err := call(ctx, b.stack.Addresses.API)
		if err != nil {
			return err
		}
		defer c.conn.Close()
		for i := 0; ctx.Err() == nil; i++ {
			token := b.ours[(i*b.t.callers+line)%len(b.ours)]
			status, answer, err := c.reserve(activityID, token, strconv.Itoa(i))
			if err != nil {
				return err
			}
			if status >= 500 && status != 503 {
				return fmt.Errorf("a buyer was answered %d: %s", status, answer)
			}
			if status == 202 {
				continue
			}
			select {
			case <-ctx.Done():
			case <-time.After(toldToWait(answer)):
			}
		}
		return nil
	})
}

// toldToWait is how long an answer that is no success asks its caller to wait.
func toldToWait(answer []byte) time.Duration {
	var problem struct {
		RetryAfterMs int64 `json:"retryAfterMs"`
	}
	_ = json.Unmarshal(answer, &problem) // an answer that says nothing is one without a wait
	return max(20*time.Millisecond, time.Duration(problem.RetryAfterMs)*time.Millisecond)
}

// passUntilBack runs the minute pass once a buyer has asked for the load, and returns when somebody has bought.
func (b *repairBench) passUntilBack(ctx context.Context, id string) error {
	for begin := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		var asked int
		if err := b.db.db.QueryRowContext(ctx, `SELECT COUNT(*) FROM job WHERE kind = 'LOAD' AND activity_id = ?`, id).Scan(&asked); err != nil {
			return err
		}
		if asked > 0 {
			break
		}
		if time.Since(begin) > patience {
			return errors.New("no buyer has asked for the load")
		}
	}
	pass := make(chan error, 1)
	go func() { pass <- post(ctx, b.stack.Addresses.API+"/local/schedules/compensate-orders", "", nil, nil) }()
	if err := b.firstBuyer(ctx, id); err != nil {
		return errors.Join(err, <-pass)
	}
	return nil
}

// firstBuyer asks for one unit until it has it.
func (b *repairBench) firstBuyer(ctx context.Context, id string) error {
	token, err := b.token(ctx, "first-after-the-loss")
	if err != nil {
		return err
	}
	c, err := call(ctx, b.stack.Addresses.API)
	if err != nil {
		return err
	}
	defer c.conn.Close()
	for begin := time.Now(); time.Since(begin) < patience; time.Sleep(50 * time.Millisecond) {
		status, _, err := c.reserve(id, token, "back")
		if err != nil || status == 202 {
			return err
		}
	}
	return errors.New("the sale did not come back")
}

// openLedger makes the sale with the long log, brings it into Redis, and reconciles it for the first time.
func (b *repairBench) openLedger(ctx context.Context) (l Ledger, first time.Duration, err error) {
	id, err := b.openSale(ctx, b.t.entries)
	if err != nil {
		return l, 0, err
	}
	if err := b.db.fill(ctx, b.o, id, b.t.entries); err != nil {
		return l, 0, err
	}
	fmt.Fprintln(b.o.Out, "loading the ledger …")
	if err := b.reconciler.Load(ctx, id); err != nil {
		return l, 0, err
	}
	l = Ledger{id, b.t.entries}
	first, err = l.once(ctx, b.reconciler)
	for pages := b.t.entries; err == nil && pages > 0; pages -= 200_000 { // a run writes so many statuses at most
		_, err = l.once(ctx, b.reconciler)
	}
	return l, first, err
}

// reconcileAlone compares a full reconcile with a bare HSCAN of the same log, in seconds.
func (b *repairBench) reconcileAlone(ctx context.Context, l Ledger) (ours, bare []float64, err error) {
	const turns = 3
	bar := progress.Bar(b.o.Out, turns, "full reconcile, and a bare scan")
	defer func() { _ = bar.Finish() }()
	for range turns {
		took, err := l.once(ctx, b.reconciler)
		if err != nil {
			return nil, nil, err
		}
		begin := time.Now()
		for cursor := uint64(0); ; {
			if _, cursor, err = b.rdb.HScan(ctx, "hf:{"+l.ActivityID+"}:log", cursor, "", 1000).Result(); err != nil {
				return nil, nil, err
			}
			if cursor == 0 {
				break
			}
		}
		ours, bare = append(ours, took.Seconds()), append(bare, time.Since(begin).Seconds())
		_ = bar.Add(1)
	}
	return ours, bare, nil
}

// underLoad runs an open load on a sale of its own, with full reconciles of the ledger beside it without pause, and without.
func (b *repairBench) underLoad(ctx context.Context, l Ledger, rate float64) (with, without []felt, err error) {
	load := openLoop{rate: rate, lasts: b.t.lasts, callers: 4 * b.t.callers}
	bar := progress.Bar(b.o.Out, 2*b.t.turns, "half the peak, with and without")
	defer func() { _ = bar.Finish() }()
	for range b.t.turns {
		calm, err := b.openTurn(ctx, load)
		if err != nil {
			return nil, nil, err
		}
		_ = bar.Add(1)
		beside, err := startReconciler(b.program, b.stack.Addresses.Redis, b.stack.Addresses.MySQL, l)
		if err != nil {
			return nil, nil, err
		}
		busy, err := b.openTurn(ctx, load)
		if err := errors.Join(err, beside.stop()); err != nil {
			return nil, nil, err
		}
		with, without = append(with, busy), append(without, calm)
		_ = bar.Add(1)
	}
	return with, without, nil
}

// openTurn runs the load on a new sale. Its buyers come more than once if there are few of them, up to the limit.
func (b *repairBench) openTurn(ctx context.Context, load openLoop) (felt, error) {
	n := load.buyers()
	if most := 4 * len(b.ours); n > most {
		return felt{}, fmt.Errorf("%d buyers are too few for %d orders", len(b.ours), n)
	}
	id, err := b.openSale(ctx, n)
	if err != nil {
		return felt{}, err
	}
	out, err := load.run(ctx, b.stack.Addresses.API, id, b.ours)
	if err != nil {
		return felt{}, err
	}
	return out, b.awaitCompleted(ctx, id, int(out.completed*float64(n)+0.5))
}

// awaitCompleted waits until the sale has at least this many units in orders. A buyer who gave up may have an order all the same.
func (b *repairBench) awaitCompleted(ctx context.Context, activityID string, want int) error {
	for begin := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		var units int
		err := b.db.db.QueryRowContext(ctx, `SELECT SUM(frozen + sold) FROM stock_bucket WHERE activity_id = ?`, activityID).Scan(&units)
		if err != nil || units >= want {
			return err
		}
		if time.Since(begin) > patience {
			return fmt.Errorf("%d of %d orders were made within %s", units, want, patience)
		}
	}
}
