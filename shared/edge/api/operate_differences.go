package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"holdfast/shared/fault"
	"holdfast/shared/reconcile"
)

// differenceView is a difference as operators see it.
type differenceView struct {
	DifferenceID   string                     `json:"differenceId"`
	Revision       int64                      `json:"revision"`
	ETag           string                     `json:"etag"`
	ActivityID     string                     `json:"activityId,omitempty"`
	Kind           reconcile.DifferenceKind   `json:"kind"`
	Subject        string                     `json:"subject"`
	Status         reconcile.DifferenceStatus `json:"status"`
	Evidence       json.RawMessage            `json:"evidence"`
	ProposedAction reconcile.Action           `json:"proposedAction"`
	Actions        []reconcile.Action         `json:"actions"`
	Occurrences    int                        `json:"occurrences"`
	FoundAt        string                     `json:"foundAt"`
	SeenAt         string                     `json:"seenAt"`
	ResolvedAt     string                     `json:"resolvedAt,omitempty"`
	Action         reconcile.Action           `json:"action,omitempty"`
	Note           string                     `json:"note,omitempty"`
	Inverse        json.RawMessage            `json:"inverse,omitempty"`
	Operator       string                     `json:"operator,omitempty"`
}

func viewDifference(d reconcile.Difference) differenceView {
	return differenceView{DifferenceID: strconv.FormatInt(d.ID, 10), Revision: d.Revision, ETag: revisionTag(d.Revision),
		ActivityID: d.ActivityID, Kind: d.Kind, Subject: d.Subject, Status: d.Status, Evidence: d.Evidence, ProposedAction: d.Proposed,
		Actions: d.Kind.Actions(), Occurrences: d.Occurrences, FoundAt: stamp(d.FoundAt), SeenAt: stamp(d.SeenAt),
		ResolvedAt: optStamp(d.ResolvedAt), Action: d.Action, Note: d.Note, Inverse: d.Inverse, Operator: d.Operator}
}

// listDifferences answers GET /ops/v1/differences. Each item carries the entity tag that its resolution must bring.
func (o *operate) listDifferences(ctx context.Context, r *Request, _ caller) (*Response, error) {
	q := r.Query()
	filter := reconcile.DifferenceFilter{ActivityID: q.Text("activityId"), Status: reconcile.DifferenceStatus(q.OneOf("status",
		string(reconcile.DifferenceOpen), string(reconcile.DifferenceResolved), string(reconcile.DifferenceGone)))}
	return numbered(q,
		func(before int64, limit int) ([]reconcile.Difference, error) {
			return reconcile.ListDifferences(ctx, o.DB, filter, before, limit)
		},
		func(d reconcile.Difference) int64 { return d.ID },
		viewDifference)
}

// resolveDifference answers POST /ops/v1/differences/{differenceId}/resolution.
func (o *operate) resolveDifference(ctx context.Context, r *Request, by caller) (*Response, error) {
	id, err := strconv.ParseInt(r.Param("differenceId"), 10, 64)
	if err != nil {
		return nil, reconcile.ErrDifferenceNotFound
	}
	revision, err := r.ifMatch()
	if err != nil {
		return nil, err
	}
	f, err := r.Fields()
	if err != nil {
		return nil, err
	}
	w := reconcile.Resolution{ID: id, Revision: revision, Action: reconcile.Action(f.Text("action", 1, 32)), Note: f.Text("note", 1, maxReason),
		Entry: by.entry("difference.resolve", "difference "+strconv.FormatInt(id, 10), nil)}
	if err := f.Finish(); err != nil {
		return nil, err
	}
	d, err := o.Reconcile.Resolve(ctx, w)
	switch {
	case errors.Is(err, reconcile.ErrActionUnfit):
		f.Break("action", "NOT_ALLOWED", "one of the difference's actions")
		return nil, f.Finish()
	case errors.Is(err, reconcile.ErrActionImpossible):
		return nil, fault.Wrap(fault.ActionNotPossible, err, strings.TrimPrefix(err.Error(), reconcile.ErrActionImpossible.Error()+": ")+".")
	case err != nil:
		return nil, err
	}
	response, err := JSON(http.StatusOK, viewDifference(d))
	if err == nil {
		response.Header["ETag"] = revisionTag(d.Revision)
	}
	return response, err
}
