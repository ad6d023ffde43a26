package provider

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
)

const maxBody = 1 << 20

func readBody(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil {
		answer(w, http.StatusBadRequest, map[string]string{"message": "the body cannot be read"})
		return nil, false
	}
	return body, true
}

// readWish decodes a body strictly and checks it.
func readWish(w http.ResponseWriter, r *http.Request, into any, check func() error) bool {
	body, ok := readBody(w, r)
	if !ok {
		return false
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(into)
	if err == nil {
		err = check()
	}
	if err != nil {
		answer(w, http.StatusBadRequest, map[string]string{"message": err.Error()})
	}
	return err == nil
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(encode(v)) // a client that went away has nobody to be told
}

// Follow sets the plan for what is begun from now on.
func (p *Provider) Follow(plan Plan) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.plan = plan
}

func (p *Provider) setPlan(w http.ResponseWriter, r *http.Request) {
	var plan Plan
	if readWish(w, r, &plan, plan.check) {
		p.Follow(plan)
		answer(w, http.StatusOK, map[string]string{})
	}
}

// Happen has events happen to a charge; false when there is none.
func (p *Provider) Happen(paymentID string, events ...Event) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.find(paymentID)
	if c != nil {
		p.schedule(c, events)
	}
	return c != nil
}

func (p *Provider) addEvents(w http.ResponseWriter, r *http.Request) {
	var wish struct{ Events []Event }
	if !readWish(w, r, &wish, func() error { return checkEvents(wish.Events) }) {
		return
	}
	if !p.Happen(r.PathValue("paymentId"), wish.Events...) {
		answer(w, http.StatusNotFound, map[string]string{"message": "there is no such charge"})
		return
	}
	answer(w, http.StatusOK, map[string]string{})
}

// EndRefund ends a refund that is pending, and tells the webhook; false when there is none.
func (p *Provider) EndRefund(refundID, status string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.refunds {
		if r.RefundID == refundID && r.Status == "PENDING" {
			r.Status, r.at = status, p.o.Now()
			says := map[string]any{"refundId": r.RefundID, "status": status, "amount": r.Amount}
			p.due = append(p.due, notification{at: p.o.Now(), body: encode(says), times: 1})
			return true
		}
	}
	return false
}

func (p *Provider) endRefund(w http.ResponseWriter, r *http.Request) {
	var wish struct{ Status string }
	if !readWish(w, r, &wish, func() error { return checkEvents([]Event{{Status: wish.Status}}) }) {
		return
	}
	if !p.EndRefund(r.PathValue("refundId"), wish.Status) {
		answer(w, http.StatusNotFound, map[string]string{"message": "no such refund is pending"})
		return
	}
	answer(w, http.StatusOK, map[string]string{})
}

// list shows what the provider has, and what it holds per currency.
func (p *Provider) list(w http.ResponseWriter, _ *http.Request) {
	held := make(map[string]string)
	p.mu.Lock()
	charges, refunds := make([]charge, len(p.charges)), make([]refund, len(p.refunds))
	for i, c := range p.charges {
		charges[i], held[c.Amount.Currency] = *c, ""
	}
	for i, r := range p.refunds {
		refunds[i] = *r
	}
	p.mu.Unlock()
	for currency := range held {
		held[currency] = p.Held(currency).String()
	}
	answer(w, http.StatusOK, map[string]any{"charges": charges, "refunds": refunds, "held": held})
}
