package export

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"time"

	"holdfast/shared/catalog"
	"holdfast/shared/reconcile"
	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
)

// Sizes of what is read and written at once.
const (
	pageSize = 2000
	partSize = 6 << 20 // bytes; an object store takes parts of 5 MiB or more, but for the last
	heldSize = 6 << 10 // bytes of lines that a job's row keeps until there are enough for a part; a longer statement would pin its session
)

// Store is where files go. A file is begun, written in numbered parts, and then completed from what was answered for each. All of it may
// be repeated: a part replaces an earlier one of its number, and completing what is complete changes nothing. The calls make one
// attempt and end with ctx.
type Store interface {
	Begin(ctx context.Context, name string) (upload string, err error)
	Part(ctx context.Context, name, upload string, number int, body []byte) (tag string, err error)
	Complete(ctx context.Context, name, upload string, tags []string) error
	// Link gives an address at which the file can be read for so long without any other right.
	Link(ctx context.Context, name string, lasts time.Duration) (url string, expiresAt time.Time, err error)
}

// Summary says what a run did.
type Summary struct {
	Written int `json:"written"`
	Failed  int `json:"failed"`  // jobs that are over without a file
	Waiting int `json:"waiting"` // jobs that are gone on with
}

// Run writes the exports that were asked for until none is left or the budget is over, those first that nobody was at for longest: one
// that takes many runs keeps no other from its turn. It is safe side by side: a job is claimed by its row. It returns the errors of database
// and store; why a file could not be written stands in its job, too.
func Run(ctx context.Context, db *sqltx.DB, store Store, budget time.Duration) (sum Summary, err error) {
	ctx, cancel := context.WithTimeout(ctx, budget)
	defer cancel()
	err = reconcile.InTimeLeft(ctx, func() error { return writeWaiting(ctx, db, store, &sum) })
	return sum, err
}

func writeWaiting(ctx context.Context, db *sqltx.DB, store Store, sum *Summary) error {
	ids, err := waiting(ctx, db)
	if err != nil {
		return err
	}
	var errs []error
	for _, id := range ids {
		if ctx.Err() != nil {
			break
		}
		j, err := claim(ctx, db, id)
		if err != nil {
			return errors.Join(append(errs, err)...)
		}
		if j == nil {
			continue
		}
		result, failure := j.write(ctx, db, store)
		if errors.Is(failure, errLost) {
			continue
		}
		errs = append(errs, j.finish(ctx, db, result, failure, sum))
	}
	return errors.Join(errs...)
}

// finish writes down how a run ended. Time that was over is no failure.
func (j *job) finish(ctx context.Context, db *sqltx.DB, result *Result, failure error, sum *Summary) error {
	outOfTime := failure != nil && ctx.Err() != nil
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), markBudget)
	defer cancel()
	switch {
	case failure == nil:
		sum.Written++
		return j.save(ctx, db, "SUCCEEDED", result, "")
	case outOfTime:
		return j.pause(ctx, db, sum)
	}
	j.Failures++
	status, problem := "QUEUED", "the file could not be written; it is tried again"
	if errors.Is(failure, catalog.ErrNotFound) || j.Failures >= maxFailures {
		status, problem = "FAILED", "the file could not be written"
		sum.Failed++
	} else {
		sum.Waiting++
	}
	return errors.Join(fmt.Errorf("export %s: %w", j.id, failure), j.save(ctx, db, status, nil, problem))
}

// pause leaves the job to the next run, but for one of which run after run, with time enough, came no further: it would take the time of
// all others for ever.
func (j *job) pause(ctx context.Context, db *sqltx.DB, sum *Summary) error {
	now, err := db.Now(ctx, db)
	if err != nil {
		return err
	}
	switch {
	case !bytes.Equal(j.After, j.begun):
		j.Idle = 0
	case now.Sub(j.claimedAt) >= enoughTime:
		j.Idle++
	}
	if j.Idle >= maxIdle {
		sum.Failed++
		return j.save(ctx, db, "FAILED", nil, "the file is too large for the time that a run has; ask for one activity or a shorter time")
	}
	sum.Waiting++
	return j.save(ctx, db, "QUEUED", nil, "")
}

