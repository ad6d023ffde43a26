package api

import (
	"context"

	"holdfast/shared/edge"
	"holdfast/shared/idempotency"
)

// maxRoute is how long a route with its ids may be that keys are kept for; no path of a real activity or order is longer.
const maxRoute = 255

// once lets a call be repeated under an Idempotency-Key, which operators may leave out: the second time it answers what the first
// answered and changes nothing. Only what succeeded is remembered. The effect and the memory of it are two transactions, since
// the effect reaches into the stock store: a call that dies between them runs again, and each of these calls is idempotent by
// its own id or state anyway.
func (o *operate) once(call operation) operation {
	return func(ctx context.Context, r *Request, by caller) (*Response, error) {
		text, err := r.optionalKey()
		if err != nil {
			return nil, err
		}
		key := idempotency.Key{User: by.id, Route: r.Method + " " + opsPath(r), Key: text}
		if text == "" || len(key.Route) > maxRoute {
			return call(ctx, r, by)
		}
		hash := idempotency.Hash(r.Body)
		before, err := keptAnswers{o.DB}.find(ctx, key, hash)
		if err != nil {
			return nil, err
		}
		if before != nil {
			return replay(before), nil
		}
		response, err := call(ctx, r, by)
		if err != nil {
			return nil, err
		}
		if err := (keptAnswers{o.DB}).keep(ctx, key, hash, response); err != nil {
			o.Log.WarnContext(ctx, "an idempotency key was not kept", "requestId", r.ID, "error", edge.Loggable(err))
		}
		return response, nil
	}
}

// replay is a kept answer, said again.
func replay(a *idempotency.Answer) *Response {
	return &Response{Status: a.Status, Body: a.Body, Header: map[string]string{
		"Content-Type": "application/json", "Cache-Control": "no-store", "Idempotency-Replayed": "true"}}
}
