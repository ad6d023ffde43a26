package api

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"time"

	"holdfast/shared/edge"
	"holdfast/shared/fault"
	"holdfast/shared/order"
	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
	"holdfast/shared/stock"
)

// orders reads single orders wherever they stand: in the cache, as a row, or only as a reservation in the log.
type orders struct {
	d     edge.Deps
	facts *facts
}

// found is an order and the instant at which it stood so, by a clock that decides.
type found struct {
	order *order.Order
	now   time.Time
}

// find reads an order. It returns order.ErrNotFound only when both stores say that they do not know it, and the error of a store
// when that one could not be asked and the other cannot answer in its place.
func (o *orders) find(ctx context.Context, f *sale.Facts, id sale.OrderID) (found, error) {
	if cached, err := o.cached(ctx, f.ActivityID, id); err == nil {
		return cached, nil
	}
	row, rowErr := o.row(ctx, id)
	if rowErr == nil || !errors.Is(rowErr, order.ErrNotFound) && !sqltx.Unavailable(rowErr) {
		return row, rowErr
	}
	entry, now, err := o.entry(ctx, f.ActivityID, id)
	switch {
	case errors.Is(err, stock.ErrNoEntry):
		return found{}, rowErr
	case err != nil:
		return found{}, err
	case entry.Standing == stock.Taken || entry.Standing == stock.Pending:
		return found{reservedOrder(f, entry.Reservation), now}, nil
	case errors.Is(rowErr, order.ErrNotFound): // it was written while Redis was asked
		return o.written(ctx, id)
	case entry.Standing == stock.Dead && entry.HasTaken: // final, so the log is as good as the row
		return found{deadOrder(f, entry.Reservation, entry.Reason), now}, nil
	}
	return found{}, rowErr
}

// unwritten finds a user's order that a call found no row of: a reservation, so far. It returns order.ErrNotFound for an id that nobody
// knows and for what is another's.
func (o *orders) unwritten(ctx context.Context, id sale.OrderID, userID string) (*order.Order, error) {
	f, err := o.facts.ofOrder(ctx, id)
	if err != nil {
		return nil, err
	}
	it, err := o.find(ctx, f, id)
	if err != nil {
		return nil, err
	}
	if it.order.UserID != userID {
		return nil, order.ErrNotFound
	}
	return it.order, nil
}

var errNotCached = errors.New("api: the order is not cached")

// cached reads an order from the cache; any error means: look elsewhere.
func (o *orders) cached(ctx context.Context, activityID string, id sale.OrderID) (found, error) {
	ctx, cancel := context.WithTimeout(ctx, stockBudget)
	defer cancel()
	text, hit, err := o.d.Stock.CachedOrder(ctx, activityID, id)
	if err != nil {
		return found{}, err
	}
	if !hit {
		return found{}, errNotCached
	}
	var cached order.Order
	if err := json.Unmarshal(text, &cached); err != nil {
		return found{}, err
	}
	now, err := o.d.Stock.Now(ctx)
	return found{&cached, now}, err
}

// whole writes a found order with all that belongs to its money, which MySQL alone has. While that cannot be asked, the order is told
// without, which complete says: what it costs and where it stands is in the order itself. One that may be being paid is then to be asked
// for again, since nobody knows whether it is.
func (o *orders) whole(ctx context.Context, it found) (v orderView, complete bool) {
	ctx, cancel := context.WithTimeout(ctx, rowBudget)
	defer cancel()
	v, err := viewWhole(ctx, o.d.DB, it.order, it.now)
	if err != nil {
		o.d.Log.WarnContext(ctx, "an order is told without its payment", "orderId", it.order.ID, "error", edge.Loggable(err))
		if it.order.Status == order.Unpaid {
			v.PollAfterMs = (pollExpired + rand.N(pollExpired)).Milliseconds()
		}
	}
	return v, err == nil
}

// row reads an order from MySQL. It returns order.ErrNotFound without one.
func (o *orders) row(ctx context.Context, id sale.OrderID) (found, error) {
	ctx, cancel := context.WithTimeout(ctx, rowBudget)
	defer cancel()
	row, err := order.Get(ctx, o.d.DB, id)
	if err != nil {
		return found{}, err
	}
	now, err := o.d.DB.Now(ctx, o.d.DB)
	return found{row, now}, err
}

// written reads the row of an order that Redis knows to be written. One that is missing still is a fault of a store, not of the
// caller.
func (o *orders) written(ctx context.Context, id sale.OrderID) (found, error) {
	row, err := o.row(ctx, id)
	if errors.Is(err, order.ErrNotFound) {
		return found{}, fault.Wrap(fault.OrderStoreUnavailable, errRowLost, "The order is known but cannot be read at the moment.")
	}
	return row, err
}

var errRowLost = errors.New("api: redis has the order as written, mysql has no row")

// entry reads the reservation from the log.
func (o *orders) entry(ctx context.Context, activityID string, id sale.OrderID) (stock.Entry, time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, stockBudget)
	defer cancel()
	entry, err := o.d.Stock.Entry(ctx, activityID, id)
	if err != nil {
		return stock.Entry{}, time.Time{}, err
	}
	now, err := o.d.Stock.Now(ctx)
	return entry, now, err
}
