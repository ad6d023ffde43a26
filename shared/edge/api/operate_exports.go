package api

import (
	"context"

	"holdfast/shared/reconcile/export"
)

// startExport answers POST /ops/v1/exports: a job, whose result leads to the file.
func (o *operate) startExport(ctx context.Context, r *Request, by caller) (*Response, error) {
	f, err := r.Fields()
	if err != nil {
		return nil, err
	}
	kinds := export.Kinds()
	words := make([]string, len(kinds))
	for i, kind := range kinds {
		words[i] = string(kind)
	}
	w := export.Wish{Kind: export.Kind(f.OneOf("kind", words...)), From: f.OptTime("from"), To: f.OptTime("to")}
	if f.Has("activityId") {
		w.ActivityID = readID(f, "activityId")
	}
	if w.From != nil && w.To != nil && !w.From.Before(*w.To) {
		f.Break("to", "OUT_OF_RANGE", "after from")
	}
	if err := f.Finish(); err != nil {
		return nil, err
	}
	subject := w.ActivityID
	if subject == "" {
		subject = "all activities"
	}
	j, err := export.Request(ctx, o.DB, w, by.entry("export.start", subject, map[string]any{"kind": w.Kind, "from": w.From, "to": w.To}))
	if err != nil {
		return nil, err
	}
	return acceptedJob(j)
}
