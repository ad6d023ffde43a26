package crowd

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// offerPatience is how long who waits looks for an offer before giving up.
const offerPatience = 10 * time.Second

// waitShare is the share of those refused who wait: each so-manieth.
const waitShare = 4

// joinThrough has some of the buyers who found too little left join the waitlist, as often as it takes, and lists who did.
func (c *Crowd) joinThrough(ctx context.Context, buyers []buyer, refused map[int]bool) (waiting []*buyer) {
	terms := map[string]any{}
	if c.o.Deposits {
		var seen depositTerms
		if c.client.must(ctx, http.MethodGet, "/v1/activities/"+c.o.ActivityID, "", nil, &seen) != nil {
			return nil // nobody agrees to terms that cannot be read
		}
		terms["policyHash"] = seen.Deposit.PolicyHash
	}
	var some []*buyer
	for i := range buyers {
		if refused[i] && i%waitShare == 0 {
			some = append(some, &buyers[i])
		}
	}
	var mu sync.Mutex
	_ = inParallel(len(some), 8, func(i int) error {
		b, wish := some[i], map[string]any{"ticketType": some[i].Type, "quantity": some[i].quantity}
		maps.Copy(wish, terms)
		for ctx.Err() == nil {
			status, err := c.client.call(ctx, http.MethodPut, c.waitlist(), b.token, nil, wish, nil)
			if err == nil && (status == http.StatusOK || status == http.StatusCreated) {
				mu.Lock()
				waiting = append(waiting, b)
				mu.Unlock()
				return nil
			}
			if err == nil && status < http.StatusInternalServerError {
				return nil // something has come free, or this buyer holds enough
			}
			wait(ctx, tryAgainAfter)
		}
		return nil
	})
	return waiting
}

// acceptThrough has those who wait take what they are offered, from their wallets, and counts who did.
func (c *Crowd) acceptThrough(ctx context.Context, waiting []*buyer) int {
	ctx, cancel := context.WithTimeout(ctx, offerPatience)
	defer cancel()
	var accepted atomic.Int64
	_ = inParallel(len(waiting), 8, func(i int) error {
		b := waiting[i]
		for ctx.Err() == nil {
			var entry struct {
				Status string `json:"status"`
				Offer  struct {
					OrderID string `json:"orderId"`
				} `json:"offer"`
			}
			_, err := c.client.call(ctx, http.MethodGet, c.waitlist(), b.token, nil, nil, &entry)
			if err == nil && entry.Status == "OFFERED" {
				if c.accept(ctx, b, entry.Offer.OrderID) {
					accepted.Add(1)
				}
				return nil
			}
			if err == nil && slices.Contains([]string{"ACCEPTED", "LAPSED", "LEFT", "CLOSED"}, entry.Status) {
				return nil
			}
			wait(ctx, tryAgainAfter)
		}
		return nil
	})
	return int(accepted.Load())
}

// accept pays an offer, or freezes its deposit, until there is an answer; false when it was refused or time ended.
func (c *Crowd) accept(ctx context.Context, b *buyer, order string) bool {
	if price := priceOf(b.Type, b.quantity); price != nothing {
		c.topUp(ctx, b.userID, "offer-"+order, price)
	}
	header := http.Header{"Idempotency-Key": {"accept-" + order}}
	for ctx.Err() == nil {
		status, err := c.client.call(ctx, http.MethodPost, "/v1/orders/"+order+"/payment", b.token, header, map[string]any{"method": "WALLET"}, nil)
		if err == nil && final(status) {
			return status == http.StatusOK
		}
		wait(ctx, tryAgainAfter)
	}
	return false
}

func (c *Crowd) waitlist() string { return "/v1/activities/" + c.o.ActivityID + "/waitlist/me" }
