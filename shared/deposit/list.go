package deposit

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"holdfast/shared/money"
	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
)

// DueToSettle lists the orders of FROZEN deposits whose deadline was reached at an instant, longest overdue first, as last committed.
func DueToSettle(ctx context.Context, q sqltx.Querier, until time.Time, limit int) ([]sale.OrderID, error) {
	return queryIDs(ctx, q, `SELECT order_id FROM deposit_record WHERE status = 'FROZEN' AND confirm_deadline <= ?
 ORDER BY confirm_deadline, order_id LIMIT ?`, until, limit)
}

// DueToRemind lists the orders of FROZEN deposits whose buyers were to be reminded at an instant and are not yet, longest overdue first,
// as last committed. Those whose deadline is reached now, and those of sales that were called off, are left out: nothing is left to remind of.
func DueToRemind(ctx context.Context, q sqltx.Querier, until, now time.Time, limit int) ([]sale.OrderID, error) {
	return queryIDs(ctx, q, `SELECT order_id FROM deposit_record WHERE status = 'FROZEN' AND reminded_at IS NULL AND remind_at <= ?
 AND confirm_deadline > ? AND `+standing+` ORDER BY remind_at, order_id LIMIT ?`, until, now, limit)
}

// standing is the condition that the deposit's sale was not called off.
const standing = `NOT EXISTS (SELECT 1 FROM activity a WHERE a.activity_id = deposit_record.activity_id AND a.cancelled_at IS NOT NULL)`

// StillToConfirm gives those of these orders whose deposit is FROZEN, of a sale that was not called off, as last committed.
func StillToConfirm(ctx context.Context, q sqltx.Querier, ids []sale.OrderID) (map[sale.OrderID]bool, error) {
	out := make(map[sale.OrderID]bool, len(ids))
	for page := range slices.Chunk(sorted(ids), idsPerStatement) {
		found, err := queryIDs(ctx, q, `SELECT order_id FROM deposit_record WHERE order_id IN `+sqltx.In(len(page))+
			` AND status = 'FROZEN' AND `+standing, idArgs(page)...)
		if err != nil {
			return nil, err
		}
		for _, id := range found {
			out[id] = true
		}
	}
	return out, nil
}

func queryIDs(ctx context.Context, q sqltx.Querier, statement string, args ...any) ([]sale.OrderID, error) {
	ids, err := sqltx.Collect(ctx, q, sqltx.Column[sale.OrderID], statement, args...)
	if err != nil {
		return nil, fmt.Errorf("deposit: read ids: %w", err)
	}
	return ids, nil
}

// FrozenSums reads how much the FROZEN deposits of each activity hold; activities without one are absent.
func FrozenSums(ctx context.Context, q sqltx.Querier) (map[string]money.Amount, error) {
	rows, err := q.QueryContext(ctx, `SELECT activity_id, currency, SUM(deposit) FROM deposit_record WHERE status = 'FROZEN' AND mode = 'LIVE'
 GROUP BY activity_id, currency`)
	if err != nil {
		return nil, fmt.Errorf("deposit: sum: %w", err)
	}
	defer rows.Close()
	out := make(map[string]money.Amount)
	for rows.Next() {
		var id, currency string
		var sum decimal.Decimal
		if err := rows.Scan(&id, &currency, &sum); err != nil {
			return nil, fmt.Errorf("deposit: sum: %w", err)
		}
		out[id] = money.Of(sum, currency)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("deposit: sum: %w", err)
	}
	return out, nil
}

// ErrBadCursor is returned for a cursor that List did not make.
var ErrBadCursor = errors.New("deposit: bad cursor")

// Filter says which deposits a list holds; an empty member filters nothing.
type Filter struct {
	ActivityID string
	Status     Status
	DueBefore  time.Time // deadline before this instant; zero: any
}

// List pages through deposits by deadline and order, the earliest deadline first. cursor is "" at first, then next of the page before;
// next is "" at the end. It returns ErrBadCursor for any other text, and the errors of the driver.
func List(ctx context.Context, q sqltx.Querier, f Filter, cursor string, limit int) (items []Record, next string, err error) {
	where, args := []string{"1 = 1"}, []any(nil)
	add := func(condition string, values ...any) {
		where, args = append(where, condition), append(args, values...)
	}
	if f.ActivityID != "" {
		add("activity_id = ?", f.ActivityID)
	}
	if f.Status != "" {
		add("status = ?", string(f.Status))
	}
	if !f.DueBefore.IsZero() {
		add("confirm_deadline < ?", f.DueBefore.UTC())
	}
	if cursor != "" {
		at, after, err := readCursor(cursor)
		if err != nil {
			return nil, "", err
		}
		add("confirm_deadline >= ? AND (confirm_deadline > ? OR order_id > ?)", at, at, after[:])
	}
	items, err = query(ctx, q, `SELECT `+columns+` FROM deposit_record WHERE `+strings.Join(where, " AND ")+
		` ORDER BY confirm_deadline, order_id LIMIT ?`, append(args, limit+1)...)
	if err != nil || len(items) <= limit {
		return items, "", err
	}
	items = items[:limit]
	return items, writeCursor(&items[limit-1]), nil
}

func writeCursor(r *Record) string {
	b := binary.BigEndian.AppendUint64(nil, uint64(r.ConfirmDeadline.UnixMilli()))
	return base64.RawURLEncoding.EncodeToString(append(b, r.OrderID[:]...))
}

func readCursor(s string) (time.Time, sale.OrderID, error) {
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || len(b) != 24 {
		return time.Time{}, sale.OrderID{}, ErrBadCursor
	}
	ms := binary.BigEndian.Uint64(b[:8])
	if ms > 1<<47 { // beyond what DATETIME can hold
		return time.Time{}, sale.OrderID{}, ErrBadCursor
	}
	return time.UnixMilli(int64(ms)).UTC(), sale.OrderID(b[8:]), nil
}
