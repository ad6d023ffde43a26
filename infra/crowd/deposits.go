package crowd

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// deposits plays the whole life of a few deposits on a stack whose clock can be moved, and tells it as it goes.
type deposits struct {
	*Crowd
	activity string
	start    time.Time
	terms    depositTerms
	tokens   map[string]string
	orders   map[string]string // order id by user
}

// The people of the play, and what they do.
const (
	punctual = "deposits-punctual" // confirms in time
	changed  = "deposits-changed"  // cancels in time, at the price of the penalty
	absent   = "deposits-absent"   // never comes back
	patient  = "deposits-patient"  // comes when all seats are gone, waits, and gets the one that comes free
	poor     = "deposits-poor"     // has too little money for a deposit
)

// How long the play lasts by the clock of the stack.
const (
	remindAfter  = 36 * time.Hour
	confirmUntil = 48 * time.Hour
)

// depositTerms is what a buyer sees before buying.
type depositTerms struct {
	Deposit struct {
		PolicyHash string `json:"policyHash"`
	} `json:"deposit"`
	TicketTypes []struct {
		Outcomes []struct {
			Quantity int   `json:"quantity"`
			Deposit  money `json:"deposit"`
			OnMiss   struct {
				Penalty money `json:"penalty"`
				Refund  money `json:"refund"`
			} `json:"onMiss"`
		} `json:"depositOutcomes"`
	} `json:"ticketTypes"`
}

type money struct {
	Amount   string `json:"amount"`
	Currency string `json:"currency"`
}

// depositOrder is what the play reads of an order.
type depositOrder struct {
	OrderID string `json:"orderId"`
	Status  string `json:"status"`
	Reason  string `json:"reason"`
	Deposit struct {
		Status string `json:"status"`
		Amount money  `json:"amount"`
	} `json:"deposit"`
}

// RunDeposits sells three seats against a deposit, and lets 48 hours pass in seconds: one buyer confirms, one cancels, one never comes
// back, and a fourth gets the seat that came free. It ends in a certificate of the sale and a check of all money; the error is *ErrBroken
// when anything is off. The stack's clock is 48 hours further afterwards.
func RunDeposits(ctx context.Context, o Options) error {
	d := &deposits{Crowd: &Crowd{o: o, client: newClient(o.Addresses.API)}, activity: o.ActivityID + "-deposits",
		tokens: make(map[string]string), orders: make(map[string]string)}
	for _, act := range []func(context.Context) error{d.open, d.logIn, d.fund, d.reserve, d.wait, d.confirm, d.cancel, d.offer, d.remind, d.miss, d.prove} {
		if err := act(ctx); err != nil {
			return err
		}
	}
	return nil
}

// open makes the sale: three seats of 200.00, of which 60.00 are frozen and 30.00 lost by who does not come.
func (d *deposits) open(ctx context.Context) (err error) {
	if d.operator, err = d.client.token(ctx, "crowd-operator", "operator"); err != nil {
		return err
	}
	var clock struct {
		Now time.Time `json:"now"`
	}
	if err := d.client.must(ctx, http.MethodGet, "/local/clock", "", nil, &clock); err != nil {
		return err
	}
	d.start = clock.Now.Truncate(time.Second)
	at := func(after time.Duration) string { return d.start.Add(after).Format(time.RFC3339) }
	draft := map[string]any{"activityId": d.activity, "kind": "DEPOSIT", "mode": "LIVE", "title": "Seats against a deposit", "currency": currency,
		"opensAt": at(-time.Minute), "closesAt": at(remindAfter), "perUserLimit": 1, "payWindowSeconds": 3600,
		"ticketTypes": []map[string]any{{"ticketType": "SEAT", "title": "Seat", "price": money{"200.00", currency}, "capacity": 3, "buckets": 1}},
		"deposit": map[string]any{"ratio": "0.3", "penaltyRatio": "0.5", "remindAt": at(remindAfter), "confirmDeadline": at(confirmUntil),
			"cancellation": "PENALTY", "clubId": "club-of-the-demo"}}
	if err := d.client.must(ctx, http.MethodPost, "/ops/v1/activities", d.operator, draft, nil); err != nil {
		return err
	}
	if err := d.client.must(ctx, http.MethodPost, "/ops/v1/activities/"+d.activity+"/publication", d.operator, map[string]any{}, nil); err != nil {
		return err
	}
	if err := d.client.must(ctx, http.MethodGet, "/v1/activities/"+d.activity, "", nil, &d.terms); err != nil {
		return err
	}
	if len(d.terms.TicketTypes) != 1 || len(d.terms.TicketTypes[0].Outcomes) == 0 {
		return &ErrBroken{"the sale does not say what a deposit costs"}
	}
	o := d.terms.TicketTypes[0].Outcomes[0]
	d.say("\nThree seats against a deposit: %s %s are frozen; who does not confirm within 48 hours loses %s and has %s back",
		o.Deposit.Amount, currency, o.OnMiss.Penalty.Amount, o.OnMiss.Refund.Amount)
	return nil
}

