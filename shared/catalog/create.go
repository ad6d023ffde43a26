package catalog

import (
	"bytes"
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"holdfast/shared/audit"
	"holdfast/shared/fault"
	"holdfast/shared/idempotency"
	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
)

// saltBytes is the length of the key that order ids are made with.
const saltBytes = 32

// numberTries bounds how often Create looks for a free number while others take the same ones.
const numberTries = 20

// Create makes an activity as DRAFT, with its types and buckets, and an audit row. Of draft it takes what operators set; number, salt,
// status and counters it makes itself. The same body again gives the activity as it is now, created false, and no audit row: creating
// is idempotent by the id.
//
// It returns, as faults, ErrExists for an id that was created with another body and ErrRefused for values that break a rule of the
// database; sqltx.ErrUnavailable; sqltx.ErrCommitUnclear, after which the same call again finds out.
func (c *Catalog) Create(ctx context.Context, draft sale.Activity, entry audit.Entry) (a *sale.Activity, created bool, err error) {
	normalize(&draft)
	hash, err := fingerprint(&draft)
	if err != nil {
		return nil, false, err
	}
	draft.Salt = make([]byte, saltBytes)
	_, _ = rand.Read(draft.Salt) // It never fails; a system without randomness ends the process.

	err = c.db.Run(ctx, func(ctx context.Context, tx *sql.Tx) error {
		now, err := c.db.Now(ctx, tx)
		if err != nil {
			return err
		}
		created, err = c.insert(ctx, tx, &draft, hash, now)
		if err != nil {
			return err
		}
		if created {
			detail, err := json.Marshal(map[string]any{"number": fmt.Sprint(draft.Number), "title": draft.Title})
			if err != nil {
				return fmt.Errorf("writing an audit entry: %w", err)
			}
			entry := complete(entry, "activity.create", draft.ID, now)
			entry.Detail = detail
			if err := audit.Add(ctx, tx, entry); err != nil {
				return err
			}
		}
		a, err = Get(ctx, tx, draft.ID)
		return err
	})
	if err != nil {
		return nil, false, refused(err)
	}
	return a, created, nil
}

// insert inserts the draft's rows, or finds that they are there. It sets draft.Number.
func (c *Catalog) insert(ctx context.Context, tx *sql.Tx, draft *sale.Activity, hash idempotency.BodyHash, now time.Time) (created bool, err error) {
	draft.Number = draft.OpensAt.UnixMilli()
	for range numberTries {
		_, err = tx.ExecContext(ctx, insertActivity, draft.ID, draft.Number, draft.Salt, draft.Kind, draft.Mode, draft.Title, draft.Lang,
			draft.TimeZone, textOrNull(draft.Metadata), draft.OpensAt, draft.ClosesAt, draft.PerUserLimit,
			int64(draft.PayWindow/time.Second), draft.Currency, textOrNull(draft.RefundRule), draft.SaleTokenRequired, hash[:], now, now)
		key, taken := sqltx.DuplicateKey(err)
		switch {
		case err == nil:
			if err := addStock(ctx, tx, draft, now); err != nil {
				return false, err
			}
			return true, addPolicy(ctx, tx, draft, now)
		case !taken:
			return false, fmt.Errorf("inserting an activity: %w", err)
		case key == "activity_number":
			if draft.Number, err = freeNumber(ctx, tx, draft.Number); err != nil {
				return false, err
			}
		default:
			return false, sameBody(ctx, tx, draft.ID, hash)
		}
	}
	return false, fmt.Errorf("inserting an activity: no free number after %d tries: %w", numberTries, err)
}

// sameBody returns ErrExists, as a fault, unless the activity was created with the body of this hash.
func sameBody(ctx context.Context, tx *sql.Tx, id string, hash idempotency.BodyHash) error {
	var kept []byte
	if err := tx.QueryRowContext(ctx, selectHash, id).Scan(&kept); err != nil {
		return fmt.Errorf("reading an activity: %w", err)
	}
	if !bytes.Equal(kept, hash[:]) {
		return fault.Wrap(fault.ActivityExists, ErrExists, "an activity with this id was created with another body; ids are never used twice")
	}
	return nil
}
