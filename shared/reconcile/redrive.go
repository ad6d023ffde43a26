package reconcile

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"holdfast/shared/audit"
	"holdfast/shared/sqltx"
)

// ErrNotSent is returned by Redrive when the queue did not accept all messages. Those that it accepted are noted; the call may be
// repeated and sends the rest.
var ErrNotSent = errors.New("reconcile: the queue did not accept every dead letter")

// SendBack puts messages into the queue of orders again. It answers one error per body, in order; nil means that the queue has it.
type SendBack func(ctx context.Context, bodies []string) []error

// DeadLettersByID reads these records, by id; ids without a record are absent. It returns the errors of the driver.
func DeadLettersByID(ctx context.Context, q sqltx.Querier, ids []int64) ([]KeptDeadLetter, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	args := make([]any, len(ids))
	for i, id := range ids {
		args[i] = id
	}
	return deadLetters(ctx, q, selectDeadLetters+` WHERE dead_letter_id IN `+sqltx.In(len(ids))+` ORDER BY dead_letter_id`, args...)
}

// Redrive sends dead letters to the queue again, as they came, and notes when; those that were sent before stay as they are and are
// counted as sent. It is safe to send a message twice: create-orders takes its order id from it and makes one order, none when the id is
// dead. So the messages go first and the note after, and a crash between the two costs a second message at most. by is written for each
// letter, about its order if it has one. It returns the letters as they stand now; ErrNotSent, and the errors of the database, both of
// which leave some to be sent by the same call again.
func Redrive(ctx context.Context, db *sqltx.DB, letters []KeptDeadLetter, send SendBack, by audit.Entry) ([]KeptDeadLetter, error) {
	letters = slices.Clone(letters)
	var waiting []*KeptDeadLetter
	var bodies []string
	for i := range letters {
		if l := &letters[i]; l.RedrivenAt == nil {
			waiting, bodies = append(waiting, l), append(bodies, string(l.Body))
		}
	}
	if len(waiting) == 0 {
		return letters, nil
	}
	var sent []*KeptDeadLetter
	var failures []error
	for i, err := range send(ctx, bodies) {
		if err == nil {
			sent = append(sent, waiting[i])
		} else {
			failures = append(failures, err)
		}
	}
	if err := noteRedriven(ctx, db, sent, by); err != nil {
		return letters, err
	}
	if len(failures) > 0 {
		return letters, fmt.Errorf("%w: %d of %d: %w", ErrNotSent, len(failures), len(waiting), failures[0])
	}
	return letters, nil
}

// noteRedriven writes down what was sent, together with the audit rows. One that somebody else has noted meanwhile keeps that instant.
func noteRedriven(ctx context.Context, db *sqltx.DB, sent []*KeptDeadLetter, by audit.Entry) error {
	if len(sent) == 0 {
		return nil
	}
	var now time.Time
	err := db.Run(ctx, func(ctx context.Context, tx *sql.Tx) (err error) {
		if now, err = db.Now(ctx, tx); err != nil {
			return err
		}
		for _, l := range sent {
			result, err := tx.ExecContext(ctx, `UPDATE dead_letter SET redriven_at = ? WHERE dead_letter_id = ? AND redriven_at IS NULL`, now, l.ID)
			if err != nil {
				return fmt.Errorf("reconcile: note a redriven dead letter: %w", err)
			}
			if n, err := result.RowsAffected(); err != nil || n == 0 {
				if err != nil {
					return err
				}
				continue
			}
			entry := by
			entry.At, entry.Subject = now, "dead-letter:"+strconv.FormatInt(l.ID, 10)
			if l.OrderID != nil {
				entry.Subject = l.OrderID.String()
			}
			if entry.Detail, err = json.Marshal(map[string]string{"deadLetterId": strconv.FormatInt(l.ID, 10)}); err != nil {
				return err
			}
			if err := audit.Add(ctx, tx, entry); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, l := range sent {
		l.RedrivenAt = &now
	}
	return nil
}
