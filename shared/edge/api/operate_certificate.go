package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"holdfast/shared/catalog"
	"holdfast/shared/fault"
	"holdfast/shared/reconcile"
	"holdfast/shared/reconcile/certificate"
	"holdfast/shared/reconcile/invariant"
	"holdfast/shared/sale"
	"holdfast/shared/stock"
)

// What a certificate may take within a request: so long, and so many orders, which must fit into the function's memory, too. What takes
// more becomes a job.
const (
	certifyBudget = 20 * time.Second
	certifyOrders = 200_000
)

// readCertificate answers GET …/certificate: a new one, or with ?latest=true the one that was made last.
func (o *operate) readCertificate(ctx context.Context, r *Request, by caller) (*Response, error) {
	id, err := pathActivity(r)
	if err != nil {
		return nil, err
	}
	q := r.Query()
	latest := q.OneOf("latest", "true", "false") == "true"
	if err := q.Finish(); err != nil {
		return nil, err
	}
	a, err := catalog.Get(ctx, o.DB, id)
	if err != nil {
		return nil, err
	}
	if latest {
		kept, err := certificate.Latest(ctx, o.DB, id)
		if err != nil {
			return nil, err
		}
		return JSON(http.StatusOK, kept)
	}
	if a.Status == sale.Draft {
		return nil, fault.New(fault.IllegalTransition, "A DRAFT was never on sale; there is nothing to certify.")
	}
	j, err := certificate.Active(ctx, o.DB, id)
	if err == nil {
		return acceptedJob(j)
	}
	if !errors.Is(err, reconcile.ErrNoJob) {
		return nil, err
	}
	return o.certify(ctx, a, by)
}

// certify makes a certificate, or a job when that would take too long. A set that is not loaded is asked to be, so that the next try finds
// it: for a sale that is over nobody else does.
func (o *operate) certify(ctx context.Context, a *sale.Activity, by caller) (*Response, error) {
	orders, err := certificate.Orders(ctx, o.DB, a.ID)
	if err != nil {
		return nil, err
	}
	if orders <= certifyOrders {
		within, cancel := context.WithTimeout(ctx, o.certifyBudget)
		defer cancel()
		c, err := certificate.Make(within, o.DB, o.Stock, a.ID)
		if err == nil {
			if err := certificate.Keep(ctx, o.DB, c); err != nil {
				return nil, err
			}
			return JSON(http.StatusOK, c)
		}
		if errors.Is(err, invariant.ErrNotChecked) {
			return nil, errors.Join(err, o.Reconcile.RequestLoad(ctx, a.ID))
		}
		if within.Err() == nil || ctx.Err() != nil {
			return nil, err
		}
	}
	if err := o.requestSet(ctx, a); err != nil {
		return nil, err
	}
	j, err := certificate.Request(ctx, o.DB, a.ID, by.id)
	if err != nil {
		return nil, err
	}
	return acceptedJob(j)
}

// requestSet asks for a sale to be loaded unless it is, so that the job finds a set. When Redis cannot say, the job will.
func (o *operate) requestSet(ctx context.Context, a *sale.Activity) error {
	facts := a.Facts()
	if _, err := o.Stock.Snapshot(ctx, &facts); !errors.Is(err, stock.ErrNotLoaded) {
		return nil
	}
	return o.Reconcile.RequestLoad(ctx, a.ID)
}

// jobView is work that outlasts a request.
type jobView struct {
	JobID      string          `json:"jobId"`
	Kind       string          `json:"kind"`
	ActivityID string          `json:"activityId,omitempty"`
	Status     string          `json:"status"`
	Done       int64           `json:"done"`
	Total      *int64          `json:"total,omitempty"`
	CreatedAt  string          `json:"createdAt"`
	StartedAt  string          `json:"startedAt,omitempty"`
	FinishedAt string          `json:"finishedAt,omitempty"`
	Result     json.RawMessage `json:"result,omitempty"`
	Problem    string          `json:"problem,omitempty"`
}

func viewJob(j *reconcile.Job) jobView {
	return jobView{JobID: j.ID, Kind: j.Kind, ActivityID: j.ActivityID, Status: j.Status, Done: j.Done, Total: j.Total,
		CreatedAt: stamp(j.CreatedAt), StartedAt: optStamp(j.StartedAt), FinishedAt: optStamp(j.FinishedAt), Result: j.Result, Problem: j.Problem}
}

// acceptedJob is the answer that work goes on elsewhere.
func acceptedJob(j *reconcile.Job) (*Response, error) {
	response, err := JSON(http.StatusAccepted, viewJob(j))
	if err == nil {
		response.Header["Location"] = "/ops/v1/jobs/" + j.ID
	}
	return response, err
}

// getJob answers GET /ops/v1/jobs/{jobId}.
func (o *operate) getJob(ctx context.Context, r *Request, _ caller) (*Response, error) {
	id := r.Param("jobId")
	if !isID(id) {
		return nil, fault.New(fault.JobNotFound, "There is no such job.")
	}
	j, err := reconcile.GetJob(ctx, o.DB, id)
	if err != nil {
		return nil, err
	}
	return JSON(http.StatusOK, viewJob(j))
}
