package crowd

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"holdfast/infra/progress"
	"holdfast/shared/sale"
)

// What the crowd does with its orders once they exist: shares of them.
const (
	cancelShare = 0.10
	payShare    = 0.30
)

// aftermath is what the orders became.
type aftermath struct {
	statuses map[string]int // by status, as the API told
	slowest  time.Duration  // from the 202 until the order was more than RESERVED, at most the polling interval too long
	missing  []sale.OrderID // promised, and not to be read as an order in time
}

// follow polls every promised order until it is more than RESERVED, as a buyer's app does.
func (c *Crowd) follow(ctx context.Context, buyers map[string]*buyer, promises map[sale.OrderID]Promise) (*aftermath, error) {
	ids := sortedIDs(promises)
	result := &aftermath{statuses: make(map[string]int)}
	var mu sync.Mutex
	bar := progress.Bar(c.o.Out, len(ids), "orders are made")
	defer func() { _ = bar.Finish() }()
	err := inParallel(len(ids), 16, func(i int) error {
		p := promises[ids[i]]
		deadline := time.Now().Add(c.o.Patience)
		for {
			var order answer
			status, err := c.client.call(ctx, http.MethodGet, "/v1/orders/"+p.OrderID.String(), buyers[p.UserID].token, nil, nil, &order)
			if err != nil && ctx.Err() != nil {
				return ctx.Err()
			}
			word, _ := order.Status.(string)
			settled := err == nil && status == http.StatusOK && word != "RESERVED"
			late := time.Now().After(deadline)
			if settled || late {
				mu.Lock()
				if settled {
					result.statuses[word]++
					result.slowest = max(result.slowest, time.Since(p.At))
				} else {
					result.missing = append(result.missing, p.OrderID)
				}
				mu.Unlock()
				return bar.Add(1)
			}
			time.Sleep(100 * time.Millisecond)
		}
	})
	return result, err
}

// decide cancels some orders as their buyers and has some paid.
func (c *Crowd) decide(ctx context.Context, buyers map[string]*buyer, promises map[sale.OrderID]Promise) error {
	ids := sortedIDs(promises)
	cancels, pays := int(float64(len(ids))*cancelShare), int(float64(len(ids))*payShare)
	bar := progress.Bar(c.o.Out, cancels+pays, "some cancel, some pay")
	defer func() { _ = bar.Finish() }()
	return inParallel(cancels+pays, 8, func(i int) error {
		p := promises[ids[i]]
		path, token, body := c.decision(i < cancels, i, p, buyers[p.UserID].token)
		c.fundFor(ctx, body, p)
		var order answer
		status, err := c.client.call(ctx, http.MethodPost, path, token, http.Header{"Idempotency-Key": {"after-" + p.OrderID.String()}}, body, &order)
		if err != nil {
			return err
		}
		// A free order is PAID already and may not be cancellable; that refusal is an answer too.
		if status != http.StatusOK && status != http.StatusAccepted && status != http.StatusConflict {
			return fmt.Errorf("POST %s answered %d %s", path, status, order.Code)
		}
		return bar.Add(1)
	})
}

// decision is the call by which a buyer cancels an order, or confirms its deposit; or by which, in turn, it is paid from the wallet, at
// the provider, or marked paid by the operator.
func (c *Crowd) decision(cancel bool, turn int, p Promise, buyer string) (path, token string, body map[string]any) {
	own := "/v1/orders/" + p.OrderID.String()
	switch {
	case cancel:
		return own + "/cancellation", buyer, map[string]any{}
	case c.o.Deposits:
		return own + "/confirmation", buyer, map[string]any{}
	case turn%3 == 0:
		return own + "/payment", buyer, map[string]any{"method": "WALLET"}
	case turn%3 == 1:
		return own + "/payment", buyer, map[string]any{"method": "PROVIDER"}
	}
	return "/ops/v1/orders/" + p.OrderID.String() + "/payment", c.operator, map[string]any{"reference": "till-" + p.OrderID.Reference()}
}

// sortedIDs lists the promised orders in the order of their ids, which is as good as random and the same in every run.
func sortedIDs(promises map[sale.OrderID]Promise) []sale.OrderID {
	ids := make([]sale.OrderID, 0, len(promises))
	for id := range promises {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b sale.OrderID) int { return slices.Compare(a[:], b[:]) })
	return ids
}
