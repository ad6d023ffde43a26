package provider

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/shopspring/decimal"

	"holdfast/shared/edge/provider"
	"holdfast/shared/money"
)

// Options says what a provider works with.
type Options struct {
	Key     []byte           // what both sides sign with
	Now     func() time.Time // the movable clock
	Webhook func() string    // address of the webhook; "" while it has none
}

// Provider is a simulated payment provider; it serves HTTP.
type Provider struct {
	o   Options
	mux *http.ServeMux

	mu      sync.Mutex
	plan    Plan
	charges []*charge
	refunds []*refund
	due     []notification
	stop    chan struct{}
	sending sync.WaitGroup
}

// charge is what the provider knows of a payment.
type charge struct {
	PaymentID string       `json:"paymentId"`
	OrderID   string       `json:"orderId"`
	Amount    money.Amount `json:"amount"`
	Reference string       `json:"reference"`
	Captured  bool         `json:"captured"` // the buyer's money is here
	at        time.Time    // since when, by the movable clock
	action    map[string]string
}

type refund struct {
	RefundID  string       `json:"refundId"`
	PaymentID string       `json:"paymentId"`
	Amount    money.Amount `json:"amount"`
	Status    string       `json:"status"`
	Calls     int          `json:"calls"` // how often it was asked for
	at        time.Time    // when it SUCCEEDED, by the movable clock
}

// Start makes a provider and has it tell the webhook what happens. Close ends it.
func Start(o Options) *Provider {
	p := &Provider{o: o, plan: atFirst, stop: make(chan struct{}), mux: http.NewServeMux()}
	p.mux.HandleFunc("POST /charges", p.signed(p.begin))
	p.mux.HandleFunc("POST /refunds", p.signed(p.takeRefund))
	p.mux.HandleFunc("POST /list", p.signed(p.listSucceeded))
	p.mux.HandleFunc("GET /{$}", p.list)
	p.mux.HandleFunc("POST /plan", p.setPlan)
	p.mux.HandleFunc("POST /charges/{paymentId}", p.addEvents)
	p.mux.HandleFunc("POST /refunds/{refundId}", p.endRefund)
	p.sending.Add(1)
	go p.notifyDue()
	return p
}

// Close ends the notifications.
func (p *Provider) Close() {
	close(p.stop)
	p.sending.Wait()
}

// ServeHTTP answers the protocol and the steering.
func (p *Provider) ServeHTTP(w http.ResponseWriter, r *http.Request) { p.mux.ServeHTTP(w, r) }

// signed lets only calls through that are signed well and of now.
func (p *Provider) signed(handle func(body []byte) (status int, answer any)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, ok := readBody(w, r)
		if !ok {
			return
		}
		timestamp := r.Header.Get(provider.TimestampHeader)
		if provider.CheckSignature(p.o.Key, body, timestamp, r.Header.Get(provider.SignatureHeader)) != nil ||
			provider.CheckAge(timestamp, p.o.Now()) != nil {
			answer(w, http.StatusUnauthorized, map[string]string{"message": "the signature is not good"})
			return
		}
		status, v := handle(body)
		if p.losesAnswer() {
			panic(http.ErrAbortHandler) // the connection ends without a word
		}
		answer(w, status, v)
	}
}

func (p *Provider) losesAnswer() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.plan.LoseAnswers < 1 {
		return false
	}
	p.plan.LoseAnswers--
	return true
}

// begin opens a charge, or answers how it was opened.
func (p *Provider) begin(body []byte) (int, any) {
	var in struct {
		PaymentID, OrderID string
		Amount             money.Amount
	}
	if err := json.Unmarshal(body, &in); err != nil || in.PaymentID == "" || in.Amount.Currency == "" {
		return http.StatusBadRequest, map[string]string{"message": "that is no charge"}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.find(in.PaymentID)
	if c == nil {
		if p.plan.Refuse {
			return http.StatusUnprocessableEntity, map[string]string{"message": "refused"}
		}
		reference := fmt.Sprintf("ch_%s_%d", in.PaymentID, len(p.charges)+1)
		c = &charge{PaymentID: in.PaymentID, OrderID: in.OrderID, Amount: in.Amount, Reference: reference,
			action: map[string]string{"type": "REDIRECT", "url": "https://pay.invalid/" + reference}}
		p.charges = append(p.charges, c)
		p.schedule(c, p.plan.Events)
	}
	if c.Amount.Cmp(in.Amount) != 0 {
		return http.StatusConflict, map[string]string{"message": "the charge has another amount"}
	}
	return http.StatusOK, map[string]any{"reference": c.Reference, "action": c.action}
}

func (p *Provider) find(paymentID string) *charge {
	for _, c := range p.charges {
		if c.PaymentID == paymentID {
			return c
		}
	}
	return nil
}

// takeRefund gives back a part of a captured charge, once for each id.
func (p *Provider) takeRefund(body []byte) (int, any) {
	var in struct {
		RefundID, PaymentID string
		Amount              money.Amount
	}
	if err := json.Unmarshal(body, &in); err != nil || in.RefundID == "" {
		return http.StatusBadRequest, map[string]string{"message": "that is no refund"}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.refunds {
		if r.RefundID == in.RefundID {
			r.Calls++
			return http.StatusOK, map[string]string{"status": r.Status}
		}
	}
	c := p.find(in.PaymentID)
	if c == nil || !c.Captured {
		return http.StatusNotFound, map[string]string{"message": "there is no such charge"}
	}
	left := c.Amount
	for _, r := range p.refunds {
		if r.PaymentID == c.PaymentID && r.Status != "FAILED" {
			left = left.Minus(r.Amount)
		}
	}
	if left.Less(in.Amount) {
		return http.StatusUnprocessableEntity, map[string]string{"message": "less than that is left of the charge"}
	}
	status := p.plan.Refunds
	if status == "" {
		status = "SUCCEEDED"
	}
	p.refunds = append(p.refunds, &refund{RefundID: in.RefundID, PaymentID: in.PaymentID, Amount: in.Amount, Status: status, Calls: 1, at: p.o.Now()})
	return http.StatusOK, map[string]string{"status": status}
}

// Held is what the provider holds of a currency: what it captured, less what it has given back.
func (p *Provider) Held(currency string) money.Amount {
	p.mu.Lock()
	defer p.mu.Unlock()
	held := decimal.Zero
	for _, c := range p.charges {
		if c.Captured && c.Amount.Currency == currency {
			held = held.Add(c.Amount.Value)
		}
	}
	for _, r := range p.refunds {
		if r.Status == "SUCCEEDED" && r.Amount.Currency == currency {
			held = held.Sub(r.Amount.Value)
		}
	}
	return money.Of(held, currency)
}

// Calls is how often a refund was asked for; 0 when it never was.
func (p *Provider) Calls(refundID string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.refunds {
		if r.RefundID == refundID {
			return r.Calls
		}
	}
	return 0
}
