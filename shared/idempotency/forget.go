package idempotency

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"holdfast/shared/sqltx"
)

// forget goes by the index of expires_at; a page is small enough to keep nobody waiting.
const forget = `DELETE FROM idempotency WHERE expires_at <= ? ORDER BY expires_at LIMIT ?`

// Forget deletes keys whose life was over at now, those that expired first, at most limit of them, and counts them. It returns the errors
// of sqltx.Run; what was deleted before stays deleted.
func Forget(ctx context.Context, db *sqltx.DB, now time.Time, limit int) (forgotten int, err error) {
	err = db.Run(ctx, func(ctx context.Context, tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, forget, now, limit)
		if err != nil {
			return fmt.Errorf("forgetting keys: %w", err)
		}
		n, err := res.RowsAffected()
		forgotten = int(n)
		return err
	})
	return forgotten, err
}