// name is the file's, which nobody guesses.
func (j *job) name() string { return "exports/" + j.id + ".csv" }

// write writes the rest of the file.
func (j *job) write(ctx context.Context, db *sqltx.DB, store Store) (*Result, error) {
	f, err := j.filter(ctx, db)
	if err != nil {
		return nil, err
	}
	sum, err := j.digest()
	if err != nil {
		return nil, err
	}
	if j.Upload == "" {
		if j.Upload, err = store.Begin(ctx, j.name()); err != nil {
			return nil, err
		}
	}
	for !j.Whole {
		if err := j.part(ctx, db, store, f, sum); err != nil {
			return nil, err
		}
	}
	if err := store.Complete(ctx, j.name(), j.Upload, j.Parts); err != nil {
		return nil, err
	}
	url, expires, err := store.Link(ctx, j.name(), linkLasts)
	if err != nil {
		return nil, err
	}
	return &Result{URL: url, ExpiresAt: expires.UTC().Format(time.RFC3339), Rows: j.Rows, SHA256: hex.EncodeToString(sum.Sum(nil))}, nil
}

// part reads until a part is full or nothing is left, writes it, and keeps how far the file is. While there are few lines it keeps them
// and how far it has read, so that a run which finds hardly any in its time was not in vain.
func (j *job) part(ctx context.Context, db *sqltx.DB, store Store, f *filter, sum hash.Hash) error {
	body := bytes.NewBuffer(bytes.Clone(j.Held))
	next := j.state
	if len(j.Parts) == 0 && len(j.Held) == 0 {
		if err := appendLines(body, head(j.Kind)); err != nil {
			return fmt.Errorf("export: %w", err)
		}
	}
	for !next.Whole && body.Len() < partSize {
		lines, last, n, err := pages[j.Kind](ctx, db, f, next.After, pageSize)
		if err != nil {
			return err
		}
		if err := appendLines(body, lines); err != nil {
			return fmt.Errorf("export: %w", err)
		}
		next.After, next.Rows, next.Whole = last, next.Rows+int64(len(lines)), n < pageSize
		if !next.Whole && body.Len() <= heldSize {
			j.state = next
			j.Held = bytes.Clone(body.Bytes())
		}
	}
	tag, err := store.Part(ctx, j.name(), j.Upload, len(j.Parts)+1, body.Bytes())
	if err != nil {
		return err
	}
	sum.Write(body.Bytes())
	if next.Hash, err = sum.(encoding.BinaryMarshaler).MarshalBinary(); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	next.Parts, next.Held, next.Failures, next.Idle = append(next.Parts, tag), nil, 0, 0
	j.state = next
	return j.save(ctx, db, "RUNNING", nil, "")
}

// digest is the SHA-256 over the finished parts, to be gone on with.
func (j *job) digest() (hash.Hash, error) {
	sum := sha256.New()
	if j.Hash == nil {
		return sum, nil
	}
	if err := sum.(encoding.BinaryUnmarshaler).UnmarshalBinary(j.Hash); err != nil {
		return nil, fmt.Errorf("export: job %s: %w", j.id, err)
	}
	return sum, nil
}

func (j *job) filter(ctx context.Context, db *sqltx.DB) (*filter, error) {
	f := &filter{activityID: j.ActivityID}
	if j.From != nil {
		f.from = *j.From
	}
	if j.To != nil {
		f.until = *j.To
	}
	var a *sale.Activity
	if j.ActivityID != "" {
		var err error
		if a, err = catalog.Get(ctx, db, j.ActivityID); err != nil {
			return nil, err
		}
	}
	f.low, f.high = bounds(a)
	return f, nil
}
