package api

import (
	"context"
	"errors"
	"net/http"

	"holdfast/shared/catalog"
	"holdfast/shared/fault"
	"holdfast/shared/reconcile"
	"holdfast/shared/sale"
	"holdfast/shared/stock"
)

// adjustmentView is an adjustment as operators see it.
type adjustmentView struct {
	AdjustmentID string                   `json:"adjustmentId"`
	ActivityID   string                   `json:"activityId"`
	TicketType   string                   `json:"ticketType"`
	Delta        int                      `json:"delta"`
	Reason       string                   `json:"reason"`
	Status       catalog.AdjustmentStatus `json:"status"`
	Split        sale.Split               `json:"split,omitempty"`
	CreatedAt    string                   `json:"createdAt"`
}

// adjustStock answers POST …/stock-adjustments: idempotent by adjustmentId. One that cannot be finished now stays PENDING and is
// finished by repair; the answer is 503 then, and the same call again tells what became of it.
func (o *operate) adjustStock(ctx context.Context, r *Request, by caller) (*Response, error) {
	id, err := pathActivity(r)
	if err != nil {
		return nil, err
	}
	f, err := r.Fields()
	if err != nil {
		return nil, err
	}
	w := catalog.Adjustment{ActivityID: id, ID: readID(f, "adjustmentId"), TicketType: readID(f, "ticketType"),
		Delta: int(f.Int("delta", -stock.MaxQuantity, stock.MaxQuantity)), Reason: f.Text("reason", 1, maxReason)}
	if f.Has("delta") && f.OK() && w.Delta == 0 {
		f.Break("delta", "OUT_OF_RANGE", "not 0")
	}
	if err := f.Finish(); err != nil {
		return nil, err
	}
	a, err := o.Reconcile.AdjustStock(ctx, w, by.entry("activity.adjust-stock", id, nil))
	if errors.Is(err, reconcile.ErrLoadRunning) {
		return nil, fault.Wrap(fault.SaleNotReady, err,
			"The stock is being loaded or adjusted. Repeat the call; by itself the adjustment is finished within a minute or two.")
	}
	if err != nil {
		return nil, err
	}
	return JSON(http.StatusOK, adjustmentView{AdjustmentID: a.ID, ActivityID: a.ActivityID, TicketType: a.TicketType, Delta: a.Delta,
		Reason: a.Reason, Status: a.Status, Split: a.Split, CreatedAt: stamp(a.CreatedAt)})
}

// stockView is a reading of both stores.
type stockView struct {
	ActivityID  string          `json:"activityId"`
	TicketTypes []typeStockView `json:"ticketTypes"`
	Now         string          `json:"now"`
}

type typeStockView struct {
	TicketType string       `json:"ticketType"`
	Buckets    []bucketView `json:"buckets"`
}

type bucketView struct {
	Bucket     int `json:"bucket"`
	Capacity   int `json:"capacity"`
	Frozen     int `json:"frozen"`
	Sold       int `json:"sold"`
	Available  int `json:"available"`
	Pending    int `json:"pending"`
	Difference int `json:"difference"`
}

// readStock answers GET …/stock. A draft has nothing in the stock store yet.
func (o *operate) readStock(ctx context.Context, r *Request, _ caller) (*Response, error) {
	id, err := pathActivity(r)
	if err != nil {
		return nil, err
	}
	a, err := catalog.Get(ctx, o.DB, id)
	if err != nil {
		return nil, err
	}
	if a.Status == sale.Draft {
		return nil, fault.New(fault.IllegalTransition, "A DRAFT has no stock on sale yet; its capacities stand in the activity.")
	}
	figures, err := reconcile.ReadFigures(ctx, o.DB, o.Stock, a)
	if err != nil {
		return nil, err
	}
	v := stockView{ActivityID: id, Now: stamp(figures.Now), TicketTypes: make([]typeStockView, len(figures.Types))}
	for i, t := range figures.Types {
		v.TicketTypes[i] = typeStockView{TicketType: t.TicketType, Buckets: make([]bucketView, len(t.Buckets))}
		for j, b := range t.Buckets {
			v.TicketTypes[i].Buckets[j] = bucketView{Bucket: b.Bucket, Capacity: b.Capacity, Frozen: b.Frozen, Sold: b.Sold,
				Available: b.Available, Pending: b.Pending, Difference: b.Difference()}
		}
	}
	return JSON(http.StatusOK, v)
}
