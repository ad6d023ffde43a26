package drill

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"holdfast/infra/crowd"
	"holdfast/infra/local"
	"holdfast/shared/reconcile/invariant"
	"holdfast/shared/sqltx"
)

// Verdict is what was found of one sale in the end.
type Verdict struct {
	Sale      string               `json:"sale"`
	Promises  int                  `json:"promises"`
	InFlight  int                  `json:"inFlight"`
	Equations []invariant.Equation `json:"equations"`
	Problem   string               `json:"problem,omitempty"` // why nothing could be checked
}

// Settled says whether everything holds and nothing is on its way.
func (v Verdict) Settled() bool {
	if v.Problem != "" || v.InFlight > 0 || len(v.Equations) == 0 {
		return false
	}
	return len(v.Failed()) == 0
}

// String says what is not settled yet.
func (v Verdict) String() string {
	words := []string{v.Sale}
	if v.Problem != "" {
		return v.Sale + " cannot be checked yet"
	}
	for _, e := range v.Failed() {
		words = append(words, fmt.Sprintf("%s %d:%d", e.ID, e.Left, e.Right))
	}
	if v.InFlight > 0 {
		words = append(words, fmt.Sprintf("%d in flight", v.InFlight))
	}
	return strings.Join(words, " ")
}

// Failed lists the equations that do not hold.
func (v Verdict) Failed() []invariant.Equation {
	var failed []invariant.Equation
	for _, e := range v.Equations {
		if !e.Pass {
			failed = append(failed, e)
		}
	}
	return failed
}

// settle leaves the stack to its schedules until every sale is in order and no order can run out any more, or the limit has passed. While
// nothing changes but the time, it moves the stack's clock on: schedules, deadlines, and the messages that a dead function holds come by
// it. It returns how long that took by that clock, and the last verdicts.
func (w *world) settle(ctx context.Context, sales []string, report func(waited time.Duration, moving []Verdict)) (took time.Duration, verdicts []Verdict, err error) {
	began := time.Now()
	var moved time.Duration
	var before string
	promises := make(map[string][]crowd.Promise, len(sales))
	for _, id := range sales {
		if promises[id], err = crowd.ReadJournal(crowd.JournalPath(w.o.DataDir, id)); err != nil {
			return 0, nil, err
		}
	}
	for {
		verdicts = verdicts[:0]
		var moving []Verdict
		for _, id := range sales {
			v := w.judge(ctx, id, promises[id])
			if !v.Settled() {
				moving = append(moving, v)
			}
			verdicts = append(verdicts, v)
		}
		if v := w.judgeMoney(ctx); v != nil {
			if !v.Settled() {
				moving = append(moving, *v)
			}
			verdicts = append(verdicts, *v)
		}
		waiting, err := w.unpaid(ctx)
		if ctx.Err() != nil {
			return 0, nil, ctx.Err()
		}
		took = time.Since(began) + moved
		if err == nil && waiting == 0 && len(moving) == 0 || took > settleLimit {
			return took, verdicts, nil
		}
		report(took, moving)
		now := fmt.Sprint(moving)
		if now == before {
			moved += hasten
			if err := w.ask(ctx, http.MethodPost, "/local/clock", "", map[string]any{"advance": hasten.String()}, nil); err != nil {
				return 0, nil, err
			}
		}
		before = now
		pause(ctx, 5*time.Second)
	}
}

// hasten is how far the clock is moved at once: less than the time between two passes of any schedule.
const hasten = 30 * time.Second

// judge checks one sale now.
func (w *world) judge(ctx context.Context, id string, promises []crowd.Promise) Verdict {
	v := Verdict{Sale: id, Promises: len(promises)}
	report, err := crowd.Prove(ctx, w.addresses(), id, promises, 0)
	if err != nil {
		v.Problem = err.Error()
		return v
	}
	v.InFlight, v.Equations = report.InFlight, report.Equations
	return v
}

// allSales stands for the money of all of them.
const allSales = "all sales"

// judgeMoney checks the ledger of all sales now; nil when no money has ever moved.
func (w *world) judgeMoney(ctx context.Context) *Verdict {
	v := &Verdict{Sale: allSales}
	report, err := crowd.ProveMoney(ctx, w.addresses())
	switch {
	case err != nil:
		v.Problem = err.Error()
	case report == nil:
		return nil
	default:
		v.Equations = report.Equations
	}
	return v
}

// addresses lead past the wires to the servers themselves.
func (w *world) addresses() local.Addresses {
	a := w.stack.Addresses
	a.Redis = w.serving().Addr
	return a
}

// unpaid counts orders that still wait for a payment, or for a deposit's deadline.
func (w *world) unpaid(ctx context.Context) (n int, err error) {
	err = w.inDatabase(ctx, func(db *sqltx.DB) error {
		return db.QueryRowContext(ctx, `SELECT COUNT(*) FROM trade_order WHERE status = 'UNPAID'`).Scan(&n)
	})
	return n, err
}

// inDatabase opens the database itself, past all wires.
func (w *world) inDatabase(ctx context.Context, do func(*sqltx.DB) error) error {
	db, err := sqltx.Open(w.stack.Addresses.MySQL)
	if err != nil {
		return err
	}
	defer db.Close()
	if err := db.PingContext(ctx); err != nil {
		return fmt.Errorf("the database: %w", err)
	}
	return do(sqltx.New(db, nil))
}
