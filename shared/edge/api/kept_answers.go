package api

import (
	"context"
	"database/sql"
	"errors"

	"holdfast/shared/idempotency"
	"holdfast/shared/sqltx"
)

// keptAnswers remembers what keys were answered with, for calls whose effect is a transaction of its own because it reaches into the
// stock store as well. A call that dies between effect and memory runs again under its key, so this is for calls that are
// idempotent by an id or a state anyway.
type keptAnswers struct{ db *sqltx.DB }

// errOnlyLooked ends a transaction that was to change nothing.
var errOnlyLooked = errors.New("api: only looked")

// find gives the answer that the key has had, or nil. It returns IdempotencyKeyReused when that was to another body. It leaves no
// claim behind: a call that is refused is not remembered.
func (k keptAnswers) find(ctx context.Context, key idempotency.Key, hash idempotency.BodyHash) (before *idempotency.Answer, err error) {
	err = k.db.Run(ctx, func(ctx context.Context, tx *sql.Tx) error {
		now, err := k.db.Now(ctx, tx)
		if err != nil {
			return err
		}
		if before, err = idempotency.Begin(ctx, tx, key, hash, now); err != nil {
			return err
		}
		return errOnlyLooked
	})
	if errors.Is(err, errOnlyLooked) {
		err = nil
	}
	return before, err
}

// keep remembers an answer, unless somebody who did the same at the same time was first.
func (k keptAnswers) keep(ctx context.Context, key idempotency.Key, hash idempotency.BodyHash, answer *Response) error {
	return k.db.Run(ctx, func(ctx context.Context, tx *sql.Tx) error {
		now, err := k.db.Now(ctx, tx)
		if err != nil {
			return err
		}
		before, err := idempotency.Begin(ctx, tx, key, hash, now)
		if err != nil || before != nil {
			return err
		}
		return idempotency.Finish(ctx, tx, key, idempotency.Answer{Status: answer.Status, Body: answer.Body})
	})
}
