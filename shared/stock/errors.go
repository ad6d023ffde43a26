package stock

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/redis/go-redis/v9"

	"holdfast/shared/sale"
)

// Failures of the store itself, which every method may return.
var (
	// ErrUnavailable: the connection was refused, or Redis refused in words (OOM, READONLY, LOADING, CLUSTERDOWN, MISCONF,
	// BUSY and the like). Nothing happened.
	ErrUnavailable = errors.New("stock: redis is not available; nothing happened")
	// ErrNoAnswer: the call was sent and no answer came in time. It may have taken effect, or may still.
	ErrNoAnswer = errors.New("stock: no answer from redis; the call may still take effect")
	// ErrNotLoaded: the activity's set is absent, incomplete or still being loaded, or one of its keys has another type (WRONGTYPE).
	// Nothing happened. A load is the way out of each.
	ErrNotLoaded = errors.New("stock: the activity is not loaded")
	// ErrBadReply: a script answered what this version does not know, which is a fault of the program or a foreign hand.
	ErrBadReply = errors.New("stock: unknown answer of a script")
)

// Refusals of single methods.
var (
	ErrNotStarted       = errors.New("stock: the sale has not started")
	ErrEnded            = errors.New("stock: the sale has ended")
	ErrSuspended        = errors.New("stock: the sale is suspended")
	ErrClosed           = errors.New("stock: the sale is closed")
	ErrAlreadyReserved  = errors.New("stock: the user holds an order already")
	ErrInsufficient     = errors.New("stock: not enough units left")
	ErrLimit            = errors.New("stock: more than one user may hold")
	ErrReplayDiffers    = errors.New("stock: the order id is taken by another type or quantity")
	ErrNoEntry          = errors.New("stock: the log has no entry of this order id")
	ErrNoFacts          = errors.New("stock: the activity has no facts in redis")
	ErrEpoch            = errors.New("stock: another epoch than the loader's")
	ErrAdjustmentUndone = errors.New("stock: the adjustment has been undone")
	ErrUnknownType      = errors.New("stock: the activity has no such ticket type")
	ErrBadQuantity      = errors.New("stock: a quantity is 1..1000000")
)

// Refusal is why a reservation was not made. Err is one of ErrNotStarted, ErrEnded, ErrSuspended, ErrClosed, ErrAlreadyReserved,
// ErrInsufficient, ErrLimit; the other fields are set as far as they belong to it.
type Refusal struct {
	Err      error
	Now      time.Time    // with NotStarted and Ended: the clock that decided
	OpensAt  time.Time    // with NotStarted
	ClosesAt time.Time    // with Ended
	OrderID  sale.OrderID // with AlreadyReserved: the user's own last order
	Shortage int          // with Insufficient: units missing
	Limit    int          // with Limit: units that one user may hold
	Held     int          // with Limit: units that the user holds
}

// Error gives the sentence of the cause.
func (r *Refusal) Error() string { return r.Err.Error() }

// Unwrap gives the cause, for errors.Is.
func (r *Refusal) Unwrap() error { return r.Err }

// classify turns an error of the client into ErrUnavailable, ErrNotLoaded or ErrNoAnswer. An answer in words ran nothing: scripts fail
// before their first write or not at all. A failed dial sent nothing. Whatever else breaks may have broken after sending.
func classify(err error) error {
	if err == nil {
		return nil
	}
	if redis.HasErrorPrefix(err, "WRONGTYPE") {
		return fmt.Errorf("%w: %w", ErrNotLoaded, err)
	}
	var words redis.Error
	if errors.As(err, &words) {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if errors.Is(err, redis.ErrPoolTimeout) || errors.Is(err, redis.ErrPoolExhausted) || errors.Is(err, redis.ErrClosed) {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return fmt.Errorf("%w: %w", ErrNoAnswer, err)
}

// spent gives ErrUnavailable when the caller's time is over before anything was sent.
func spent(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return nil
}
