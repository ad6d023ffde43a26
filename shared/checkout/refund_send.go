package checkout

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"holdfast/shared/alert"
	"holdfast/shared/money"
	"holdfast/shared/notice"
	"holdfast/shared/order"
	"holdfast/shared/payment"
	"holdfast/shared/sale"
	"holdfast/shared/wallet"
)

// When a refund that the provider has not answered for good is sent again: after a minute, then twice as long each time, up to an hour.
const (
	refundAgain    = time.Minute
	refundAgainMax = time.Hour
)

// sendPatience bounds one attempt to send a refund beside a request; the minute pass sends what is left.
const sendPatience = 3 * time.Second

// RefundSweep counts what a pass over due refunds did.
type RefundSweep struct {
	Sent     int // taken up
	Finished int // answered for good, SUCCEEDED or FAILED
}

// SendRefunds sends one page of refunds that are due, each under its own id, longest due first. One that cannot be answered for now is
// sent again later. It returns what was done, with the errors of the database; a provider that is away is none, and ends the pass.
func (c *Checkout) SendRefunds(ctx context.Context, limit int) (RefundSweep, error) {
	var sum RefundSweep
	if c.provider == nil {
		return sum, nil
	}
	now, err := c.db.Now(ctx, c.db)
	if err != nil {
		return sum, err
	}
	due, err := payment.DueRefunds(ctx, c.db, now, limit)
	if err != nil {
		return sum, err
	}
	var errs []error
	for _, id := range due {
		status, err := c.sendRefund(ctx, id)
		if status != "" {
			sum.Sent++
		}
		if status.Final() {
			sum.Finished++
		}
		if errors.Is(err, payment.ErrNoProvider) {
			break
		}
		errs = append(errs, err)
	}
	return sum, errors.Join(errs...)
}

// sendAtOnce sends a refund that was just committed, best effort.
func (c *Checkout) sendAtOnce(ctx context.Context, id string) {
	if c.provider == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, sendPatience)
	defer cancel()
	if _, err := c.sendRefund(ctx, id); err != nil {
		c.log.Warn("a refund is left to the minute pass", "refundId", id, "error", err)
	}
}

// sendRefund sends a refund if it is due, and says how it stands then; "" when it was not due. Whoever sends has it for a minute: the
// due instant moves before the provider is asked, so that it is sent again should no answer come.
func (c *Checkout) sendRefund(ctx context.Context, id string) (payment.RefundStatus, error) {
	r, err := c.takeUp(ctx, id)
	if err != nil || r == nil {
		return "", err
	}
	asking, cancel := context.WithTimeout(ctx, providerPatience)
	state, err := c.provider.Refund(asking, payment.RefundOrder{RefundID: r.ID, PaymentID: r.PaymentID, Amount: r.Amount})
	cancel()
	switch {
	case errors.Is(err, payment.ErrRefused):
		state = payment.RefundState{Status: payment.RefundFailed, Failure: "REFUSED"}
	case err != nil:
		return payment.RefundSent, errors.Join(err, c.noteUnanswered(ctx, r.ID))
	}
	if !state.Status.Final() {
		return payment.RefundSent, nil
	}
	return state.Status, c.finishRefund(ctx, r.ID, state)
}

func (c *Checkout) noteUnanswered(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), noteBudget)
	defer cancel()
	now, err := c.db.Now(ctx, c.db)
	if err != nil {
		return err
	}
	return payment.NoteUnanswered(ctx, c.db, id, "NO_ANSWER", now)
}

// takeUp claims a refund that is due for one sending; nil when it is not due, or was taken up by somebody else.
func (c *Checkout) takeUp(ctx context.Context, id string) (r *payment.Refund, err error) {
	err = c.db.Run(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if r, err = payment.GetRefundForUpdate(ctx, tx, id); err != nil {
			return err
		}
		now, err := c.db.Now(ctx, tx)
		if err != nil {
			return err
		}
		if r.Status.Final() || r.DueAt.After(now) {
			r = nil
			return nil
		}
		pause := min(refundAgain<<min(r.Attempts, 10), refundAgainMax)
		return payment.TakeUp(ctx, tx, r, now.Add(pause), now)
	})
	return r, err
}

