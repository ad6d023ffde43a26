package money

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"holdfast/shared/payment"
	"holdfast/shared/sqltx"
)

// What a round asks the provider for.
const (
	underWay   = 10 * time.Minute    // what succeeded so lately may still be on its way, to us or into the list
	apart      = 5 * time.Minute     // how far the provider's clock and ours may be apart
	firstDays  = 30 * 24 * time.Hour // what the first round asks for: not every provider lists more
	chunkPages = 40                  // pages that are read before our own rows are held against them
	leaveAfter = 12 * time.Hour      // a round so old leaves the rest to the next one, which must not wait for it
	patience   = 5 * time.Second     // for one call
)

// How the provider answered a round, or why it was not asked to the end.
const (
	answered   = "ASKED"
	noProvider = "NO_PROVIDER" // nobody charges buyers
	noAnswer   = "NO_ANSWER"
	refused    = "REFUSED"
	tooSlow    = "TOO_SLOW"
)

// asking is how far the provider has been asked, beside Counts.AskedUntil.
type asking struct {
	AskUntil time.Time `json:"askUntil,omitzero"` // the end of this round's interval; zero: it is not chosen yet
	Since    time.Time `json:"since,omitzero"`    // every success before was looked at while the rows of this round were none; zero: none was
	Again    int64     `json:"again,omitempty"`   // number of the last difference that was looked at again
}

// askProvider goes on with the interval that this round asks for: a chunk of the provider's list is held against our rows, and the rows
// of the same time against it. The provider is asked outside of any snapshot. That it does not answer is no error: what is left of the
// interval is the next round's.
func (r *round) askProvider(ctx context.Context, snapshots *sqltx.Snapshots, next *progress) ([]finding, error) {
	if r.cfg.Provider == nil {
		next.Provider, next.Step = noProvider, done
		return nil, nil
	}
	now, err := r.db.Now(ctx, r.db)
	if err != nil {
		return nil, err
	}
	if next.AskUntil.IsZero() {
		if err := r.chooseInterval(ctx, next, now); err != nil {
			return nil, err
		}
	}
	switch {
	case !next.AskedUntil.Before(next.AskUntil):
		next.Step = again
		return nil, nil
	case now.Sub(r.startedAt) > leaveAfter:
		next.Provider, next.Step = tooSlow, done
		return nil, nil
	}
	c := &chunk{round: r, snapshots: snapshots, from: next.AskedUntil, end: next.AskUntil, since: next.Since,
		first: next.AskedUntil.Equal(next.AskedFrom), listed: make(map[string]bool)}
	err = c.compare(ctx)
	if err != nil && !leave(ctx, err, next) {
		return nil, err
	}
	if err == nil {
		next.AskedUntil = c.until
		next.Charges, next.Returns = next.Charges+c.charges, next.Returns+c.returns
	}
	return c.found, nil
}

// list makes one call of the provider.
func (r *round) list(ctx context.Context, w payment.Listing) (payment.ListPage, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return r.cfg.Provider.List(ctx, w)
}

// leave ends the part without error when it is the provider that keeps it from going on.
func leave(ctx context.Context, err error, next *progress) bool {
	switch {
	case ctx.Err() != nil: // the time of the run is over
		return false
	case errors.Is(err, payment.ErrRefused):
		next.Provider = refused
	case errors.Is(err, payment.ErrNoProvider):
		next.Provider = noAnswer
	default:
		return false
	}
	next.Step = done
	return true
}

// chooseInterval begins where the last round that asked has stopped, whatever ended it, and ends where nothing is under way any more: so no
// instant is ever left out between two rounds.
func (r *round) chooseInterval(ctx context.Context, next *progress, now time.Time) error {
	earlier, err := sqltx.Collect(ctx, r.db, scanAsked, `SELECT finished_at, result FROM job WHERE kind = ? AND activity_id = ''
 AND status IN ('SUCCEEDED', 'FAILED') AND result LIKE '%askedUntil%' ORDER BY finished_at DESC, job_id LIMIT 100`, kind)
	if err != nil {
		return fmt.Errorf("money: read earlier rounds: %w", err)
	}
	next.AskUntil = now.Add(-underWay)
	if len(earlier) == 0 {
		next.AskedFrom, next.AskedUntil = now.Add(-firstDays), now.Add(-firstDays)
		return nil
	}
	from := earlier[0].AskedUntil
	next.AskedFrom, next.AskedUntil, next.Since = from, from, from
	for _, e := range earlier {
		if !e.At.Before(from.Add(-apart)) && e.AskedFrom.Before(next.Since) {
			next.Since = e.AskedFrom
		}
	}
	return nil
}

func scanAsked(row sqltx.Scanner) (e Last, err error) {
	var text string
	if err := row.Scan(&e.At, &text); err != nil {
		return e, err
	}
	return e, json.Unmarshal([]byte(text), &e.Counts)
}

