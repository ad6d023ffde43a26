package export

import (
	"context"
	"database/sql"
	"encoding/binary"
	"fmt"
	"strconv"
	"time"

	"holdfast/shared/order"
	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
)

// Kind is what an export holds.
type Kind string

// The kinds there are.
const (
	Orders      Kind = "orders"
	Units       Kind = "units"
	Ledger      Kind = "ledger"
	Deposits    Kind = "deposits"
	Differences Kind = "differences"
)

// Kinds lists all kinds.
func Kinds() []Kind { return []Kind{Orders, Units, Ledger, Deposits, Differences} }

// columns are the names in the first line.
var columns = map[Kind][]string{
	Orders: {"orderId", "reference", "activityId", "ticketType", "userId", "quantity", "unitPrice", "amount", "paid", "refunded", "currency",
		"status", "reason", "source", "createdAt", "payDeadline", "cancelledAt"},
	Units:  {"unitId", "orderId", "reference", "activityId", "ticketType", "userId", "unitPrice", "currency", "createdAt"},
	Ledger: {"entryId", "at", "type", "reference", "orderId", "amount", "currency", "from", "to"},
	Deposits: {"orderId", "activityId", "status", "deposit", "consumed", "supplement", "penalty", "refunded", "penaltyReversed", "currency",
		"clubId", "confirmDeadline", "createdAt", "settledAt"},
	Differences: {"differenceId", "activityId", "kind", "subject", "status", "evidence", "proposedAction", "occurrences", "action", "note",
		"foundAt", "seenAt", "resolvedAt"},
}

// filter says which rows are wanted. The first and the last id are those of an activity's orders, or of all.
type filter struct {
	activityID  string
	from, until time.Time // zero: not bounded
	low, high   []byte
}

// holds says whether a row that was made at an instant is wanted.
func (f *filter) holds(at time.Time) bool {
	return !at.Before(f.from) && (f.until.IsZero() || at.Before(f.until))
}

// page reads rows by key and gives the lines of those that are wanted; last is the key that it came to, and n how many rows it read. Every
// page is bounded by the rows that are read, not by those that are wanted.
type page func(ctx context.Context, q sqltx.Querier, f *filter, after []byte, limit int) (lines [][]cell, last []byte, n int, err error)

var pages = map[Kind]page{Orders: ordersPage, Units: unitsPage, Ledger: ledgerPage, Deposits: depositsPage, Differences: differencesPage}

// bounds are the keys between which all of an export lies.
func bounds(a *sale.Activity) (low, high []byte) {
	if a == nil {
		return make([]byte, 16), []byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff")
	}
	above, below := order.Range(a.Number)
	return above[:], below[:]
}

func ordersPage(ctx context.Context, q sqltx.Querier, f *filter, after []byte, limit int) (lines [][]cell, last []byte, n int, err error) {
	return each(ctx, q, after, `SELECT id, reference, activity_id, ticket_type, user_id, quantity, unit_price, amount, paid, refunded, currency, status,
 reason, source, created_at, pay_deadline, cancelled_at, mode FROM trade_order WHERE id > ? AND id < ? ORDER BY id LIMIT ?`,
		[]any{max16(after, f.low), f.high, limit}, func(scan func(...any) error) ([]byte, [][]cell, error) {
			var id []byte
			var reference, reason, activity, ticket, user, unitPrice, amount, paid, refunded, currency, status, source, mode sql.NullString
			var quantity int
			var created time.Time
			var deadline, cancelled sql.NullTime
			err := scan(&id, &reference, &activity, &ticket, &user, &quantity, &unitPrice, &amount, &paid, &refunded, &currency, &status, &reason,
				&source, &created, &deadline, &cancelled, &mode)
			if err != nil || mode.String != string(sale.Live) || !f.holds(created) {
				return id, nil, err
			}
			return id, [][]cell{{plain(sale.OrderID(id).String()), text(reference.String), text(activity.String), text(ticket.String),
				text(user.String), plain(strconv.Itoa(quantity)), plain(unitPrice.String), plain(amount.String), plain(paid.String),
				plain(refunded.String), plain(currency.String), plain(status.String), plain(reason.String), plain(source.String), instant(created),
				instantOrNone(deadline), instantOrNone(cancelled)}}, nil
		})
}

