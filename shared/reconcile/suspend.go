package reconcile

import (
	"context"
	"encoding/json"

	"holdfast/shared/alert"
	"holdfast/shared/audit"
	"holdfast/shared/sale"
)

// functionName stands for an operator in the audit log where a run did something by itself.
const functionName = "reconcile-stock"

// suspend stops the sale because MySQL contradicts itself: nobody knows what is left to sell. It is the one thing that a run does to a
// sale, it is done once per contradiction, and a person takes it back.
func (p *pass) suspend(ctx context.Context) error {
	if err := p.x.mended(ctx, []Mended{{Kind: MendSuspend, ActivityID: p.a.ID}}); err != nil || p.x.run.Mode == DryRun {
		return err
	}
	why := map[string]any{"run": p.x.run.ID, "why": "the database contradicts itself"}
	detail, err := json.Marshal(why)
	if err != nil {
		return err
	}
	_, changed, err := p.r.catalog.Transition(ctx, p.a.ID, sale.Suspended, audit.Entry{Operator: functionName, Action: "activity.suspend",
		Subject: p.a.ID, RequestID: p.x.run.ID, Detail: detail}, sale.Published)
	if err != nil || !changed {
		return err
	}
	if err := p.r.ApplyRules(ctx, p.a.ID); err != nil { // the minute pass tells Redis again
		p.r.log.Error("a suspended sale goes on in redis until the next pass", "activityId", p.a.ID, "error", err)
	}
	now, err := p.r.db.Now(ctx, p.r.db)
	if err != nil {
		return err
	}
	return alert.Raise(ctx, p.r.db, alert.Alert{Kind: alertSuspended, Subject: p.a.ID, ActivityID: p.a.ID, Evidence: why}, now)
}