// logIn gives everybody a token, again whenever the old ones have run out.
func (d *deposits) logIn(ctx context.Context) (err error) {
	for _, user := range []string{punctual, changed, absent, patient, poor} {
		if d.tokens[user], err = d.client.token(ctx, user); err != nil {
			return err
		}
	}
	return nil
}

// fund gives everybody money.
func (d *deposits) fund(ctx context.Context) error {
	for user, amount := range map[string]string{punctual: "300.00", changed: "300.00", absent: "300.00", patient: "300.00", poor: "59.99"} {
		err := d.client.must(ctx, http.MethodPost, "/ops/v1/wallets/"+user+"/top-ups", d.operator,
			map[string]any{"reference": d.activity + "-" + user, "amount": money{amount, currency}}, nil)
		if err != nil {
			return err
		}
	}
	return nil
}

// post sends a user's wish under a key of its own.
func (d *deposits) post(ctx context.Context, user, path string, body, into any) (int, error) {
	return d.client.call(ctx, http.MethodPost, path, d.tokens[user], http.Header{"Idempotency-Key": {d.activity + path + user}}, body, into)
}

// expect calls and breaks the play when the answer has another status.
func (d *deposits) expect(want int, what string, status int, err error) error {
	if err != nil {
		return err
	}
	if status != want {
		return &ErrBroken{fmt.Sprintf("%s was answered %d instead of %d", what, status, want)}
	}
	return nil
}

// reserve lets three take the seats; the poor one is refused first.
func (d *deposits) reserve(ctx context.Context) error {
	path, wish := "/v1/activities/"+d.activity+"/reservations", map[string]any{"ticketType": "SEAT", "quantity": 1}
	status, err := d.post(ctx, poor, path, wish, nil)
	if err := d.expect(http.StatusPaymentRequired, "a deposit beyond the wallet", status, err); err != nil {
		return err
	}
	for _, user := range []string{punctual, changed, absent} {
		var o depositOrder
		status, err := d.post(ctx, user, path, wish, &o)
		if err := d.expect(http.StatusAccepted, "a reservation", status, err); err != nil {
			return err
		}
		d.orders[user] = o.OrderID
	}
	for _, user := range []string{punctual, changed, absent} {
		if err := d.until(ctx, user, "UNPAID", "FROZEN"); err != nil {
			return err
		}
	}
	return d.tell(ctx, "three seats are held, each with its deposit; 402 for who has too little", punctual, changed, absent)
}

// wait lets the fourth join the waitlist, since the public finds nothing left.
func (d *deposits) wait(ctx context.Context) error {
	status, err := d.post(ctx, patient, "/v1/activities/"+d.activity+"/reservations", map[string]any{"ticketType": "SEAT", "quantity": 1}, nil)
	if err := d.expect(http.StatusConflict, "a reservation when all seats are taken", status, err); err != nil {
		return err
	}
	status, err = d.client.call(ctx, http.MethodPut, "/v1/activities/"+d.activity+"/waitlist/me", d.tokens[patient], nil,
		map[string]any{"ticketType": "SEAT", "quantity": 1, "policyHash": d.terms.Deposit.PolicyHash}, nil)
	return d.expect(http.StatusCreated, "joining the waitlist", status, err)
}

func (d *deposits) confirm(ctx context.Context) error {
	status, err := d.post(ctx, punctual, "/v1/orders/"+d.orders[punctual]+"/confirmation", nil, nil)
	if err := d.expect(http.StatusOK, "a confirmation", status, err); err != nil {
		return err
	}
	if err := d.until(ctx, punctual, "PAID", "DEDUCTED"); err != nil {
		return err
	}
	return d.tell(ctx, "one confirms and pays the rest", punctual)
}

func (d *deposits) cancel(ctx context.Context) error {
	status, err := d.post(ctx, changed, "/v1/orders/"+d.orders[changed]+"/cancellation", nil, nil)
	if err := d.expect(http.StatusOK, "a cancellation", status, err); err != nil {
		return err
	}
	return d.tell(ctx, "one cancels, at the price of the penalty", changed)
}

