package notice

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
)

// ClaimFor is how long a claim holds: far longer than publishing a page takes.
const ClaimFor = time.Minute

// Bounds of how long a notice waits that was not accepted: it doubles with every attempt.
const (
	firstPause   = 5 * time.Second
	longestPause = time.Hour
)

// Message is a notice as it is published: its id, the envelope as JSON, and what subscribers may filter by, none of it empty.
type Message struct {
	ID         string
	Body       string
	Attributes map[string]string
}

// Message makes the message of a notice. A rehearsal is told by the attribute mode, so that nobody is called to a sale that is none. It
// returns the errors of Envelope.
func (n *Stored) Message() (Message, error) {
	body, err := n.Envelope()
	if err != nil {
		return Message{}, err
	}
	return Message{ID: n.Name(), Body: string(body), Attributes: map[string]string{"type": n.Kind.EventType(), "mode": string(n.Mode),
		"activityId": n.ActivityID}}, nil
}

const columns = `notice_id, subject, kind, user_id, activity_id, order_id, mode, data, status, attempts, expires_at, created_at`

// Claim takes a page of notices that are due, longest due first, for ClaimFor: those that wait, then those whose claim ran out. Rows that
// somebody else has locked are passed over. The notices are the sender's once the transaction is committed. It returns the errors of
// the driver.
func Claim(ctx context.Context, tx *sql.Tx, now time.Time, limit int) ([]Stored, error) {
	claimed, err := claimIn(ctx, tx, Waiting, now, limit)
	if err != nil || len(claimed) == limit {
		return claimed, err
	}
	lost, err := claimIn(ctx, tx, Claimed, now, limit-len(claimed))
	return append(claimed, lost...), err
}

func claimIn(ctx context.Context, tx *sql.Tx, from Status, now time.Time, limit int) ([]Stored, error) {
	page, err := query(ctx, tx, `SELECT `+columns+` FROM notice WHERE status = ? AND due_at <= ? ORDER BY due_at, notice_id LIMIT ?
 FOR UPDATE SKIP LOCKED`, string(from), now, limit)
	if err != nil || len(page) == 0 {
		return nil, err
	}
	args := append([]any{now.Add(ClaimFor), now}, idsOf(page)...)
	changed, err := exec(ctx, tx, `UPDATE notice SET status = 'CLAIMED', attempts = attempts + 1, due_at = ?, updated_at = ?
 WHERE notice_id IN `+sqltx.In(len(page))+` AND status = ? AND due_at <= ?`, append(args, string(from), now)...)
	if err != nil {
		return nil, err
	}
	if changed != int64(len(page)) {
		return nil, fmt.Errorf("notice: %d of %d locked notices could be claimed", changed, len(page))
	}
	for i := range page {
		page[i].Status = Claimed
		page[i].Attempts++
	}
	return page, nil
}

// MarkSent notes that notices were published. That a claim ran out meanwhile, or was given up by another sender, changes nothing: they
// are out. It returns the errors of the driver.
func MarkSent(ctx context.Context, tx *sql.Tx, list []Stored, now time.Time) error {
	if len(list) == 0 {
		return nil
	}
	_, err := exec(ctx, tx, `UPDATE notice SET status = 'SENT', sent_at = ?, updated_at = ? WHERE notice_id IN `+sqltx.In(len(list))+
		` AND status IN ('CLAIMED', 'WAITING')`, append([]any{now, now}, idsOf(list)...)...)
	return err
}

// MarkSkipped gives up claimed notices that are too late or no longer true. It returns the errors of the driver.
func MarkSkipped(ctx context.Context, tx *sql.Tx, list []Stored, now time.Time) error {
	if len(list) == 0 {
		return nil
	}
	_, err := exec(ctx, tx, `UPDATE notice SET status = 'SKIPPED', updated_at = ? WHERE notice_id IN `+sqltx.In(len(list))+
		` AND status = 'CLAIMED'`, append([]any{now}, idsOf(list)...)...)
	return err
}

// PutBack has claimed notices wait that were not accepted, longer with every attempt. One that another sender has claimed since is left
// to it. It returns the errors of the driver.
func PutBack(ctx context.Context, tx *sql.Tx, list []Stored, now time.Time) error {
	byAttempts := make(map[int][]Stored)
	for _, n := range list {
		byAttempts[n.Attempts] = append(byAttempts[n.Attempts], n)
	}
	for attempts, group := range byAttempts {
		args := append([]any{now.Add(Pause(attempts)), now}, idsOf(group)...)
		_, err := exec(ctx, tx, `UPDATE notice SET status = 'WAITING', due_at = ?, updated_at = ? WHERE notice_id IN `+
			sqltx.In(len(group))+` AND status = 'CLAIMED' AND attempts = ?`, append(args, attempts)...)
		if err != nil {
			return err
		}
	}
	return nil
}

// Pause is how long a notice waits whose so-manieth attempt was not accepted: 5 s, doubled with every attempt, at most an hour.
func Pause(attempts int) time.Duration {
	pause := firstPause
	for n := 1; n < attempts && pause < longestPause; n++ {
		pause *= 2
	}
	return min(pause, longestPause)
}

// Overdue says whether any notice has been due since an instant or longer, as last committed. It returns the errors of the driver.
func Overdue(ctx context.Context, q sqltx.Querier, since time.Time) (bool, error) {
	for _, status := range []Status{Waiting, Claimed} {
		var id int64
		err := q.QueryRowContext(ctx, `SELECT notice_id FROM notice WHERE status = ? AND due_at <= ? ORDER BY due_at LIMIT 1`,
			string(status), since).Scan(&id)
		if err == nil {
			return true, nil
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return false, fmt.Errorf("notice: overdue: %w", err)
		}
	}
	return false, nil
}

func idsOf(list []Stored) []any {
	args := make([]any, len(list))
	for i := range list {
		args[i] = list[i].ID
	}
	return args
}

func exec(ctx context.Context, tx *sql.Tx, statement string, args ...any) (int64, error) {
	result, err := tx.ExecContext(ctx, statement, args...)
	if err != nil {
		return 0, fmt.Errorf("notice: %w", err)
	}
	changed, err := result.RowsAffected()
	if err != nil {
		return 0, fmt.Errorf("notice: counting rows: %w", err)
	}
	return changed, nil
}

func query(ctx context.Context, q sqltx.Querier, statement string, args ...any) ([]Stored, error) {
	found, err := sqltx.Collect(ctx, q, scan, statement, args...)
	if err != nil {
		return nil, fmt.Errorf("notice: read: %w", err)
	}
	return found, nil
}

func scan(row sqltx.Scanner) (Stored, error) {
	var n Stored
	var orderID []byte
	var data string
	var expires sql.NullTime
	err := row.Scan(&n.ID, &n.Subject, &n.Kind, &n.UserID, &n.ActivityID, &orderID, &n.Mode, &data, &n.Status, &n.Attempts, &expires, &n.CreatedAt)
	if err != nil {
		return Stored{}, err
	}
	if orderID != nil {
		if n.OrderID, err = sale.OrderIDFromBytes(orderID); err != nil {
			return Stored{}, fmt.Errorf("notice %d: %w", n.ID, err)
		}
	}
	if expires.Valid {
		n.ExpiresAt = &expires.Time
	}
	n.Data = json.RawMessage(data)
	return n, nil
}
