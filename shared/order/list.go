package order

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"strings"
	"time"

	"holdfast/shared/catalog"
	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
)

// ErrBadCursor is returned for a cursor that List did not make.
var ErrBadCursor = errors.New("order: bad cursor")

// Filter says which orders a list holds; an empty member filters nothing.
type Filter struct {
	UserID     string
	ActivityID string
	Status     Status
	Reference  string
}

// List pages through orders, newest first: a user's by the instant of reserving, otherwise by id, which puts the activities with
// the latest opening first and one activity's orders in no particular order. cursor is "" at first, then next of the page before;
// next is "" at the end. It returns ErrBadCursor for any other text.
func List(ctx context.Context, q sqltx.Querier, f Filter, cursor string, limit int) (items []Order, next string, err error) {
	where, args := f.conditions()
	byTime := f.UserID != ""
	if !byTime && f.ActivityID != "" {
		a, err := catalog.Get(ctx, q, f.ActivityID)
		if errors.Is(err, catalog.ErrNotFound) {
			return nil, "", nil
		}
		if err != nil {
			return nil, "", err
		}
		// The ids of one activity are one range of the primary key.
		low, high := boundary(a.Number), boundary(a.Number+1)
		where, args = append(where, "id > ?", "id < ?"), append(args, low[:], high[:])
	}
	at, after, err := readCursor(cursor)
	if err != nil {
		return nil, "", err
	}
	if cursor != "" && byTime {
		where, args = append(where, "reserved_at <= ? AND (reserved_at < ? OR id < ?)"), append(args, at, at, after[:])
	} else if cursor != "" {
		where, args = append(where, "id < ?"), append(args, after[:])
	}
	statement := `SELECT ` + columns + ` FROM trade_order`
	if len(where) > 0 {
		statement += ` WHERE ` + strings.Join(where, " AND ")
	}
	if byTime {
		statement += ` ORDER BY reserved_at DESC, id DESC LIMIT ?`
	} else {
		statement += ` ORDER BY id DESC LIMIT ?`
	}
	items, err = query(ctx, q, statement, append(args, limit+1)...)
	if err != nil || len(items) <= limit {
		return items, "", err
	}
	items = items[:limit]
	last := items[limit-1]
	return items, writeCursor(last.ReservedAt, last.ID), nil
}

func (f Filter) conditions() (where []string, args []any) {
	add := func(column, value string) {
		if value != "" {
			where, args = append(where, column+" = ?"), append(args, value)
		}
	}
	add("user_id", f.UserID)
	add("activity_id", f.ActivityID)
	add("status", string(f.Status))
	add("reference", f.Reference)
	return where, args
}

func writeCursor(at time.Time, id sale.OrderID) string {
	var b [24]byte
	binary.BigEndian.PutUint64(b[:8], uint64(at.UnixMilli()))
	copy(b[8:], id[:])
	return base64.RawURLEncoding.EncodeToString(b[:])
}

func readCursor(s string) (time.Time, sale.OrderID, error) {
	if s == "" {
		return time.Time{}, sale.OrderID{}, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || len(b) != 24 {
		return time.Time{}, sale.OrderID{}, ErrBadCursor
	}
	ms := binary.BigEndian.Uint64(b[:8])
	if ms > 1<<48 { // far beyond what DATETIME can hold
		return time.Time{}, sale.OrderID{}, ErrBadCursor
	}
	return time.UnixMilli(int64(ms)).UTC(), sale.OrderID(b[8:]), nil
}
