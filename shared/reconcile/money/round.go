package money

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"holdfast/shared/metric"
	"holdfast/shared/payment"
	"holdfast/shared/sqltx"
)

// kind is the kind of the jobs that are rounds. They belong to no activity, and their activity_id is "" so that one is active at most.
const kind = "MONEY_RECONCILIATION"

// Config sets bounds; a zero field takes its default.
type Config struct {
	Budget   time.Duration    // how long a run may take; 45 s
	PageSize int              // rows per page; 500
	Provider payment.Provider // who charges buyers; nil: nobody, so that nobody is asked what was done
}

// Bounds of rounds.
const (
	maxStuck   = 3               // runs one after the other that came no further; then the round has FAILED, and another one may begin
	stale      = 2 * time.Minute // a round without a sign of life for so long has lost its runner
	markBudget = 2 * time.Second // for writing down how far a run came, also when its time is over
)

// step is a part of a round.
type step string

// The parts in their order; done is after the last.
const (
	orders   step = "ORDERS"
	wallets  step = "WALLETS"
	accounts step = "ACCOUNTS"
	provider step = "PROVIDER"
	again    step = "PROVIDER_AGAIN" // differences with the provider that earlier rounds have left open
	done     step = ""
)

// progress is how far a round is, kept in the parameters of its job.
type progress struct {
	Step  step   `json:"step"`
	After []byte `json:"after,omitempty"` // of ORDERS the id of the last order; of WALLETS the last user
	Last  string `json:"last,omitempty"`  // of WALLETS that user's last currency
	Stuck int    `json:"stuck,omitempty"` // how many runs, up to the last one, came no further
	asking
	Counts
}

// Counts are what a round has looked at and found.
type Counts struct {
	Orders      int `json:"orders"`
	Deposits    int `json:"deposits"`
	Wallets     int `json:"wallets"`
	Accounts    int `json:"accounts"`
	Differences int `json:"differences"` // without what a person has left alone
	Stale       int `json:"stale"`       // deposits FROZEN far past their deadline; among the differences

	// Of the provider's list everything from AskedFrom on and before AskedUntil was looked at, by the provider's clock.
	Provider   string    `json:"provider,omitempty"` // ASKED, or why it was not to the end: NO_PROVIDER, NO_ANSWER, REFUSED, TOO_SLOW
	AskedFrom  time.Time `json:"askedFrom,omitzero"`
	AskedUntil time.Time `json:"askedUntil,omitzero"` // the next round begins there
	Charges    int       `json:"charges,omitempty"`   // that it lists
	Returns    int       `json:"returns,omitempty"`   // refunds that it lists
}

// Summary says how the round stands after a run.
type Summary struct {
	RoundID string `json:"roundId"`
	Status  string `json:"status"` // SUCCEEDED; QUEUED: to be gone on with; RUNNING: somebody else is at it; FAILED
	Counts
}

// round is one round that this run does. Its claim is the number of attempts: whoever takes the round over counts one more.
type round struct {
	db        *sqltx.DB
	cfg       Config
	id        string
	attempts  int
	startedAt time.Time // when it was asked for: what is seen from then on counts as found again
	progress
}

// Last is the newest round that is complete.
type Last struct {
	At time.Time // when it ended, by MySQL's clock
	Counts
}

// LastRound reads the newest round that is complete; nil when there is none yet. It returns the errors of the driver.
func LastRound(ctx context.Context, q sqltx.Querier) (*Last, error) {
	var last Last
	var text string
	err := q.QueryRowContext(ctx, `SELECT finished_at, result FROM job WHERE kind = ? AND activity_id = '' AND status = 'SUCCEEDED'
 ORDER BY finished_at DESC LIMIT 1`, kind).Scan(&last.At, &text)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal([]byte(text), &last.Counts)
	}
	if err != nil {
		return nil, fmt.Errorf("money: read the last round: %w", err)
	}
	return &last, nil
}

// errStuck is returned when the time of a run was not enough for one page, or for the sums of the accounts, which are of one moment and
// cannot be gone on with.
var errStuck = errors.New("money: all the time of a run was too little to come any further")

// errLost is returned when somebody else has taken the round over.
var errLost = errors.New("money: the round was taken over by somebody else")

// Run goes on with the round that is not complete, or begins one, for as long as the budget lasts. m counts what is open of what a round has
// found when it ends. It returns the errors of the database, after which the round stays to be gone on with, and an error when all its time
// was not enough to come any further, after which the round has FAILED at the third time. The summary is worth having with an error, too.
func Run(ctx context.Context, db *sqltx.DB, m *metric.Metrics, cfg Config) (Summary, error) {
	return run(ctx, db, m, cfg, true)
}

