package notice

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"math"

	"holdfast/shared/sqltx"
)

// ErrBadCursor is returned for a cursor that List did not make.
var ErrBadCursor = errors.New("notice: bad cursor")

// List pages through a user's notices, newest first, without those that were given up. cursor is "" at first, then next of the page
// before; next is "" at the end. It returns ErrBadCursor for any other text, and the errors of the driver.
func List(ctx context.Context, q sqltx.Querier, userID, cursor string, limit int) (items []Stored, next string, err error) {
	before, err := readCursor(cursor)
	if err != nil {
		return nil, "", err
	}
	items, err = query(ctx, q, `SELECT `+columns+` FROM notice WHERE user_id = ? AND notice_id < ? AND status <> 'SKIPPED'
 ORDER BY notice_id DESC LIMIT ?`, userID, before, limit+1)
	if err != nil || len(items) <= limit {
		return items, "", err
	}
	items = items[:limit]
	return items, writeCursor(items[limit-1].ID), nil
}

func writeCursor(id int64) string {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(id))
	return base64.RawURLEncoding.EncodeToString(b[:])
}

func readCursor(s string) (int64, error) {
	if s == "" {
		return math.MaxInt64, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || len(b) != 8 {
		return 0, ErrBadCursor
	}
	id := binary.BigEndian.Uint64(b)
	if id > math.MaxInt64 {
		return 0, ErrBadCursor
	}
	return int64(id), nil
}
