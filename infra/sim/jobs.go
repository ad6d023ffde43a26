package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"holdfast/shared/audit"
	"holdfast/shared/catalog"
	"holdfast/shared/sale"
)

// ticket is the one type on sale.
const ticket = "STANDARD"

// begin makes an actor that does a job, on one of the processes; nil when there is nothing to do.
func (r *run) begin(j job) *actor {
	on := r.process[r.rng.IntN(len(r.process))]
	switch j {
	case reserving:
		return r.reserve(on, r.anyWish())
	case delivering:
		return r.deliver(on, "create-orders", j, &r.queue.messages, 1+r.rng.IntN(4))
	case recordingLetters:
		return r.deliver(on, "record-dead-letters", j, &r.queue.letters, 3)
	case cancelling, reading, paying:
		w := r.knownWish()
		if w == nil {
			return nil
		}
		switch j {
		case cancelling:
			return r.request(on, j, "cancel", w, "POST", "/v1/orders/{orderId}/cancellation", nil,
				func(status int) { w.over = w.over || status == http.StatusOK })
		case reading:
			return r.request(on, j, "get-order", w, "GET", "/v1/orders/{orderId}", nil, func(int) {})
		}
		return r.pay(on, w)
	case compensating:
		return r.invoke(on, j, "compensate")
	case expiring:
		return r.invoke(on, j, "expire")
	case reconciling:
		return r.invoke(on, j, "reconcile")
	case loading:
		return r.spawn("load", on, func(ctx context.Context) { _ = on.Reconcile.Load(ctx, r.activity.ID) })
	case adjusting:
		return r.adjust(on)
	case switching:
		to := sale.Suspended
		if r.rng.IntN(2) == 0 {
			to = sale.Published
		}
		return r.transition(on, to)
	case closing:
		return r.transition(on, sale.Closed)
	}
	return r.beginMoney(on, j)
}

// anyWish is an old wish again or a new one; one that is over comes up less often.
func (r *run) anyWish() *wish {
	w := r.someWish()
	for range 3 {
		if !w.over {
			break
		}
		w = r.someWish()
	}
	return w
}

func (r *run) someWish() *wish {
	user, key := fmt.Sprintf("user-%d", r.rng.IntN(r.profile.users)), fmt.Sprintf("key-%d", r.rng.IntN(r.profile.keys))
	id := r.facts.OrderID(user, key)
	if i := slices.IndexFunc(r.journal, func(w *wish) bool { return w.id == id }); i >= 0 {
		return r.journal[i]
	}
	w := &wish{id: id, user: user, key: key, quantity: 1 + r.rng.IntN(r.profile.limit)}
	r.journal = append(r.journal, w)
	return w
}

// knownWish is a wish whose user has heard of its order, and seldom one that is over; nil when there is none.
func (r *run) knownWish() *wish {
	var known []*wish
	for _, w := range r.journal {
		if w.known && (!w.over || r.rng.IntN(8) == 0) {
			known = append(known, w)
		}
	}
	if len(known) == 0 {
		return nil
	}
	return known[r.rng.IntN(len(known))]
}

// reserve is one attempt of a wish.
func (r *run) reserve(on *instance, w *wish) *actor {
	w.asks()
	body := map[string]any{"ticketType": ticket, "quantity": w.quantity}
	return r.request(on, reserving, "reserve", w, "POST", "/v1/activities/{activityId}/reservations", body, w.hears)
}

// request is a call of the API. heard gets the status of its answer, unless the actor dies before.
func (r *run) request(on *instance, j job, name string, w *wish, method, path string, body any, heard func(status int)) *actor {
	return r.requestBy(on, j, name, w, w.key, method, path, body, heard)
}

// requestBy is request under another key.
func (r *run) requestBy(on *instance, j job, name string, w *wish, key, method, path string, body any, heard func(status int)) *actor {
	payload, err := apiEvent(method, path, map[string]string{"activityId": r.activity.ID, "orderId": w.id.String()}, w.user, key, body)
	r.check(err)
	var status int
	a := r.spawn(fmt.Sprintf("%s %s/%s", name, w.user, w.key), on, func(ctx context.Context) {
		answer, err := on.handlers[j].Invoke(ctx, payload)
		if actorOf(ctx).dead.Load() {
			return
		}
		r.check(err)
		status = r.statusOf(answer)
	})
	a.after = func() {
		if status != 0 {
			r.tell(fmt.Sprintf("%s answers %d", a, status))
			heard(status)
		}
	}
	return a
}