func unitsPage(ctx context.Context, q sqltx.Querier, f *filter, after []byte, limit int) (lines [][]cell, last []byte, n int, err error) {
	return each(ctx, q, after, `SELECT id, reference, activity_id, ticket_type, user_id, quantity, unit_price, currency, status, created_at, mode
 FROM trade_order WHERE id > ? AND id < ? ORDER BY id LIMIT ?`,
		[]any{max16(after, f.low), f.high, limit}, func(scan func(...any) error) ([]byte, [][]cell, error) {
			var id []byte
			var reference, activity, ticket, user, price, currency, status, mode sql.NullString
			var quantity int
			var created time.Time
			err := scan(&id, &reference, &activity, &ticket, &user, &quantity, &price, &currency, &status, &created, &mode)
			if err != nil || mode.String != string(sale.Live) || status.String != string(order.Paid) || !f.holds(created) {
				return id, nil, err
			}
			name := sale.OrderID(id).String()
			units := make([][]cell, quantity)
			for i := range units {
				units[i] = []cell{plain(name + "-" + strconv.Itoa(i+1)), plain(name), text(reference.String), text(activity.String), text(ticket.String),
					text(user.String), plain(price.String), plain(currency.String), instant(created)}
			}
			return id, units, nil
		})
}

const ledgerColumns = `SELECT entry_id, at, type, reference, order_id, amount, currency, from_account, to_account FROM wallet_log`

// ledgerPage reads entries by number, and those of an activity by order, so that the others are not read. A file that was begun by number
// goes on so.
func ledgerPage(ctx context.Context, q sqltx.Querier, f *filter, after []byte, limit int) (lines [][]cell, last []byte, n int, err error) {
	if f.activityID == "" || len(after) == 8 {
		return each(ctx, q, after, ledgerColumns+` WHERE entry_id > ? ORDER BY entry_id LIMIT ?`, []any{number(after), limit},
			func(scan func(...any) error) ([]byte, [][]cell, error) {
				id, _, line, err := ledgerLine(scan, f)
				return key(id), line, err
			})
	}
	orderID, entry := f.low, int64(0)
	if len(after) == 24 {
		orderID, entry = after[:16], number(after[16:])
	}
	return each(ctx, q, after, ledgerColumns+` WHERE order_id >= ? AND order_id < ? AND (order_id > ? OR entry_id > ?)
 ORDER BY order_id, entry_id LIMIT ?`, []any{orderID, f.high, orderID, entry, limit}, func(scan func(...any) error) ([]byte, [][]cell, error) {
		id, orderID, line, err := ledgerLine(scan, f)
		return append(orderID, key(id)...), line, err
	})
}

// ledgerLine reads an entry, and gives its line when it is wanted.
func ledgerLine(scan func(...any) error, f *filter) (id int64, orderID []byte, line [][]cell, err error) {
	var at time.Time
	var kind, reference, amount, currency, from, to sql.NullString
	err = scan(&id, &at, &kind, &reference, &orderID, &amount, &currency, &from, &to)
	ofOther := f.activityID != "" && (len(orderID) != 16 || string(orderID) <= string(f.low) || string(orderID) >= string(f.high))
	if err != nil || ofOther || !f.holds(at) {
		return id, orderID, nil, err
	}
	name := ""
	if len(orderID) == 16 {
		name = sale.OrderID(orderID).String()
	}
	return id, orderID, [][]cell{{plain(strconv.FormatInt(id, 10)), instant(at), plain(kind.String), text(reference.String), plain(name),
		plain(amount.String), plain(currency.String), text(from.String), text(to.String)}}, nil
}

