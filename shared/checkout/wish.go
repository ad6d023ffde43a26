package checkout

import (
	"context"
	"database/sql"
	"time"

	"holdfast/shared/idempotency"
	"holdfast/shared/order"
)

// Wish is an Idempotency-Key that is kept in the transaction of its effect, with the answer: a call that dies leaves both or neither.
// A nil Wish is a call without key.
type Wish struct {
	Key  idempotency.Key
	Hash idempotency.BodyHash
	// Answer writes what the call is answered with, by the order as the transaction leaves it, seen through it.
	Answer func(ctx context.Context, tx *sql.Tx, o *order.Order, now time.Time) (idempotency.Answer, error)

	// Kept is set by the use case when the key was answered before: it changed nothing then, and this is the answer. The order that
	// it returns is as it stands now.
	Kept *idempotency.Answer
}

// begin claims the key, as the first thing that the transaction locks, and says whether it was answered before. It returns
// idempotency.ErrReused, as a fault, for a key that came with another body.
func (w *Wish) begin(ctx context.Context, tx *sql.Tx, now time.Time) (answered bool, err error) {
	if w == nil {
		return false, nil
	}
	w.Kept, err = idempotency.Begin(ctx, tx, w.Key, w.Hash, now)
	return w.Kept != nil, err
}

// finish keeps the answer, as the last thing that the transaction does.
func (w *Wish) finish(ctx context.Context, tx *sql.Tx, o *order.Order, now time.Time) error {
	if w == nil {
		return nil
	}
	answer, err := w.Answer(ctx, tx, o, now)
	if err != nil {
		return err
	}
	return idempotency.Finish(ctx, tx, w.Key, answer)
}