// statusOf is the HTTP status of an answer.
func (r *run) statusOf(answer []byte) int {
	var response struct {
		StatusCode int `json:"statusCode"`
	}
	r.check(json.Unmarshal(answer, &response))
	return response.StatusCode
}

// apiEvent is a request as API Gateway hands it over, payload version 2.0.
func apiEvent(method, path string, params map[string]string, user, key string, body any) ([]byte, error) {
	text := ""
	headers := map[string]string{"idempotency-key": key}
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		text = string(encoded)
		headers["content-type"] = "application/json"
	}
	return json.Marshal(map[string]any{"version": "2.0", "rawPath": path, "headers": headers, "pathParameters": params, "body": text,
		"requestContext": map[string]any{"requestId": "sim", "http": map[string]string{"method": method, "path": path},
			"authorizer": map[string]any{"jwt": map[string]any{"claims": map[string]string{"sub": user}}}}})
}

// deliver hands messages to a function; nil when there are none.
func (r *run) deliver(on *instance, name string, j job, from *[]*message, most int) *actor {
	batch := r.queue.take(*from, most, func() bool { return r.rng.Float64() < r.profile.doubles }, r.rng)
	if len(batch) == 0 {
		return nil
	}
	payload, err := event(batch)
	r.check(err)
	var answer []byte
	a := r.spawn(name, on, func(ctx context.Context) {
		said, err := on.handlers[j].Invoke(ctx, payload)
		if !actorOf(ctx).dead.Load() && err == nil {
			answer = said
		}
	})
	a.ctx = a.ctx.(timeless).Context // create-orders keeps some of the time that it is given, and must think it has enough
	a.after = func() { r.check(r.queue.land(from, batch, answer)) }
	return a
}

// invoke is one pass of a schedule.
func (r *run) invoke(on *instance, j job, name string) *actor {
	handler := on.handlers[j]
	if handler == nil {
		return nil
	}
	return r.spawn(name, on, func(ctx context.Context) {
		if answer, err := handler.Invoke(ctx, []byte("{}")); err == nil && !actorOf(ctx).dead.Load() {
			r.notePass(name, answer)
		}
	})
}

func (r *run) pay(on *instance, w *wish) *actor {
	return r.spawn("pay "+w.user+"/"+w.key, on, func(ctx context.Context) {
		_, _ = on.Checkout.MarkPaid(ctx, w.id, "receipt", operator("order.mark-paid", w.id.String()))
	})
}

// adjust changes the capacity by a few units, under one of a few ids, so that a change is also asked for twice.
func (r *run) adjust(on *instance) *actor {
	n := r.rng.IntN(4)
	delta := []int{1, 3, -1, -2}[n]
	return r.spawn(fmt.Sprintf("adjust %+d", delta), on, func(ctx context.Context) {
		change := catalog.Adjustment{ActivityID: r.activity.ID, ID: fmt.Sprintf("change-%d", n), TicketType: ticket, Delta: delta, Reason: "sim"}
		_, _ = on.Reconcile.AdjustStock(ctx, change, operator("activity.adjust-stock", r.activity.ID))
	})
}

// transition is an operator's change of status: the database first, then Redis.
func (r *run) transition(on *instance, to sale.Status) *actor {
	return r.spawn("becomes "+string(to), on, func(ctx context.Context) {
		if _, _, err := on.Catalog.Transition(ctx, r.activity.ID, to, operator("activity.transition", r.activity.ID)); err == nil {
			_ = on.Reconcile.ApplyRules(ctx, r.activity.ID)
		}
	})
}

func operator(action, subject string) audit.Entry {
	return audit.Entry{Operator: "operator", Action: action, Subject: subject, RequestID: "sim"}
}
