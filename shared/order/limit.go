package order

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast/shared/sqltx"
)

// Holder is one user in one activity: the key of purchase_limit.
type Holder struct{ ActivityID, UserID string }

func compareHolders(a, b Holder) int {
	return cmp.Or(strings.Compare(a.ActivityID, b.ActivityID), strings.Compare(a.UserID, b.UserID))
}

// Holdings says how many units each holder is to get or to give back.
type Holdings map[Holder]int

// Add counts an order's units.
func (h Holdings) Add(o *Order) { h[Holder{o.ActivityID, o.UserID}] += o.Quantity }

// Sorted gives the holders in the order in which their rows are locked.
func (h Holdings) Sorted() []Holder {
	out := make([]Holder, 0, len(h))
	for k := range h {
		out = append(out, k)
	}
	slices.SortFunc(out, compareHolders)
	return out
}

const limitHead = `INSERT INTO purchase_limit (activity_id, user_id, quantity, max_quantity, updated_at) VALUES `

// Every upsert brings the activity's present limit. The CHECK quantity <= max_quantity is the gate.
const limitTail = ` ON DUPLICATE KEY UPDATE quantity = quantity + VALUES(quantity), max_quantity = VALUES(max_quantity), updated_at = VALUES(updated_at)`

// Hold adds units to what users hold. limits gives each activity's limit per user. When one would hold more than the limit the
// database's CHECK refuses (sqltx.CheckViolated) and the transaction must be rolled back.
func Hold(ctx context.Context, tx *sql.Tx, units Holdings, limits map[string]int, now time.Time) error {
	return hold(ctx, tx, units, limits, now, limitTail)
}

func hold(ctx context.Context, tx *sql.Tx, units Holdings, limits map[string]int, now time.Time, tail string) error {
	holders := units.Sorted()
	_, err := sqltx.WriteRows(ctx, tx, limitHead, len(holders), func(i int, r *sqltx.Row) {
		k := holders[i]
		r.Text(k.ActivityID)
		r.Text(k.UserID)
		r.Int(int64(units[k]))
		r.Int(int64(limits[k.ActivityID]))
		r.Instant(now)
	}, tail)
	if err != nil {
		return fmt.Errorf("order: hold: %w", err)
	}
	return nil
}

// A user may hold more than the present limit: the limit was lowered, or a person has corrected the holding. That is no reason not to be
// locked and read, so here the gate gives way to what is held; it is Hold that lets nobody have more.
const lockTail = ` ON DUPLICATE KEY UPDATE max_quantity = GREATEST(VALUES(max_quantity), quantity), updated_at = VALUES(updated_at)`

// LockHeld makes sure that every holder has a row, locks these rows and returns how much each holds now, which may be beyond the limit.
func LockHeld(ctx context.Context, tx *sql.Tx, holders []Holder, limits map[string]int, now time.Time) (Holdings, error) {
	nothing := make(Holdings, len(holders))
	for _, k := range holders {
		nothing[k] = 0
	}
	if err := hold(ctx, tx, nothing, limits, now, lockTail); err != nil {
		return nil, err
	}
	held := make(Holdings, len(holders))
	err := eachActivity(nothing.Sorted(), func(page []Holder) error {
		args := make([]any, 0, len(page)+1)
		args = append(args, page[0].ActivityID)
		for _, k := range page {
			args = append(args, k.UserID)
		}
		rows, err := tx.QueryContext(ctx, `SELECT user_id, quantity FROM purchase_limit WHERE activity_id = ? AND user_id IN `+
			sqltx.In(len(page))+` ORDER BY user_id FOR UPDATE`, args...)
		if err != nil {
			return fmt.Errorf("order: read held: %w", err)
		}
		return scanHeld(rows, page[0].ActivityID, held)
	})
	return held, err
}

// eachActivity hands out sorted holders in pages of one activity each, small enough for a statement.
func eachActivity(holders []Holder, do func(page []Holder) error) error {
	for len(holders) > 0 {
		n := 1
		for n < len(holders) && holders[n].ActivityID == holders[0].ActivityID {
			n++
		}
		for _, page := range pages(holders[:n], userBytes) {
			if err := do(page); err != nil {
				return err
			}
		}
		holders = holders[n:]
	}
	return nil
}

// userBytes is what one user takes in a statement of CASE and IN at most: the id twice, escaped, with words and figures.
const userBytes = 2*(2*128+4) + len("WHEN THEN ") + 12

func scanHeld(rows *sql.Rows, activityID string, held Holdings) error {
	defer rows.Close()
	for rows.Next() {
		var user string
		var quantity int
		if err := rows.Scan(&user, &quantity); err != nil {
			return fmt.Errorf("order: read held: %w", err)
		}
		held[Holder{activityID, user}] = quantity
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("order: read held: %w", err)
	}
	return nil
}

// GiveBack takes units off what users hold; their rows are there, for the orders that hold the units are locked. It returns an
// error when a row is missing or would fall below zero: MySQL would then disagree with itself.
func GiveBack(ctx context.Context, tx *sql.Tx, units Holdings, now time.Time) error {
	return eachActivity(units.Sorted(), func(page []Holder) error { return giveBackPage(ctx, tx, page, units, now) })
}

func giveBackPage(ctx context.Context, tx *sql.Tx, page []Holder, units Holdings, now time.Time) error {
	args := make([]any, 0, 3*len(page)+2)
	for _, k := range page {
		args = append(args, k.UserID, units[k])
	}
	args = append(args, now, page[0].ActivityID)
	for _, k := range page {
		args = append(args, k.UserID)
	}
	result, err := tx.ExecContext(ctx, `UPDATE purchase_limit SET quantity = quantity - CASE user_id `+
		strings.Repeat("WHEN ? THEN ? ", len(page))+`ELSE 0 END, updated_at = ? WHERE activity_id = ? AND user_id IN `+
		sqltx.In(len(page)), args...)
	if err != nil {
		return fmt.Errorf("order: give back: %w", err)
	}
	return expectChanged(result, len(page))
}

// Held reads how many units a user holds in live orders of an activity, as last committed; 0 without a row.
func Held(ctx context.Context, q sqltx.Querier, k Holder) (int, error) {
	var quantity int
	err := q.QueryRowContext(ctx, `SELECT quantity FROM purchase_limit WHERE activity_id = ? AND user_id = ?`,
		k.ActivityID, k.UserID).Scan(&quantity)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("order: read held: %w", err)
	}
	return quantity, nil
}