// refundContradicted is raised for a refund that the provider says to have ended otherwise than it said before.
const refundContradicted alert.Kind = "REFUND_CONTRADICTED"

// finishRefund records how a refund ended, once. The money of one that failed comes back from the provider and waits in SUSPENSE for a
// person, who is alerted; so is one when a refund is said to have ended otherwise than it is recorded, which stays.
func (c *Checkout) finishRefund(ctx context.Context, id string, state payment.RefundState) error {
	finished := false
	err := c.repeatable(ctx, func(ctx context.Context, tx *sql.Tx) error {
		finished = false
		r, err := payment.GetRefundForUpdate(ctx, tx, id)
		if err != nil || r.Status == state.Status {
			return err
		}
		now, err := c.db.Now(ctx, tx)
		if err != nil {
			return err
		}
		if r.Status.Final() {
			return alert.Raise(ctx, tx, alert.Alert{Kind: refundContradicted, Subject: r.ID, ActivityID: r.ActivityID, Evidence: map[string]any{
				"orderId": r.OrderID, "paymentId": r.PaymentID, "amount": r.Amount, "recorded": r.Status, "reported": state.Status,
				"failure": state.Failure}}, now)
		}
		if err := payment.Finish(ctx, tx, r, state.Status, state.Failure, now); err != nil {
			return err
		}
		if r.Status == payment.RefundFailed {
			if err := keepFailed(ctx, tx, r, now); err != nil {
				return err
			}
		}
		finished = true
		o, err := order.Get(ctx, tx, r.OrderID)
		if err != nil {
			return err
		}
		return notice.Add(ctx, tx, []notice.Notice{refundNotice(r, o.Mode)}, now)
	})
	if err == nil && finished {
		c.ring(ctx)
	}
	return err
}

func keepFailed(ctx context.Context, tx *sql.Tx, r *payment.Refund, now time.Time) error {
	err := wallet.Apply(ctx, tx, []wallet.Movement{{Type: wallet.RefundFailed, Reference: r.ID, UserID: r.UserID, OrderID: r.OrderID,
		Amount: r.Amount}}, now)
	if err != nil {
		return err
	}
	return alert.Raise(ctx, tx, alert.Alert{Kind: alert.RefundFailed, Subject: r.ID, ActivityID: r.ActivityID, Evidence: map[string]any{
		"orderId": r.OrderID, "paymentId": r.PaymentID, "amount": r.Amount, "failure": r.LastError, "surplus": r.Surplus}}, now)
}

// RefundNews is what the provider says became of a refund.
type RefundNews struct {
	RefundID string
	State    payment.RefundState // SUCCEEDED or FAILED
	Amount   money.Amount
}

// LearnRefund takes news of a refund that was sent to the provider, however often they come; what is final stays, and a person is told of
// news that contradict it. It returns
// payment.ErrNotFound for a refund that no provider was asked for, ErrAmountDiffers, and the errors of the database.
func (c *Checkout) LearnRefund(ctx context.Context, news RefundNews) error {
	r, err := payment.GetRefund(ctx, c.db, news.RefundID)
	if err != nil {
		return err
	}
	o, err := order.Get(ctx, c.db, r.OrderID)
	if err != nil {
		return err
	}
	if r.Target != payment.ToProvider || o.Mode == sale.Test {
		return payment.ErrNotFound
	}
	if news.Amount.Currency != r.Amount.Currency || news.Amount.Cmp(r.Amount) != 0 {
		return ErrAmountDiffers
	}
	return c.finishRefund(ctx, r.ID, news.State)
}