// Resume goes on with a round that is not complete, if there is one. Apart from that it is like Run.
func Resume(ctx context.Context, db *sqltx.DB, m *metric.Metrics, cfg Config) (Summary, error) {
	return run(ctx, db, m, cfg, false)
}

func run(ctx context.Context, db *sqltx.DB, m *metric.Metrics, cfg Config, begin bool) (Summary, error) {
	cfg.Budget, cfg.PageSize = cmp.Or(cfg.Budget, 45*time.Second), cmp.Or(cfg.PageSize, 500)
	ctx, cancel := context.WithTimeout(ctx, cfg.Budget)
	defer cancel()
	r := &round{db: db, cfg: cfg}
	mine, err := r.take(ctx, begin)
	if err != nil || !mine {
		status := "RUNNING"
		if r.id == "" {
			status = ""
		}
		return Summary{RoundID: r.id, Status: status, Counts: r.Counts}, err
	}
	before := r.progress
	err = r.work(ctx)
	status, further := "QUEUED", !r.at(&before)
	if further {
		r.Stuck = 0
	}
	switch outOfTime := errors.Is(ctx.Err(), context.DeadlineExceeded); {
	case err == nil:
		status = "SUCCEEDED"
	case outOfTime && further:
		err = nil // the next run goes on
	case outOfTime:
		status, err = r.stuck(err)
	}
	ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), markBudget)
	defer cancel()
	var saveErr error
	if r.Provider == tooSlow && status == "SUCCEEDED" { // the round has ended without coming to its end by itself
		saveErr = r.forget(ctx)
	}
	saveErr = errors.Join(saveErr, r.save(ctx, status))
	if status != "QUEUED" && saveErr == nil {
		m.Count(metric.DepositReconciliationDiff, r.Differences)
		m.Count(metric.DepositStaleFrozen, r.Stale)
	}
	return Summary{RoundID: r.id, Status: status, Counts: r.Counts}, errors.Join(err, saveErr)
}

// stuck is what becomes of a round of which a run came no further in all its time. A provider that is too slow fails nothing: the next round
// goes on where this one leaves it.
func (r *round) stuck(err error) (status string, _ error) {
	r.Stuck++
	over, byProvider := r.Stuck >= maxStuck, r.Step == provider || r.Step == again
	switch {
	case byProvider && over:
		r.Provider, r.Step = tooSlow, done
		return "SUCCEEDED", nil
	case byProvider:
		return "QUEUED", nil
	case over:
		return "FAILED", errors.Join(errStuck, err)
	}
	return "QUEUED", errors.Join(errStuck, err)
}

// at says whether the round stands where it stood.
func (p *progress) at(before *progress) bool {
	return p.Step == before.Step && p.Last == before.Last && bytes.Equal(p.After, before.After) &&
		p.AskedUntil.Equal(before.AskedUntil) && p.Again == before.Again
}

// work does page by page until the round is complete or the time is over. What a complete round has not found is forgotten at the end of
// each run that comes to it, so also when an earlier one was cut off just there.
func (r *round) work(ctx context.Context) error {
	snapshots, err := r.db.Snapshots(ctx)
	if err != nil {
		return err
	}
	defer snapshots.Close()
	for r.Step != done {
		if err := ctx.Err(); err != nil {
			return err
		}
		next := r.progress
		found, err := r.part(ctx, snapshots, &next)
		if err != nil {
			return err
		}
		for page := range slices.Chunk(found, r.cfg.PageSize) {
			open, err := r.record(ctx, page)
			if err != nil {
				return err
			}
			next.count(open)
		}
		r.progress = next
		if err := r.save(ctx, "RUNNING"); err != nil {
			return err
		}
	}
	return r.forget(ctx)
}

// count adds what was found and is not left alone; a rehearsal is no figure.
func (p *progress) count(open []finding) {
	for i := range open {
		if open[i].test {
			continue
		}
		p.Differences++
		if open[i].kind == stalest {
			p.Stale++
		}
	}
}

