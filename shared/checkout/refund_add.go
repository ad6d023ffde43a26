package checkout

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"holdfast/shared/money"
	"holdfast/shared/notice"
	"holdfast/shared/order"
	"holdfast/shared/payment"
	"holdfast/shared/sale"
	"holdfast/shared/wallet"
)

// back is money that a transaction gives back: the row, written already, and the movement that the transaction still has to make; none
// of a TEST sale.
type back struct {
	refund payment.Refund
	moves  []wallet.Movement
}

// giveBack writes that an amount of a locked order's payment goes back to where it came from, in the order and as a refund under an id,
// for a reason. What goes to a wallet or by hand is done with the movement; what goes to the provider is sent after the commit. The
// buyer is told once it is done. It returns payment.ErrExists when the id is taken.
func giveBack(ctx context.Context, tx *sql.Tx, o *order.Order, amount money.Amount, id, reason string, now time.Time) (*back, error) {
	r := payment.Refund{ID: id, OrderID: o.ID, ActivityID: o.ActivityID, UserID: o.UserID, Amount: amount, Reason: reason,
		Status: payment.RefundRequested, DueAt: now, CreatedAt: now, UpdatedAt: now}
	if err := aim(ctx, tx, o, &r); err != nil {
		return nil, err
	}
	if r.Target != payment.ToProvider || o.Mode == sale.Test {
		r.Status, r.FinishedAt = payment.RefundSucceeded, &r.CreatedAt
	}
	if err := payment.InsertRefund(ctx, tx, &r); err != nil {
		return nil, err
	}
	if err := order.Refund(ctx, tx, o, amount, now); err != nil {
		return nil, err
	}
	if r.Status == payment.RefundSucceeded {
		if err := notice.Add(ctx, tx, []notice.Notice{refundNotice(&r, o.Mode)}, now); err != nil {
			return nil, err
		}
	}
	return &back{r, moneyOf(o.Mode, wallet.Movement{Type: wallet.Refund, Reference: r.ID, UserID: r.UserID, OrderID: r.OrderID,
		Amount: amount, Target: r.Target})}, nil
}

// aim says where a refund goes: to where the money came from. What an operator said was paid goes back by hand, and what a deposit
// paid to the wallet that it came from.
func aim(ctx context.Context, tx *sql.Tx, o *order.Order, r *payment.Refund) error {
	if strings.HasPrefix(o.PaidBy, order.PaidByManual("")) {
		r.Target = payment.ToOutside
		return nil
	}
	r.Target = payment.ToWallet
	p, err := payment.Get(ctx, tx, o.PaidBy)
	if errors.Is(err, payment.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	r.PaymentID = p.ID
	if p.Method == payment.ByProvider {
		r.Target = payment.ToProvider
	}
	return nil
}

// moneyOf are the movements of a sale: a TEST sale moves no money.
func moneyOf(mode sale.Mode, moves ...wallet.Movement) []wallet.Movement {
	if mode == sale.Test {
		return nil
	}
	return moves
}

// refundData is what a notice about a refund says.
type refundData struct {
	RefundID string               `json:"refundId"`
	Status   payment.RefundStatus `json:"status"`
	Amount   money.Amount         `json:"amount"`
	Target   payment.Target       `json:"target"`
}

// refundNotice tells a buyer how a refund ended.
func refundNotice(r *payment.Refund, mode sale.Mode) notice.Notice {
	kind := notice.RefundSucceeded
	if r.Status == payment.RefundFailed {
		kind = notice.RefundFailed
	}
	return notice.Notice{Subject: r.ID, Kind: kind, UserID: r.UserID, ActivityID: r.ActivityID, OrderID: r.OrderID, Mode: mode,
		Data: refundData{r.ID, r.Status, r.Amount, r.Target}}
}

// buyersWallet names the wallet of an order's buyer.
func buyersWallet(o *order.Order) wallet.Key {
	return wallet.Key{UserID: o.UserID, Currency: o.Amount.Currency}
}
