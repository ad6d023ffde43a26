package provider

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"time"

	"holdfast/shared/money"
)

// success is an entry of the list.
type success struct {
	PaymentID string       `json:"paymentId,omitempty"`
	RefundID  string       `json:"refundId,omitempty"`
	Amount    money.Amount `json:"amount"`
	At        time.Time    `json:"at"`
	Reference string       `json:"reference"`
}

// listSucceeded answers a page of what succeeded within an interval. What a page asks for goes on by is how many entries came before it:
// none is ever put in before another one.
func (p *Provider) listSucceeded(body []byte) (int, any) {
	var in struct {
		From, To time.Time
		After    string
		Limit    int
	}
	err := json.Unmarshal(body, &in)
	from := 0
	if err == nil && in.After != "" {
		from, err = strconv.Atoi(in.After)
	}
	if err != nil || in.Limit < 1 || in.Limit > 500 || from < 0 {
		return http.StatusBadRequest, map[string]string{"message": "that is no wish for a list"}
	}
	all := p.succeeded(in.From, in.To)
	from = min(from, len(all))
	until := min(from+in.Limit, len(all))
	page := map[string]any{"entries": all[from:until]}
	if until < len(all) {
		page["next"] = strconv.Itoa(until)
	}
	return http.StatusOK, page
}

// succeeded is what succeeded from an instant on and before another one, the earliest first.
func (p *Provider) succeeded(from, to time.Time) []success {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := []success{}
	add := func(e success) {
		if e.At = e.At.UTC().Truncate(time.Millisecond); !e.At.Before(from) && e.At.Before(to) {
			list = append(list, e)
		}
	}
	for _, c := range p.charges {
		if c.Captured {
			add(success{PaymentID: c.PaymentID, Amount: c.Amount, At: c.at, Reference: c.Reference})
		}
	}
	for i, r := range p.refunds {
		if r.Status == "SUCCEEDED" {
			add(success{RefundID: r.RefundID, Amount: r.Amount, At: r.at, Reference: "re_" + strconv.Itoa(i+1)})
		}
	}
	slices.SortFunc(list, func(a, b success) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.PaymentID, b.PaymentID), cmp.Compare(a.RefundID, b.RefundID))
	})
	return list
}