// chunk is a part of the provider's list, and what is found by it.
type chunk struct {
	*round
	snapshots *sqltx.Snapshots
	from, end time.Time       // where it begins, and where the interval ends
	since     time.Time       // of asking
	first     bool            // of this round
	listed    map[string]bool // subjects

	until            time.Time // where it ends
	charges, returns int
	found            []finding
}

func (c *chunk) compare(ctx context.Context) error {
	if err := c.read(ctx); err != nil {
		return err
	}
	missing, err := c.missing(ctx)
	if err != nil || len(missing) == 0 {
		return err
	}
	return c.lookFor(ctx, missing)
}

// read goes through the list, page by page, and holds each page against our rows. It begins a little earlier than the chunk: for what came
// into the list late, and so that the rows of the chunk's first minutes find what they are about.
func (c *chunk) read(ctx context.Context) error {
	judged := c.from // what is earlier was judged with the chunk before
	if c.first {
		judged = c.from.Add(-underWay)
	}
	w := payment.Listing{From: c.from.Add(-underWay), To: c.end, Limit: min(c.cfg.PageSize, payment.MaxListed)}
	for pages := 1; ; pages++ {
		page, err := c.list(ctx, w)
		if err != nil {
			return err
		}
		c.until = c.end
		over := page.Next == ""
		if !over && pages >= chunkPages {
			// What is of the last instant may go on on the next page, and is the next chunk's.
			if last := page.Successes[len(page.Successes)-1].At; last.After(c.from) {
				c.until, over = last, true
			}
		}
		if err := c.judge(ctx, page.Successes, judged); err != nil || over {
			return err
		}
		w.After = page.Next
	}
}

// judge notes what a page lists, and holds what is of the chunk, from an instant on, against our rows.
func (c *chunk) judge(ctx context.Context, page []payment.Success, from time.Time) error {
	subjects, judged := make([]string, 0, len(page)), page[:0:0]
	for _, s := range page {
		c.listed[subjectOf(&s)] = true
		if s.At.Before(from) || !s.At.Before(c.until) {
			continue
		}
		subjects, judged = append(subjects, subjectOf(&s)), append(judged, s)
		switch {
		case s.At.Before(c.from):
		case s.RefundID != "":
			c.returns++
		default:
			c.charges++
		}
	}
	var ours map[string]*ownRow
	err := c.snapshots.Read(ctx, func(tx *sql.Tx) (err error) {
		ours, err = readOwn(ctx, tx, subjects)
		return err
	})
	if err != nil {
		return err
	}
	for i := range judged {
		subject := subjectOf(&judged[i])
		if f := differs(&judged[i], ours[subject], want{subject: subject}); f != nil {
			c.found = append(c.found, *f)
		}
	}
	return nil
}

// missing are those of our successes of the chunk's time that it does not list. Ours are of when we learnt them, by another clock: those
// of the last minutes belong to what comes after.
func (c *chunk) missing(ctx context.Context) (missing []ownRow, err error) {
	for _, t := range []table{payments, refunds} {
		for after, more := []byte{}, true; more; {
			var page []ownRow
			err := c.snapshots.Read(ctx, func(tx *sql.Tx) (err error) {
				page, after, more, err = t.succeeded(ctx, tx, after, c.from.Add(-apart), c.until.Add(-apart))
				return err
			})
			if err != nil {
				return nil, err
			}
			for i := range page {
				if !c.listed[page[i].subject] {
					missing = append(missing, page[i])
				}
			}
		}
	}
	return missing, nil
}

// lookFor looks for rows where else they can be listed: from when they were made until they were learnt, but not before what was looked at
// while they were no successes yet, for then a difference of that time says where.
func (c *chunk) lookFor(ctx context.Context, missing []ownRow) error {
	wants := make([]want, 0, len(missing))
	err := c.snapshots.Read(ctx, func(tx *sql.Tx) error {
		for i := range missing {
			m := &missing[i]
			w := want{subject: m.subject, from: m.created.Add(-apart), until: m.ended.Add(apart)}
			if earliest := c.since.Add(-underWay); !c.since.IsZero() && w.from.Before(earliest) {
				w.from = earliest
			}
			at, err := lastListed(ctx, tx, m)
			if err != nil {
				return err
			}
			if at != nil {
				w.from, w.until = *at, at.Add(time.Millisecond)
			}
			wants = append(wants, w)
		}
		return nil
	})
	if err != nil {
		return err
	}
	there, err := c.search(ctx, wants)
	if err != nil {
		return err
	}
	for i := range missing {
		if f := differs(there[missing[i].subject], &missing[i], wants[i]); f != nil {
			c.found = append(c.found, *f)
		}
	}
	return nil
}
