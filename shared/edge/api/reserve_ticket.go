package api

import (
	"context"
	"errors"
	"net/http"

	"github.com/aws/aws-lambda-go/lambda"

	"holdfast/shared/checkout"
	"holdfast/shared/edge"
	"holdfast/shared/fault"
	"holdfast/shared/order"
	"holdfast/shared/sale"
	"holdfast/shared/stock"
)

// maxQuantity is far above any limit per user: beyond it a quantity is a mistake and not a wish.
const maxQuantity = 1_000_000

// reserve answers POST /v1/activities/{activityId}/reservations.
type reserve struct {
	edge.Deps
	facts  *facts
	orders *orders
}

// NewReserveTicket builds POST /v1/activities/{activityId}/reservations: units are taken in Redis, handed to create-orders by the
// queue, and only then promised. MySQL is not on the way, unless Redis does not know the activity or a replay asks for an order that
// is written, or a wallet has to be looked into. It takes DB, Stock, Checkout, Reconcile, Orders, Claims and Log.
func NewReserveTicket(d edge.Deps) lambda.Handler {
	kept := newFacts(d)
	h := &reserve{Deps: d, facts: kept, orders: &orders{d: d, facts: kept}}
	return serve(d, "reserve-ticket", reserveBudget, h.answer)
}

func (h *reserve) answer(ctx context.Context, r *Request) (*Response, error) {
	user, err := r.userID(h.Claims)
	if err != nil {
		return nil, err
	}
	key, err := r.idempotencyKey()
	if err != nil {
		return nil, err
	}
	activityID, err := pathActivity(r)
	if err != nil {
		return nil, err
	}
	body, err := r.Fields()
	if err != nil {
		return nil, err
	}
	ticketType, quantity := body.String("ticketType"), int(body.Int("quantity", 1, maxQuantity))
	if err := body.Finish(); err != nil {
		return nil, err
	}
	stockCtx, cancel := context.WithTimeout(ctx, stockBudget)
	defer cancel()
	f, err := h.facts.get(ctx, stockCtx, activityID)
	if err != nil {
		return nil, err
	}
	if _, known := f.Type(ticketType); !known {
		body.Break("ticketType", "NOT_ALLOWED", "a ticket type of this activity")
	}
	if err := body.Finish(); err != nil {
		return nil, err
	}
	wish := stock.ReserveRequest{OrderID: f.OrderID(user, key), UserID: user, TicketType: ticketType, Quantity: quantity}
	if f.Kind == sale.Deposit {
		enough := h.affords(ctx, f, &wish)
		// MySQL may have used the first budget up. What Redis may take is the same in all, the hint about the balance included.
		again, cancel := context.WithTimeout(ctx, stockBudget-checkout.HintBudget)
		defer cancel()
		if stockCtx = again; !enough {
			if err := h.refuseShort(stockCtx, f, &wish); err != nil {
				return nil, err
			}
		}
	}
	reserved, err := h.Stock.Reserve(stockCtx, f, wish)
	if err != nil {
		return nil, h.refused(ctx, stockCtx, f, wish.OrderID, err)
	}
	return h.promise(ctx, f, &wish, reserved)
}

// promise turns what the script said into the answer, sending what create-orders may not have yet.
func (h *reserve) promise(ctx context.Context, f *sale.Facts, wish *stock.ReserveRequest, got stock.Reserved) (*Response, error) {
	r := got.Reservation
	switch got.Standing {
	case stock.Taken:
		if err := h.deliver(ctx, f, r); err != nil {
			return nil, err
		}
		return accepted(found{reservedOrder(f, r), r.At}, false)
	case stock.Pending:
		if err := h.deliver(ctx, f, r); err != nil {
			return nil, err
		}
		// It may have become an order already, and only the word about it may be missing.
		if it, err := h.orders.cached(ctx, f.ActivityID, r.OrderID); err == nil {
			return accepted(it, true)
		}
		now, err := h.Stock.Now(ctx)
		if err != nil {
			now = r.At
		}
		return accepted(found{reservedOrder(f, r), now}, true)
	default: // acknowledged or dead: the order stands as it stands, and nothing is sent
		it, err := h.orders.find(ctx, f, r.OrderID)
		if errors.Is(err, order.ErrNotFound) {
			return nil, fault.Wrap(fault.OrderStoreUnavailable, errRowLost, "The order is known but cannot be read at the moment.")
		}
		if err != nil {
			return nil, err
		}
		// After a load the log knows neither type nor quantity of a dead order, so the script has compared nothing.
		if !it.order.SameWish(f.ActivityID, wish.UserID, wish.TicketType, wish.Quantity) {
			return nil, otherWish(stock.ErrReplayDiffers)
		}
		return accepted(it, true)
	}
}

// deliver sends the reservation, and notes of a deposit seat that it was sent. It returns ReservationUnconfirmed.
func (h *reserve) deliver(ctx context.Context, f *sale.Facts, r sale.Reservation) error {
	if err := h.send(ctx, r); err != nil {
		return err
	}
	return h.markSent(ctx, f, r)
}

// send hands the reservation to the queue: one attempt, and one more if that was refused or stayed without answer. When neither
// was accepted it returns ReservationUnconfirmed: the reservation stays pending, and repair or the same key finishes it.
func (h *reserve) send(ctx context.Context, r sale.Reservation) error {
	var errs []error
	for range 2 {
		attempt, cancel := context.WithTimeout(ctx, sendTimeout)
		err := h.Orders.Publish(attempt, r)
		cancel()
		if err == nil {
			return nil
		}
		errs = append(errs, err)
		if ctx.Err() != nil {
			break
		}
	}
	return unconfirmed(r.OrderID, errors.Join(errs...))
}

// unconfirmed is the answer when units may be held and nobody can promise an order yet.
func unconfirmed(id sale.OrderID, err error) error {
	return fault.Wrap(fault.ReservationUnconfirmed, err,
		"Units may be held for you. Send the same request with the same Idempotency-Key again, or poll the order.").
		With("orderId", id.String())
}

// accepted is the 202 of an order, as it stands at that instant.
func accepted(it found, replayed bool) (*Response, error) {
	response, err := JSON(http.StatusAccepted, viewOrder(it.order, it.now))
	if err != nil {
		return nil, err
	}
	response.Header["Location"] = orderLocation(it.order.ID)
	if replayed {
		response.Header["Idempotency-Replayed"] = "true"
	}
	return response, nil
}
