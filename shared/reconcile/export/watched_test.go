package export

import (
	"context"

	"holdfast/shared/sqltx"
)

// Watched is the ledger, whose pages can be watched.
const Watched Kind = "watched"

type watchKey struct{}

// Watch has look called before each page of Watched that is read under the context.
func Watch(ctx context.Context, look func()) context.Context {
	return context.WithValue(ctx, watchKey{}, look)
}

func init() {
	columns[Watched] = columns[Ledger]
	pages[Watched] = func(ctx context.Context, q sqltx.Querier, f *filter, after []byte, limit int) ([][]cell, []byte, int, error) {
		if look, watched := ctx.Value(watchKey{}).(func()); watched {
			look()
		}
		return ledgerPage(ctx, q, f, after, limit)
	}
}
