package sqltx

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// MaxStatement is how long a statement may be, in bytes with its parameters written in: RDS Proxy pins a session on anything over
// 16 KB, and a pinned session is shared with nobody until it ends.
const MaxStatement = 15 << 10

// In is the list of an IN condition with n parameters: "(?, ?, ?)". n is at least 1.
func In(n int) string {
	return "(?" + strings.Repeat(", ?", n-1) + ")"
}

// Args turns a list into parameters.
func Args[T any](list []T) []any {
	args := make([]any, len(list))
	for i, v := range list {
		args[i] = v
	}
	return args
}

// ExecRows runs head, the rows as "(?, ?), (?, ?)", and tail, as few times as MaxStatement allows; for example
//
//	ExecRows(ctx, tx, "INSERT INTO ticket_type (activity_id, ticket_type) VALUES ", rows, "")
//
// All rows have the same number of values. WriteRows does the same faster, for many rows of known types. It returns the sum of the
// affected rows, and the driver's error of the first statement that failed; the statements before it have been run, so it belongs into
// a transaction. No rows: nothing is run.
func ExecRows(ctx context.Context, q Querier, head string, rows [][]any, tail string) (affected int64, err error) {
	for len(rows) > 0 {
		n, args := 0, []any(nil)
		for size := len(head) + len(tail); n < len(rows); n++ {
			size += rowSize(rows[n])
			if n > 0 && size > MaxStatement {
				break
			}
			args = append(args, rows[n]...)
		}
		row := In(len(rows[0]))
		res, err := q.ExecContext(ctx, head+row+strings.Repeat(", "+row, n-1)+tail, args...)
		if err != nil {
			return affected, err
		}
		changed, err := res.RowsAffected()
		if err != nil {
			return affected, fmt.Errorf("counting rows: %w", err)
		}
		affected += changed
		rows = rows[n:]
	}
	return affected, nil
}

// rowSize bounds the length of a row in the statement's text from above: every byte of a text may need an escape.
func rowSize(row []any) int {
	size := len("(), ")
	for _, v := range row {
		switch v := v.(type) {
		case nil:
			size += len("NULL, ")
		case int, int64:
			size += len("-9223372036854775808, ")
		case time.Time:
			size += len("'2006-01-02 15:04:05.000000', ")
		case string:
			size += 2*len(v) + len("'', ")
		case []byte:
			size += 2*len(v) + len("_binary'', ")
		default: // Booleans, and what the driver turns into numbers or texts; 16-byte ids that know how to be a value.
			size += 48
		}
	}
	return size
}
