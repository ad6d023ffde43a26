package idempotency

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"holdfast/shared/fault"
)

// Life is how long a key is kept at least.
const Life = 30 * 24 * time.Hour

// ErrReused is the cause of the refusal of a key that came before with another body; its fault code is IDEMPOTENCY_KEY_REUSED.
var ErrReused = errors.New("idempotency: the key came before with another body")

// errNotBegun means that a caller keeps an answer for a key that it has not claimed: a mistake in the code.
var errNotBegun = errors.New("idempotency: the key was not begun in this transaction")

// Key names one wish of one user.
type Key struct {
	User  string // the verified claim
	Route string // method and path with its ids, "POST /v1/orders/<orderId>/cancellation"; at most 255 bytes
	Key   string // the Idempotency-Key, 1..255 bytes
}

// BodyHash is the fingerprint by which bodies are compared.
type BodyHash [sha256.Size]byte

// Answer is what the first request was answered with.
type Answer struct {
	Status int // 200..299
	Body   []byte
}

// Hash fingerprints a body as JSON: white space and the order of members do not count. A body that is no JSON counts byte by byte.
func Hash(body []byte) BodyHash {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber() // A float64 would make large numbers equal that are not.
	var value any
	if decoder.Decode(&value) == nil && !decoder.More() {
		if canonical, err := json.Marshal(value); err == nil {
			return sha256.Sum256(canonical)
		}
	}
	return sha256.Sum256(body)
}

const (
	claim = `INSERT INTO idempotency (user_id, route, idempotency_key, body_hash, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?)
		ON DUPLICATE KEY UPDATE user_id = user_id`
	find = `SELECT body_hash, status, answer, expires_at FROM idempotency
		WHERE user_id = ? AND route = ? AND idempotency_key = ? FOR UPDATE`
	renew = `UPDATE idempotency SET body_hash = ?, status = NULL, answer = NULL, created_at = ?, expires_at = ?
		WHERE user_id = ? AND route = ? AND idempotency_key = ?`
	keep = `UPDATE idempotency SET status = ?, answer = ? WHERE user_id = ? AND route = ? AND idempotency_key = ?`
)

// Begin claims the key for this transaction and returns nil: the caller brings the effect about and calls Finish. If the key was
// finished before with the same body, it returns the answer that was kept, and the caller changes nothing. While another transaction
// works on the key, Begin waits for it. now is the instant by the clock of the database.
//
// It returns ErrReused, as a fault, for a key that came with another body, and the errors of the driver.
func Begin(ctx context.Context, tx *sql.Tx, k Key, hash BodyHash, now time.Time) (*Answer, error) {
	expires := now.Add(Life)
	if _, err := tx.ExecContext(ctx, claim, k.User, k.Route, k.Key, hash[:], now, expires); err != nil {
		return nil, fmt.Errorf("claiming an idempotency key: %w", err)
	}
	var (
		kept    []byte
		status  sql.NullInt32
		answer  []byte
		expired time.Time
	)
	if err := tx.QueryRowContext(ctx, find, k.User, k.Route, k.Key).Scan(&kept, &status, &answer, &expired); err != nil {
		return nil, fmt.Errorf("reading an idempotency key: %w", err)
	}
	if !now.Before(expired) {
		if _, err := tx.ExecContext(ctx, renew, hash[:], now, expires, k.User, k.Route, k.Key); err != nil {
			return nil, fmt.Errorf("renewing an idempotency key: %w", err)
		}
		return nil, nil
	}
	if !bytes.Equal(kept, hash[:]) {
		return nil, fault.Wrap(fault.IdempotencyKeyReused, ErrReused, "this Idempotency-Key came before with another body; a new wish needs a new key")
	}
	if !status.Valid {
		return nil, nil // Claimed by the statement above.
	}
	return &Answer{Status: int(status.Int32), Body: answer}, nil
}

// Finish keeps the answer of a key that Begin has claimed in this transaction. It returns the errors of the driver; the database
// refuses a status outside 200..299.
func Finish(ctx context.Context, tx *sql.Tx, k Key, a Answer) error {
	body := a.Body
	if body == nil {
		body = []byte{} // An empty answer is an answer; NULL would be none.
	}
	res, err := tx.ExecContext(ctx, keep, a.Status, body, k.User, k.Route, k.Key)
	if err != nil {
		return fmt.Errorf("keeping an answer: %w", err)
	}
	if n, err := res.RowsAffected(); err != nil || n != 1 {
		return errors.Join(errNotBegun, err)
	}
	return nil
}
