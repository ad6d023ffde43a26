package sqltx

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// Scanner is the row that a scan function reads: one of many, or the only one.
type Scanner interface {
	Scan(dest ...any) error
}

// Collect reads all rows of a query, each by scan, in the order that the query gives them; none is nil. It is for queries that bound what
// they give, by a LIMIT or a list of ids. It returns the errors of the driver and of scan.
func Collect[T any](ctx context.Context, q Querier, scan func(row Scanner) (T, error), statement string, args ...any) ([]T, error) {
	rows, err := q.QueryContext(ctx, statement, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []T
	for rows.Next() {
		one, err := scan(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, rows.Err()
}

// One reads the one row of a query by scan. It returns missing when there is none, and the errors of scan.
func One[T any](row *sql.Row, scan func(row Scanner) (T, error), missing error) (*T, error) {
	one, err := scan(row)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, missing
	}
	if err != nil {
		return nil, err
	}
	return &one, nil
}

// Column scans a row of one column.
func Column[T any](row Scanner) (value T, err error) {
	err = row.Scan(&value)
	return value, err
}

// Instant is an instant that may be NULL; nil for that.
func Instant(t sql.NullTime) *time.Time {
	if !t.Valid {
		return nil
	}
	return &t.Time
}