// part does one page of a part, and says in next where the one after it begins. All but the provider's are read from a snapshot each.
func (r *round) part(ctx context.Context, snapshots *sqltx.Snapshots, next *progress) (found []finding, err error) {
	switch r.Step {
	case provider:
		return r.askProvider(ctx, snapshots, next)
	case again:
		return r.askAgain(ctx, snapshots, next)
	}
	err = snapshots.Read(ctx, func(tx *sql.Tx) (err error) {
		found, err = r.page(ctx, tx, next)
		return err
	})
	return found, err
}

// page compares one page, and says in next where the one after it begins.
func (r *round) page(ctx context.Context, tx *sql.Tx, next *progress) ([]finding, error) {
	switch r.Step {
	case orders:
		return r.ordersPage(ctx, tx, next)
	case wallets:
		return r.walletsPage(ctx, tx, next)
	}
	found, err := r.sums(ctx, tx, next)
	next.Step = provider
	return found, err
}

// take finds the active round, or begins one, and claims it. It is not mine while somebody else gives signs of life, or when there is none
// and none is to be begun.
func (r *round) take(ctx context.Context, begin bool) (mine bool, err error) {
	now, err := r.db.Now(ctx, r.db)
	if err != nil {
		return false, err
	}
	if begin {
		text, err := json.Marshal(progress{Step: orders})
		if err != nil {
			return false, fmt.Errorf("money: %w", err)
		}
		_, err = r.db.ExecContext(ctx, `INSERT INTO job (job_id, kind, activity_id, status, parameters, created_at, updated_at)
 VALUES (?, ?, '', 'QUEUED', ?, ?, ?) ON DUPLICATE KEY UPDATE job_id = job_id`, rand.Text(), kind, string(text), now, now)
		if err != nil {
			return false, fmt.Errorf("money: begin a round: %w", err)
		}
	}
	var text string
	err = r.db.QueryRowContext(ctx, `SELECT job_id, attempts, created_at, parameters FROM job WHERE kind = ? AND activity_id = ''
 AND active = 1`, kind).Scan(&r.id, &r.attempts, &r.startedAt, &text)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err == nil {
		err = json.Unmarshal([]byte(text), &r.progress)
	}
	if err != nil {
		return false, fmt.Errorf("money: read the round: %w", err)
	}
	result, err := r.db.ExecContext(ctx, `UPDATE job SET status = 'RUNNING', started_at = COALESCE(started_at, ?), attempts = attempts + 1,
 updated_at = ? WHERE job_id = ? AND attempts = ? AND (status = 'QUEUED' OR (status = 'RUNNING' AND updated_at <= ?))`,
		now, now, r.id, r.attempts, now.Add(-stale))
	if err != nil {
		return false, fmt.Errorf("money: claim the round: %w", err)
	}
	r.attempts++
	claimed, err := result.RowsAffected()
	return claimed == 1, err
}

// save writes how far the round is, which is a sign of life, too. It returns errLost when the claim is another one by now.
func (r *round) save(ctx context.Context, status string) error {
	now, err := r.db.Now(ctx, r.db)
	if err != nil {
		return err
	}
	where, err := json.Marshal(r.progress)
	if err != nil {
		return fmt.Errorf("money: %w", err)
	}
	var finished, result, problem any
	if status == "SUCCEEDED" || status == "FAILED" {
		text, err := json.Marshal(r.Counts)
		if err != nil {
			return fmt.Errorf("money: %w", err)
		}
		finished, result = now, string(text)
	}
	if r.Stuck > 0 {
		problem = "the time of one run was not enough to come any further"
	}
	looked := r.Orders + r.Wallets + r.Accounts + r.Charges + r.Returns
	changed, err := r.db.ExecContext(ctx, `UPDATE job SET status = ?, parameters = ?, done = ?, result = ?, problem = ?, finished_at = ?,
 updated_at = ? WHERE job_id = ? AND status = 'RUNNING' AND attempts = ?`, status, string(where), looked, result, problem, finished, now, r.id, r.attempts)
	if err != nil {
		return fmt.Errorf("money: write the round: %w", err)
	}
	if n, err := changed.RowsAffected(); err != nil || n == 1 {
		return err
	}
	return r.mustBeMine(ctx, status) // a row that stood like this already counts as unchanged
}

func (r *round) mustBeMine(ctx context.Context, status string) error {
	var n int
	err := r.db.QueryRowContext(ctx, `SELECT COUNT(*) FROM job WHERE job_id = ? AND attempts = ? AND status = ?`, r.id, r.attempts, status).Scan(&n)
	if err != nil {
		return fmt.Errorf("money: read the round: %w", err)
	}
	if n == 0 {
		return errLost
	}
	return nil
}
