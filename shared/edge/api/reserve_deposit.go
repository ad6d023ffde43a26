package api

import (
	"context"
	"errors"
	"time"

	"holdfast/shared/edge"
	"holdfast/shared/fault"
	"holdfast/shared/sale"
	"holdfast/shared/stock"
	"holdfast/shared/wallet"
)

// affordBudget bounds the look into a wallet before a reservation, which goes on without it.
const affordBudget = 500 * time.Millisecond

// afford refuses a wish for deposit seats whose deposit its user has too little money for: by a hint in Redis, and where that is missing or
// too low by MySQL, for nobody is refused by a hint. It holds nothing: whether the money is there when it is frozen, create-orders finds
// out. A wish that was made before is never refused, for its money may be frozen already. When MySQL cannot be asked, the wish goes on. It
// returns InsufficientBalance.
func (h *reserve) afford(ctx context.Context, f *sale.Facts, wish *stock.ReserveRequest) error {
	t, _ := f.Type(wish.TicketType)
	if f.Deposit == nil || f.Mode == sale.Test {
		return nil
	}
	needed := f.Deposit.Terms(t.Price.Times(wish.Quantity), wish.Quantity).Deposit
	ctx, cancel := context.WithTimeout(ctx, affordBudget)
	defer cancel()
	enough, err := h.Checkout.Affords(ctx, wallet.Key{UserID: wish.UserID, Currency: f.Currency}, needed)
	if err != nil {
		h.Log.WarnContext(ctx, "a balance could not be read before a reservation", "activityId", f.ActivityID, "error", edge.Loggable(err))
		return nil
	}
	if enough {
		return nil
	}
	switch _, err := h.Stock.Entry(ctx, f.ActivityID, wish.OrderID); {
	case errors.Is(err, stock.ErrNoEntry):
		return fault.New(fault.InsufficientBalance, "The deposit is %s %s, and your wallet has less available.", needed, needed.Currency).
			With("deposit", needed)
	default: // known, or not to be told: the script says what is to be said
		return nil
	}
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
