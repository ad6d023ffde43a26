package api

import (
	"context"
	"errors"

	"holdfast/shared/fault"
	"holdfast/shared/sale"
	"holdfast/shared/stock"
)

// refused turns what the reserve script refused with, or failed with, into the answer. A call without an answer may still take
// effect, so the caller hears that units may be held; only words of Redis or a refused connection mean that none are.
func (h *reserve) refused(ctx, stockCtx context.Context, f *sale.Facts, id sale.OrderID, err error) error {
	var refusal *stock.Refusal
	switch {
	case errors.As(err, &refusal):
		return faultOfRefusal(refusal)
	case errors.Is(err, stock.ErrReplayDiffers):
		return otherWish(err)
	case errors.Is(err, stock.ErrNotLoaded):
		return h.facts.whyNotLoaded(ctx, stockCtx, f.ActivityID)
	case errors.Is(err, stock.ErrNoAnswer):
		return unconfirmed(id, err)
	case errors.Is(err, stock.ErrUnavailable):
		return fault.Wrap(fault.StockStoreUnavailable, err, "The stock cannot be reached. Nothing is held for you.")
	}
	return err
}

// otherWish is the refusal of a key that was used for another reservation.
func otherWish(err error) error {
	return fault.Wrap(fault.IdempotencyKeyReused, err, "The key named another reservation; a new wish needs a new key.")
}

// faultOfRefusal adds the members that the contract gives to each refusal.
func faultOfRefusal(r *stock.Refusal) error {
	switch {
	case errors.Is(r, stock.ErrNotStarted):
		return fault.Wrap(fault.SaleNotStarted, r, "The sale opens at opensAt.").
			With("opensAt", stamp(r.OpensAt)).With("now", stamp(r.Now)).After(r.OpensAt.Sub(r.Now))
	case errors.Is(r, stock.ErrEnded):
		return fault.Wrap(fault.SaleEnded, r, "The sale ended at closesAt.").
			With("closesAt", stamp(r.ClosesAt)).With("now", stamp(r.Now))
	case errors.Is(r, stock.ErrSuspended):
		return fault.Wrap(fault.SaleSuspended, r, "The sale is suspended and may go on later.")
	case errors.Is(r, stock.ErrClosed):
		return fault.Wrap(fault.SaleClosed, r, "The sale is closed.")
	case errors.Is(r, stock.ErrAlreadyReserved):
		return fault.Wrap(fault.AlreadyReserved, r, "One order per user, and you have one.").With("orderId", r.OrderID.String())
	case errors.Is(r, stock.ErrInsufficient):
		return fault.Wrap(fault.InsufficientStock, r, "Fewer units are left than you asked for.").With("shortage", r.Shortage)
	case errors.Is(r, stock.ErrLimit):
		return fault.Wrap(fault.PurchaseLimit, r, "You would hold more units than one user may.").
			With("limit", r.Limit).With("held", r.Held)
	}
	return r
}
