package api

import (
	"context"
	"errors"
	"time"

	"holdfast/shared/edge"
	"holdfast/shared/fault"
	"holdfast/shared/money"
	"holdfast/shared/sale"
	"holdfast/shared/stock"
	"holdfast/shared/wallet"
)

// affordBudget bounds the look into a wallet before a reservation, which goes on without it.
const affordBudget = 500 * time.Millisecond

// affords says whether a user has the money for the deposit of a wish: by a hint in Redis, and where that is missing or too low by MySQL,
// for nobody is refused by a hint. It holds nothing: whether the money is there when it is frozen, create-orders finds out. When MySQL
// cannot be asked, the wish goes on.
func (h *reserve) affords(ctx context.Context, f *sale.Facts, wish *stock.ReserveRequest) bool {
	if f.Deposit == nil || f.Mode == sale.Test {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, affordBudget)
	defer cancel()
	enough, err := h.Checkout.Affords(ctx, wallet.Key{UserID: wish.UserID, Currency: f.Currency}, depositOf(f, wish))
	if err != nil {
		h.Log.WarnContext(ctx, "a balance could not be read before a reservation", "activityId", f.ActivityID, "error", edge.Loggable(err))
		return true
	}
	return enough
}

// depositOf is what has to be frozen for a wish.
func depositOf(f *sale.Facts, wish *stock.ReserveRequest) money.Amount {
	t, _ := f.Type(wish.TicketType)
	return f.Deposit.Terms(t.Price.Times(wish.Quantity), wish.Quantity).Deposit
}

// refuseShort refuses a wish whose user has too little money. One that was made before is never refused, for its money may be frozen
// already: the script says what is to be said. Nobody is to top up for a sale that would refuse anyway, so its refusal comes first. It
// returns that, or InsufficientBalance.
func (h *reserve) refuseShort(ctx context.Context, f *sale.Facts, wish *stock.ReserveRequest) error {
	if _, err := h.Stock.Entry(ctx, f.ActivityID, wish.OrderID); !errors.Is(err, stock.ErrNoEntry) {
		return nil
	}
	if err := h.refusesAnyway(ctx, f, wish); err != nil {
		return err
	}
	needed := depositOf(f, wish)
	return fault.New(fault.InsufficientBalance, "The deposit is %s %s, and your wallet has less available.", needed, needed.Currency).
		With("deposit", needed)
}

// refusesAnyway is what the sale itself would refuse a wish with that has taken nothing yet. It is nil when it would not, or when that
// cannot be known at the moment.
func (h *reserve) refusesAnyway(ctx context.Context, f *sale.Facts, wish *stock.ReserveRequest) error {
	a, err1 := h.facts.rows.get(ctx, f.ActivityID)
	there, err2 := h.Stock.Waiting(ctx, f.ActivityID, []string{wish.TicketType})
	held, err3 := h.Stock.Holding(ctx, f.ActivityID, wish.UserID)
	now, err4 := h.Stock.Now(ctx)
	switch err := errors.Join(err1, err2, err3, err4); {
	case errors.Is(err, stock.ErrNotLoaded):
		return h.facts.whyNotLoaded(ctx, ctx, f.ActivityID)
	case err != nil:
		h.Log.WarnContext(ctx, "a sale could not be looked at before a wallet's refusal", "activityId", f.ActivityID, "error", edge.Loggable(err))
		return nil
	}
	if refusal := foreseen(a, there[0], held, now, wish); refusal != nil {
		return faultOfRefusal(refusal)
	}
	return nil
}

// foreseen is the refusal that the reserve script would give, in its order; nil when it would give none.
func foreseen(a *sale.Activity, there stock.Waiting, held stock.Holding, now time.Time, wish *stock.ReserveRequest) *stock.Refusal {
	switch {
	case now.Before(a.OpensAt):
		return &stock.Refusal{Err: stock.ErrNotStarted, OpensAt: a.OpensAt, Now: now}
	case !now.Before(a.ClosesAt):
		return &stock.Refusal{Err: stock.ErrEnded, ClosesAt: a.ClosesAt, Now: now}
	case a.Status == sale.Suspended:
		return &stock.Refusal{Err: stock.ErrSuspended}
	case a.Status != sale.Published:
		return &stock.Refusal{Err: stock.ErrClosed}
	case held.Quantity > 0 && a.PerUserLimit == 1:
		return &stock.Refusal{Err: stock.ErrAlreadyReserved, OrderID: held.LastOrderID}
	case there.Left < wish.Quantity:
		return &stock.Refusal{Err: stock.ErrInsufficient, Shortage: wish.Quantity - max(0, there.Left)}
	case there.Waiters > 0: // they come first
		return &stock.Refusal{Err: stock.ErrInsufficient, Shortage: wish.Quantity}
	case held.Quantity+wish.Quantity > a.PerUserLimit:
		return &stock.Refusal{Err: stock.ErrLimit, Limit: a.PerUserLimit, Held: held.Quantity}
	}
	return nil
}

// markSent notes that the reservation of a deposit seat was accepted by the queue, without which repair would give it up instead of
// freezing money for it. Nothing is promised before. It returns ReservationUnconfirmed when it could not be noted.
func (h *reserve) markSent(ctx context.Context, f *sale.Facts, r sale.Reservation) error {
	if f.Kind != sale.Deposit {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, stockBudget)
	defer cancel()
	if err := h.Stock.MarkSent(ctx, f.ActivityID, r.OrderID); err != nil {
		return unconfirmed(r.OrderID, err)
	}
	return nil
}
