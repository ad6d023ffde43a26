package api

import (
	"context"
	"errors"
	"net/http"
	"time"

	"holdfast/shared/catalog"
	"holdfast/shared/fault"
	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
	"holdfast/shared/stock"
)

// suspendActivity answers POST …/suspension: nothing more is sold until resumption; no deadline stops.
func (o *operate) suspendActivity(ctx context.Context, r *Request, by caller) (*Response, error) {
	return o.transition(ctx, r, by, "activity.suspend", sale.Suspended, sale.Published)
}

// resumeActivity answers POST …/resumption.
func (o *operate) resumeActivity(ctx context.Context, r *Request, by caller) (*Response, error) {
	return o.transition(ctx, r, by, "activity.resume", sale.Published, sale.Suspended)
}

// closeActivity answers POST …/closure: the sale is over for good.
func (o *operate) closeActivity(ctx context.Context, r *Request, by caller) (*Response, error) {
	return o.transition(ctx, r, by, "activity.close", sale.Closed, sale.Published, sale.Suspended)
}

// transition takes an activity to a state from one of some others, in MySQL first, and tells the stock store. A state already in
// effect is told again, so that a call whose answer was 503 can be repeated until the store has heard it.
func (o *operate) transition(ctx context.Context, r *Request, by caller, action string, to sale.Status, from ...sale.Status) (*Response, error) {
	a, err := o.become(ctx, r, by, action, to, from...)
	if err != nil {
		return nil, err
	}
	if err := o.applyRules(ctx, a); err != nil {
		return nil, fault.Wrap(fault.StockStoreUnavailable, err,
			"It is recorded, but the stock could not be told yet. Repeat the call; by itself it takes effect within a minute or two.")
	}
	return taggedActivity(http.StatusOK, viewForOperator(a, o.saleClock(ctx)))
}

// become changes the state in MySQL. It returns IllegalTransition when the activity is in none of the states from, nor in to.
func (o *operate) become(ctx context.Context, r *Request, by caller, action string, to sale.Status, from ...sale.Status) (*sale.Activity, error) {
	id, err := pathActivity(r)
	if err != nil {
		return nil, err
	}
	if err := noBody(r); err != nil {
		return nil, err
	}
	a, _, err := o.Catalog.Transition(ctx, id, to, by.entry(action, id, nil), from...)
	return a, err
}

// publishActivity answers POST …/publication: the activity leaves DRAFT and is loaded into the stock store. Of one that is
// published already but not loaded, it loads again; what has been loaded stays as it is.
func (o *operate) publishActivity(ctx context.Context, r *Request, by caller) (*Response, error) {
	a, err := o.become(ctx, r, by, "activity.publish", sale.Published, sale.Draft)
	if err != nil {
		return nil, err
	}
	loaded, err := o.isLoaded(ctx, a)
	if err == nil && !loaded {
		err = o.Reconcile.Load(ctx, a.ID)
	}
	if err != nil {
		return nil, o.notLoaded(ctx, a.ID, err)
	}
	if a, err = catalog.Get(ctx, o.DB, a.ID); err != nil {
		return nil, err
	}
	return taggedActivity(http.StatusOK, viewForOperator(a, o.saleClock(ctx)))
}

// isLoaded says whether the stock store has all of the activity, from the load that MySQL knows as the last one.
func (o *operate) isLoaded(ctx context.Context, a *sale.Activity) (bool, error) {
	facts := a.Facts()
	snapshot, err := o.Stock.Snapshot(ctx, &facts)
	switch {
	case errors.Is(err, stock.ErrNotLoaded):
		return false, nil
	case err != nil:
		return false, err
	case snapshot.State != stock.Open || snapshot.Epoch != a.Epoch:
		return false, nil
	}
	return true, o.applyRules(ctx, a)
}

// notLoaded says that an activity is published and its stock is not there yet. Loading is asked for, so that repair finishes what
// this call could not; asking may fail as well, and then repair finds the sale by itself.
func (o *operate) notLoaded(ctx context.Context, id string, cause error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	cause = errors.Join(cause, o.Reconcile.RequestLoad(ctx, id))
	code := fault.SaleNotReady
	switch {
	case errors.Is(cause, stock.ErrUnavailable), errors.Is(cause, stock.ErrNoAnswer):
		code = fault.StockStoreUnavailable
	case sqltx.Unavailable(cause):
		code = fault.OrderStoreUnavailable
	}
	return fault.Wrap(code, cause,
		"The activity is published, but its stock is not loaded yet. Repeat the call; by itself it is loaded within a minute or two.")
}
