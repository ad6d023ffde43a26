package sqltx_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"holdfast/shared/sqltx"
)

// measured runs statements and keeps the length of the longest, as the server saw it.
type measured struct {
	sqltx.Querier
	statements, longest int
}

func (m *measured) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	size := len(query)
	for _, a := range args {
		size += len(fmt.Sprint(a)) + len("''")
	}
	m.statements, m.longest = m.statements+1, max(m.longest, size)
	return m.Querier.ExecContext(ctx, query, args...)
}

func TestManyRowsAreWrittenInStatementsBelowTheLimit(t *testing.T) {
	t.Parallel()
	dsn, look := tally(t)
	must(t, look, `CREATE TABLE long_row (id INT PRIMARY KEY, body VARCHAR(4000) NOT NULL)`)
	db := open(t, dsn)
	var rows [][]any
	for i := range 50 {
		rows = append(rows, []any{i, strings.Repeat("it's ", 200)})
	}
	m := &measured{Querier: db}
	n, err := sqltx.ExecRows(t.Context(), m, `INSERT INTO long_row (id, body) VALUES `, rows, ` ON DUPLICATE KEY UPDATE id = id`)
	if err != nil || n != 50 {
		t.Fatalf("%d rows: %v", n, err)
	}
	if m.longest > sqltx.MaxStatement || m.statements < 4 || m.statements > 10 {
		t.Errorf("%d statements, the longest of %d bytes", m.statements, m.longest)
	}
	if n, err := sqltx.ExecRows(t.Context(), db, `INSERT INTO long_row (id, body) VALUES `, nil, ""); n != 0 || err != nil {
		t.Errorf("no rows: %d, %v", n, err)
	}
}