func depositsPage(ctx context.Context, q sqltx.Querier, f *filter, after []byte, limit int) (lines [][]cell, last []byte, n int, err error) {
	return each(ctx, q, after, `SELECT order_id, activity_id, status, deposit, consumed, supplement, penalty, refunded, penalty_reversed, currency,
 club_id, confirm_deadline, created_at, settled_at, mode FROM deposit_record WHERE order_id > ? AND order_id < ? ORDER BY order_id LIMIT ?`,
		[]any{max16(after, f.low), f.high, limit}, func(scan func(...any) error) ([]byte, [][]cell, error) {
			var id []byte
			var activity, status, deposit, consumed, supplement, penalty, refunded, reversed, currency, club, mode sql.NullString
			var deadline, created time.Time
			var settled sql.NullTime
			err := scan(&id, &activity, &status, &deposit, &consumed, &supplement, &penalty, &refunded, &reversed, &currency, &club, &deadline,
				&created, &settled, &mode)
			if err != nil || mode.String != string(sale.Live) || !f.holds(created) {
				return id, nil, err
			}
			return id, [][]cell{{plain(sale.OrderID(id).String()), text(activity.String), plain(status.String), plain(deposit.String),
				plain(consumed.String), plain(supplement.String), plain(penalty.String), plain(refunded.String), plain(reversed.String),
				plain(currency.String), text(club.String), instant(deadline), instant(created), instantOrNone(settled)}}, nil
		})
}

func differencesPage(ctx context.Context, q sqltx.Querier, f *filter, after []byte, limit int) (lines [][]cell, last []byte, n int, err error) {
	where, args := "difference_id > ?", []any{number(after), limit}
	if f.activityID != "" {
		where, args = "activity_id = ? AND difference_id > ?", []any{f.activityID, number(after), limit}
	}
	return each(ctx, q, after, `SELECT difference_id, activity_id, kind, subject, status, evidence, proposed_action, occurrences, action, note,
 found_at, seen_at, resolved_at FROM difference WHERE `+where+` ORDER BY difference_id LIMIT ?`,
		args, func(scan func(...any) error) ([]byte, [][]cell, error) {
			var id int64
			var activity, kind, subject, status, evidence, proposed, action, note sql.NullString
			var occurrences int
			var found, seen time.Time
			var resolved sql.NullTime
			err := scan(&id, &activity, &kind, &subject, &status, &evidence, &proposed, &occurrences, &action, &note, &found, &seen, &resolved)
			if err != nil || !f.holds(found) {
				return key(id), nil, err
			}
			return key(id), [][]cell{{plain(strconv.FormatInt(id, 10)), text(activity.String), plain(kind.String), text(subject.String),
				plain(status.String), text(evidence.String), plain(proposed.String), plain(strconv.Itoa(occurrences)), plain(action.String),
				text(note.String), instant(found), instant(seen), instantOrNone(resolved)}}, nil
		})
}

// each reads the rows of a page; take gives a row's key and its lines.
func each(ctx context.Context, q sqltx.Querier, after []byte, statement string, args []any,
	take func(scan func(...any) error) ([]byte, [][]cell, error)) (lines [][]cell, last []byte, n int, err error) {
	rows, err := q.QueryContext(ctx, statement, args...)
	if err != nil {
		return nil, nil, 0, fmt.Errorf("export: read: %w", err)
	}
	defer rows.Close()
	last = after
	for rows.Next() {
		key, more, err := take(rows.Scan)
		if err != nil {
			return nil, nil, 0, fmt.Errorf("export: read: %w", err)
		}
		lines, last = append(lines, more...), key
		n++
	}
	if err := rows.Err(); err != nil {
		return nil, nil, 0, fmt.Errorf("export: read: %w", err)
	}
	return lines, last, n, nil
}

// key and number turn the number of a row into the form that all keys are kept in, and back.
func key(id int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(id)) }

func number(key []byte) int64 {
	if len(key) != 8 {
		return 0
	}
	return int64(binary.BigEndian.Uint64(key))
}

func max16(a, b []byte) []byte {
	if string(a) > string(b) {
		return a
	}
	return b
}
