package notice

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
)

const addHead = `INSERT INTO notice (subject, kind, user_id, activity_id, order_id, mode, data, status, due_at, expires_at,
 created_at, updated_at) VALUES `

// addTail leaves what was written about a subject before as it is.
const addTail = ` ON DUPLICATE KEY UPDATE notice_id = notice_id`

// Add writes notices in the transaction that causes them, due at once. One whose subject and kind are there already is left as it is.
// now is by the clock of the database. It returns an error for a kind that there is not and for data that does not become JSON, and
// the errors of the driver. No notices: nothing is run.
func Add(ctx context.Context, tx *sql.Tx, list []Notice, now time.Time) error {
	if len(list) == 0 {
		return nil
	}
	sorted := slices.Clone(list) // two transactions about the same subjects lock them in one order
	slices.SortFunc(sorted, func(a, b Notice) int {
		return cmp.Or(cmp.Compare(a.Subject, b.Subject), cmp.Compare(a.Kind, b.Kind))
	})
	texts := make([][]byte, len(sorted))
	for i := range sorted {
		n := &sorted[i]
		if n.Kind.EventType() == "" {
			return fmt.Errorf("notice: there is no kind %q", n.Kind)
		}
		text, err := json.Marshal(n.Data)
		if err != nil {
			return fmt.Errorf("notice: data of %s: %w", n.Kind, err)
		}
		texts[i] = text
	}
	_, err := sqltx.WriteRows(ctx, tx, addHead, len(sorted), func(i int, r *sqltx.Row) { sorted[i].write(r, texts[i], now) }, addTail)
	if err != nil {
		return fmt.Errorf("notice: add: %w", err)
	}
	return nil
}

// Postpone moves the instant from which on a notice is too late to tell, as what it tells of is postponed. A notice that was sent or
// skipped stays as it is, and so does one that is never too late. It returns the errors of the driver.
func Postpone(ctx context.Context, tx *sql.Tx, subject string, kind Kind, expiresAt, now time.Time) error {
	_, err := exec(ctx, tx, `UPDATE notice SET expires_at = ?, updated_at = ? WHERE subject = ? AND kind = ?
 AND status IN ('WAITING', 'CLAIMED') AND expires_at IS NOT NULL`, expiresAt, now, subject, string(kind))
	return err
}

// write gives the values of addHead's columns.
func (n *Notice) write(r *sqltx.Row, data []byte, now time.Time) {
	r.Text(n.Subject)
	r.Text(string(n.Kind))
	r.Text(n.UserID)
	r.Text(n.ActivityID)
	if n.OrderID == (sale.OrderID{}) {
		r.Null()
	} else {
		r.Bytes(n.OrderID[:])
	}
	r.Text(string(n.Mode))
	r.Bytes(data)
	r.Text(string(Waiting))
	r.Instant(now)
	r.InstantOrNull(n.ExpiresAt)
	r.Instant(now)
	r.Instant(now)
}
