package checkout

import (
	"time"

	"holdfast/shared/deposit"
	"holdfast/shared/money"
	"holdfast/shared/notice"
	"holdfast/shared/order"
)

// depositData is what a notice about a deposit says. Members that do not apply are absent.
type depositData struct {
	Revision        int64          `json:"revision"` // of the deposit
	Status          deposit.Status `json:"status"`
	Deposit         money.Amount   `json:"deposit"`
	ConfirmDeadline time.Time      `json:"confirmDeadline"`
	Penalty         *money.Amount  `json:"penalty,omitempty"`
	Refund          *money.Amount  `json:"refund,omitempty"`
	Supplement      *money.Amount  `json:"supplement,omitempty"`
	Reason          order.Reason   `json:"reason,omitempty"` // why the order is cancelled
}

// aboutDeposit makes a notice of a kind. Reminders and extensions are about one deadline, the others about the order.
func aboutDeposit(kind notice.Kind, r *deposit.Record, data depositData) notice.Notice {
	data.Revision, data.Status, data.Deposit, data.ConfirmDeadline = r.Revision, r.Status, r.Deposit, r.ConfirmDeadline.UTC()
	n := notice.Notice{Subject: r.OrderID.String(), Kind: kind, UserID: r.UserID, ActivityID: r.ActivityID, OrderID: r.OrderID, Mode: r.Mode,
		Data: data}
	if kind == notice.DepositReminder || kind == notice.DeadlineExtended {
		n.Subject += "@" + data.ConfirmDeadline.Format(time.RFC3339)
	}
	return n
}

// reminderNotice tells a buyer to confirm, and what becomes of the money otherwise. It is too late at the deadline.
func reminderNotice(r *deposit.Record) notice.Notice {
	penalty, refund := r.Terms(money.Zero(r.Deposit.Currency)).Missed()
	n := aboutDeposit(notice.DepositReminder, r, depositData{Penalty: &penalty, Refund: &refund})
	at := r.ConfirmDeadline
	n.ExpiresAt = &at
	return n
}

// endNotice tells a buyer once that a deposit has ended: what the club keeps and what comes back where a penalty was due, and otherwise
// that the order is cancelled.
func endNotice(e *ending) notice.Notice {
	if !e.penalise {
		return orderNotice(notice.OrderCancelled, e.order)
	}
	penalty, refund := e.deposit.Penalty, e.deposit.Refunded
	return aboutDeposit(notice.DepositPenalty, e.deposit, depositData{Penalty: &penalty, Refund: &refund, Reason: e.reason})
}

// confirmNotice tells that the order is paid, and what the deposit came to.
func confirmNotice(r *deposit.Record) notice.Notice {
	supplement, refund := r.Supplement, r.Refunded
	return aboutDeposit(notice.DepositConfirmed, r, depositData{Supplement: &supplement, Refund: &refund})
}
