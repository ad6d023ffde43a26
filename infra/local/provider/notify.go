package provider

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"holdfast/shared/edge/provider"
)

// How notifications are sent: looked for, waited for, and sent again while they are not answered 204.
const (
	notifyTick    = 20 * time.Millisecond
	notifyTimeout = 10 * time.Second
	notifyAgain   = time.Second
	notifyTries   = 10
)

// notification is a call of the webhook that is to be made.
type notification struct {
	at      time.Time // by the movable clock
	capture *charge   // whose money is here from then on; nil: nobody's
	body    []byte
	times   int
	tries   int
}

// schedule has events happen to a charge from now on. The lock is held.
func (p *Provider) schedule(c *charge, events []Event) {
	at := p.o.Now()
	for _, e := range events {
		at = at.Add(time.Duration(e.After))
		says := map[string]any{"paymentId": c.PaymentID, "status": e.Status, "amount": c.Amount, "reference": c.Reference}
		n := notification{at: at, times: max(1, e.Times)}
		if e.Status == "FAILED" {
			says["failure"] = "DECLINED"
		} else {
			n.capture = c
			if now := p.o.Now(); !at.After(now) {
				c.captured(now)
			}
		}
		n.body = encode(says)
		p.due = append(p.due, n)
	}
}

// captured has the buyer's money be here from an instant on, unless it is here already.
func (c *charge) captured(now time.Time) {
	if !c.Captured {
		c.Captured, c.at = true, now
	}
}

// notifyDue sends what is due until the provider is closed.
func (p *Provider) notifyDue() {
	defer p.sending.Done()
	tick := time.NewTicker(notifyTick)
	defer tick.Stop()
	for {
		select {
		case <-p.stop:
			return
		case <-tick.C:
		}
		for _, n := range p.takeDue() {
			for range n.times {
				p.sending.Add(1)
				go p.send(n)
			}
		}
	}
}

// takeDue takes the notifications that are due, in their order; what they tell has happened.
func (p *Provider) takeDue() []notification {
	webhook := p.o.Webhook()
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.o.Now()
	var due []notification
	p.due = slices.DeleteFunc(p.due, func(n notification) bool {
		if webhook == "" || n.at.After(now) {
			return false
		}
		if n.capture != nil {
			n.capture.captured(now)
		}
		due = append(due, n)
		return true
	})
	return due
}

// send calls the webhook once, and has it called again later when it does not answer 204.
func (p *Provider) send(n notification) {
	defer p.sending.Done()
	if n.tries++; p.Tell(n.body) == http.StatusNoContent || n.tries == notifyTries {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	n.at, n.times, n.capture = p.o.Now().Add(notifyAgain), 1, nil
	p.due = append(p.due, n)
}

// Tell calls the webhook with a body, signed as of now, and gives the status of the answer; 0: there was none.
func (p *Provider) Tell(body []byte) int {
	timestamp, signature := provider.Sign(p.o.Key, body, p.o.Now())
	return p.TellSigned(body, timestamp, signature)
}

// TellSigned calls the webhook with a signature that may be anything.
func (p *Provider) TellSigned(body []byte, timestamp, signature string) int {
	ctx, cancel := context.WithTimeout(context.Background(), notifyTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.o.Webhook(), bytes.NewReader(body))
	if err != nil {
		return 0
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set(provider.TimestampHeader, timestamp)
	r.Header.Set(provider.SignatureHeader, signature)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0
	}
	_ = response.Body.Close() // the status says it all
	return response.StatusCode
}

func encode(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic("provider: " + err.Error()) // plain maps of texts and amounts always encode
	}
	return text
}
