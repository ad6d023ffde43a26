package money

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"holdfast/shared/payment"
	"holdfast/shared/reconcile"
	"holdfast/shared/sqltx"
)

// againPage is how many differences are looked at again at once: each may need a call of its own.
const againPage = 50

// openDifference is one that stands open since an earlier round.
type openDifference struct {
	id                  int64
	activityID, subject string
	evidence            reconcile.ProviderEvidence
}

// askAgain looks at a page of those differences with the provider that earlier rounds have left open: their instants are of no interval any
// more, so the provider is asked for each. What does not differ any more is GONE.
func (r *round) askAgain(ctx context.Context, snapshots *sqltx.Snapshots, next *progress) ([]finding, error) {
	open, err := sqltx.Collect(ctx, r.db, scanOpen, `SELECT difference_id, activity_id, subject, evidence FROM difference
 WHERE status = 'OPEN' AND difference_id > ? AND kind = ? AND seen_at < ? ORDER BY difference_id LIMIT ?`,
		next.Again, string(reconcile.ProviderDiffers), r.startedAt, againPage)
	if err != nil {
		return nil, fmt.Errorf("money: read differences: %w", err)
	}
	if len(open) == 0 {
		next.Provider, next.Step = answered, done
		return nil, nil
	}
	next.Again = open[len(open)-1].id
	wants, subjects := make([]want, len(open)), make([]string, len(open))
	for i := range open {
		p := &open[i].evidence.Provider
		subjects[i] = open[i].subject
		wants[i] = want{subject: open[i].subject, from: p.From, until: p.Until}
		if p.Listed {
			wants[i].from, wants[i].until = p.At, p.At.Add(time.Millisecond)
		}
	}
	there, err := r.search(ctx, wants)
	if err != nil {
		if leave(ctx, err, next) {
			err = nil
		}
		return nil, err
	}
	var ours map[string]*ownRow
	err = snapshots.Read(ctx, func(tx *sql.Tx) (err error) {
		ours, err = readOwn(ctx, tx, subjects)
		return err
	})
	if err != nil {
		return nil, err
	}
	var found []finding
	var gone []int64
	for i := range open {
		f := differs(there[open[i].subject], ours[open[i].subject], wants[i])
		if f != nil {
			found = append(found, *f)
		}
		if f == nil || f.activityID != open[i].activityID {
			gone = append(gone, open[i].id)
		}
	}
	return found, r.forgetThese(ctx, gone)
}

func scanOpen(row sqltx.Scanner) (d openDifference, err error) {
	var text string
	if err := row.Scan(&d.id, &d.activityID, &d.subject, &text); err != nil {
		return d, err
	}
	return d, json.Unmarshal([]byte(text), &d.evidence)
}

func (r *round) forgetThese(ctx context.Context, ids []int64) error {
	if len(ids) == 0 {
		return nil
	}
	now, err := r.db.Now(ctx, r.db)
	if err != nil {
		return err
	}
	_, err = r.db.ExecContext(ctx, `UPDATE difference SET status = 'GONE', resolved_at = ?, revision = revision + 1
 WHERE status = 'OPEN' AND seen_at < ? AND difference_id IN `+sqltx.In(len(ids)), append([]any{now, r.startedAt}, sqltx.Args(ids)...)...)
	if err != nil {
		return fmt.Errorf("money: write differences: %w", err)
	}
	return nil
}

// want is something that the list may have, and where.
type want struct {
	subject     string
	from, until time.Time
}

// nearby is how far two wants may lie apart to be looked for at once.
const nearby = time.Minute

// search looks for wants in the provider's list, and gives what it finds by the subjects. Wants whose times meet cost one reading.
func (r *round) search(ctx context.Context, wants []want) (map[string]*payment.Success, error) {
	byTime := slices.SortedStableFunc(slices.Values(wants), func(a, b want) int { return a.from.Compare(b.from) })
	there := make(map[string]*payment.Success)
	for len(byTime) > 0 {
		w := payment.Listing{From: byTime[0].from, To: byTime[0].until, Limit: min(r.cfg.PageSize, payment.MaxListed)}
		within, n := make(map[string]want), 0
		for n < len(byTime) && !byTime[n].from.After(w.To.Add(nearby)) {
			within[byTime[n].subject] = byTime[n]
			if byTime[n].until.After(w.To) {
				w.To = byTime[n].until
			}
			n++
		}
		byTime = byTime[n:]
		for more := true; more; more = w.After != "" {
			page, err := r.list(ctx, w)
			if err != nil {
				return nil, err
			}
			for _, s := range page.Successes {
				wanted, is := within[subjectOf(&s)]
				if is && !s.At.Before(wanted.from) && s.At.Before(wanted.until) {
					there[wanted.subject] = &s
				}
			}
			w.After = page.Next
		}
	}
	return there, nil
}

// differs holds what the provider lists, nil: nothing, where it was looked for, against our row, nil: there is none.
func differs(s *payment.Success, own *ownRow, looked want) *finding {
	codes := contradictions(s, own)
	if len(codes) == 0 {
		return nil
	}
	f := &finding{kind: reconcile.ProviderDiffers, subject: looked.subject, proposed: reconcile.ActNone}
	if slices.Equal(codes, []string{reconcile.NewsLost}) {
		f.proposed = reconcile.ActLearn
	}
	e := reconcile.ProviderEvidence{Differs: codes}
	if s != nil {
		e.Provider = reconcile.ProviderSays{Listed: true, Amount: &s.Amount, At: s.At, Reference: s.Reference}
	}
	what := e.Provider // without where it was looked for, which moves
	if s == nil {
		e.Provider.From, e.Provider.Until = looked.from, looked.until
	}
	if t, id := named(looked.subject); t == refunds {
		e.Provider.RefundID = id
	} else {
		e.Provider.PaymentID = id
	}
	if own != nil {
		f.activityID = own.activityID
		e.MySQL = &reconcile.PaymentFacts{Status: own.status, Amount: own.amount, Reference: own.reference, CreatedAt: own.created, EndedAt: own.ended}
	}
	f.says, f.evidence = []any{codes, what, e.MySQL}, e
	return f
}

// contradictions says in which ways the list and our row contradict each other. A TEST sale asks no provider.
func contradictions(s *payment.Success, own *ownRow) (codes []string) {
	if s == nil {
		if own != nil && own.asked && own.status == string(payment.Succeeded) {
			codes = append(codes, reconcile.NotListed)
		}
		return codes
	}
	if own == nil || !own.asked {
		return append(codes, reconcile.NotAsked)
	}
	switch {
	case own.status == string(payment.Succeeded):
	case s.RefundID != "" && own.status == string(payment.RefundFailed):
		codes = append(codes, reconcile.FailedHere)
	default:
		codes = append(codes, reconcile.NewsLost)
	}
	if s.Amount.Currency != own.amount.Currency || !s.Amount.Value.Equal(own.amount.Value) {
		codes = append(codes, reconcile.OtherAmount)
	}
	if s.RefundID == "" && cmp.Or(own.reference, s.Reference) != cmp.Or(s.Reference, own.reference) {
		codes = append(codes, reconcile.OtherCharge)
	}
	return codes
}
