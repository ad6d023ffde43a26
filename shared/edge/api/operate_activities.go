package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"holdfast/shared/audit"
	"holdfast/shared/catalog"
	"holdfast/shared/edge"
	"holdfast/shared/sale"
	"holdfast/shared/stock"
)

// entry is the audit row of an act of this caller. detail must be of a kind that always encodes; nil says nothing.
func (by caller) entry(action, subject string, detail map[string]any) audit.Entry {
	e := audit.Entry{Operator: by.id, Action: action, Subject: subject, RequestID: by.requestID}
	if detail != nil {
		text, err := json.Marshal(detail)
		if err != nil {
			panic("api: audit detail: " + err.Error())
		}
		e.Detail = text
	}
	return e
}

// createActivity answers POST /ops/v1/activities: a DRAFT, or the one that the same body has made before.
func (o *operate) createActivity(ctx context.Context, r *Request, by caller) (*Response, error) {
	f, err := r.Fields()
	if err != nil {
		return nil, err
	}
	a := sale.Activity{ID: readID(f, "activityId"), Mode: sale.Live, Status: sale.Draft}
	if mode := f.OptOneOf("mode", string(sale.Live), string(sale.Test)); mode != nil {
		a.Mode = sale.Mode(*mode)
	}
	in := readActivityFields(f, true)
	in.apply(&a)
	checkActivity(&a, f.note)
	if err := f.Finish(); err != nil {
		return nil, err
	}
	made, created, err := o.Catalog.Create(ctx, a, by.entry("activity.create", a.ID, nil))
	if err != nil {
		return nil, err
	}
	return taggedActivity(statusOr(created), viewForOperator(made, time.Time{}))
}

// note lets rules between fields add to the body's violations.
func (f *Fields) note(pointer, code, message string) { f.report.add(false, pointer, code, message) }

// listActivities answers GET /ops/v1/activities, drafts too.
func (o *operate) listActivities(ctx context.Context, r *Request, _ caller) (*Response, error) {
	q := r.Query()
	limit, cursor := q.Limit(), q.Text("cursor")
	if err := q.Finish(); err != nil {
		return nil, err
	}
	activities, next, err := catalog.List(ctx, o.DB, catalog.ListFilter{Drafts: true}, cursor, limit)
	if errors.Is(err, catalog.ErrBadCursor) {
		return nil, badCursor(q)
	}
	if err != nil {
		return nil, err
	}
	now := o.saleClock(ctx)
	views := make([]operatorActivity, len(activities))
	for i := range activities {
		views[i] = viewForOperator(&activities[i], now)
	}
	return JSON(http.StatusOK, page[operatorActivity]{views, next})
}

// getActivity answers GET /ops/v1/activities/{activityId}.
func (o *operate) getActivity(ctx context.Context, r *Request, _ caller) (*Response, error) {
	id, err := pathActivity(r)
	if err != nil {
		return nil, err
	}
	a, err := catalog.Get(ctx, o.DB, id)
	if err != nil {
		return nil, err
	}
	return taggedActivity(http.StatusOK, viewForOperator(a, o.saleClock(ctx)))
}

// saleClock is the clock that decides about windows, or zero while it cannot be read: operators see their sales all the same.
func (o *operate) saleClock(ctx context.Context) time.Time {
	now, err := o.Stock.Now(ctx)
	if err != nil {
		return time.Time{}
	}
	return now
}

// changeActivity answers PATCH /ops/v1/activities/{activityId}. MySQL decides; the stock store is told after. If it cannot be told,
// the change stands all the same and is told again by repair, so the answer is 200 and says rulesApplied false: a 503 would ask
// for a retry that If-Match must refuse.
func (o *operate) changeActivity(ctx context.Context, r *Request, by caller) (*Response, error) {
	id, err := pathActivity(r)
	if err != nil {
		return nil, err
	}
	revision, err := r.ifMatch()
	if err != nil {
		return nil, err
	}
	f, err := r.Fields()
	if err != nil {
		return nil, err
	}
	in := readActivityFields(f, false)
	mode := f.OptOneOf("mode", string(sale.Live), string(sale.Test))
	if sent := f.OptString("activityId"); sent != nil && *sent != id {
		f.Break("activityId", "NOT_CHANGEABLE", "an activity keeps its id")
	}
	if len(f.names) == 0 {
		f.BreakWhole("EMPTY", "name at least one field to change")
	}
	if err := f.Finish(); err != nil {
		return nil, err
	}
	a, err := o.Catalog.Change(ctx, id, revision, func(a *sale.Activity) error {
		if mode != nil {
			a.Mode = sale.Mode(*mode)
		}
		in.apply(a)
		broken := &report{}
		checkActivity(a, func(pointer, code, message string) { broken.add(false, pointer, code, message) })
		return broken.err()
	}, by.entry("activity.change", id, nil))
	if err != nil {
		return nil, err
	}
	v := viewForOperator(a, o.saleClock(ctx))
	applied := true
	if a.Status != sale.Draft {
		if err := o.applyRules(ctx, a); err != nil {
			applied = false
			o.Log.WarnContext(ctx, "the stock was not told of new rules", "requestId", r.ID, "error", edge.Loggable(err))
		}
	}
	v.RulesApplied = &applied
	return taggedActivity(http.StatusOK, v)
}

// applyRules tells the stock store the rules that MySQL has. A store that has not loaded the activity is no failure: whoever loads
// it reads them. It returns the failures of the store.
func (o *operate) applyRules(ctx context.Context, a *sale.Activity) error {
	_, err := o.Stock.ChangeRules(ctx, a.ID, a.Rules())
	if errors.Is(err, stock.ErrNotLoaded) {
		return nil
	}
	return err
}