// offer waits until the seat that came free is offered to who waits, and has it accepted.
func (d *deposits) offer(ctx context.Context) error {
	var entry struct {
		Status string `json:"status"`
		Offer  struct {
			OrderID string `json:"orderId"`
		} `json:"offer"`
	}
	err := d.patiently(ctx, "an offer from the waitlist", func() (bool, error) {
		err := d.client.must(ctx, http.MethodGet, "/v1/activities/"+d.activity+"/waitlist/me", d.tokens[patient], nil, &entry)
		return entry.Status == "OFFERED", err
	})
	if err != nil {
		return err
	}
	d.orders[patient] = entry.Offer.OrderID
	status, err := d.post(ctx, patient, "/v1/orders/"+d.orders[patient]+"/payment", map[string]any{"method": "WALLET"}, nil)
	if err := d.expect(http.StatusOK, "accepting the offer", status, err); err != nil {
		return err
	}
	if err := d.until(ctx, patient, "UNPAID", "FROZEN"); err != nil {
		return err
	}
	return d.tell(ctx, "the seat goes to who was waiting, before the public", patient)
}

func (d *deposits) remind(ctx context.Context) error {
	if err := d.advance(ctx, remindAfter); err != nil {
		return err
	}
	var notices struct {
		Items []struct {
			Kind string `json:"kind"`
		} `json:"items"`
	}
	err := d.patiently(ctx, "a reminder", func() (bool, error) {
		err := d.client.must(ctx, http.MethodGet, "/v1/notices", d.tokens[absent], nil, &notices)
		for _, n := range notices.Items {
			if n.Kind == "DEPOSIT_REMINDER" {
				return true, nil
			}
		}
		return false, err
	})
	if err != nil {
		return err
	}
	d.say("  36 hours later: who has not confirmed is reminded")
	return nil
}

// miss lets the deadline pass.
func (d *deposits) miss(ctx context.Context) error {
	if err := d.advance(ctx, confirmUntil-remindAfter); err != nil {
		return err
	}
	for _, user := range []string{absent, patient} {
		if err := d.until(ctx, user, "CANCELLED", "REFUNDED"); err != nil {
			return err
		}
	}
	return d.tell(ctx, "48 hours are over: two lose the penalty and have the rest back", absent, patient, punctual)
}

// advance moves the clock of the stack, which is that of the tokens too.
func (d *deposits) advance(ctx context.Context, by time.Duration) error {
	if err := d.client.must(ctx, http.MethodPost, "/local/clock", "", map[string]any{"advance": by.String()}, nil); err != nil {
		return err
	}
	return d.logIn(ctx)
}

// until waits until a user's order and its deposit have these states.
func (d *deposits) until(ctx context.Context, user, status, deposit string) error {
	return d.patiently(ctx, fmt.Sprintf("the order of %s to become %s with its deposit %s", user, status, deposit), func() (bool, error) {
		var o depositOrder
		_, err := d.client.call(ctx, http.MethodGet, "/v1/orders/"+d.orders[user], d.tokens[user], nil, nil, &o)
		return o.Status == status && o.Deposit.Status == deposit, err
	})
}

// patiently asks until something holds, or patience is over.
func (d *deposits) patiently(ctx context.Context, what string, holds func() (bool, error)) error {
	for deadline := time.Now().Add(d.o.Patience); ; {
		yes, err := holds()
		if err != nil || yes {
			return err
		}
		if time.Now().After(deadline) {
			return &ErrBroken{"waited in vain for " + what}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// tell says what happened and what the wallets of some hold now.
func (d *deposits) tell(ctx context.Context, what string, users ...string) error {
	d.say("  %s", what)
	for _, user := range users {
		var wallet struct {
			Available money `json:"available"`
			Frozen    money `json:"frozen"`
		}
		if err := d.client.must(ctx, http.MethodGet, "/v1/wallet?currency="+currency, d.tokens[user], nil, &wallet); err != nil {
			return err
		}
		d.say("    %-18s available %7s  frozen %6s", user, wallet.Available.Amount, wallet.Frozen.Amount)
	}
	return nil
}

// prove checks both stores and all money.
func (d *deposits) prove(ctx context.Context) error {
	d.say("\nThe proof of the deposits, from MariaDB and Redis:")
	if err := Verify(ctx, d.o.Addresses, d.activity, nil, d.o.Patience, d.o.Out); err != nil {
		return err
	}
	d.say("\nEvery cent is accounted for.")
	return nil
}
