package checkout

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"holdfast/shared/alert"
	"holdfast/shared/deposit"
	"holdfast/shared/notice"
	"holdfast/shared/sale"
)

// Publish hands notices to whoever is to tell people, and answers one error per message, in order; nil means that the message is
// accepted for good.
type Publish func(ctx context.Context, messages []notice.Message) []error

// SentNotices says what became of a page of notices that were due.
type SentNotices struct {
	Sent    int `json:"sent"`
	Skipped int `json:"skipped"` // too late to tell, or no longer true
	Failed  int `json:"failed"`  // not accepted: they wait, longer with every attempt
}

// noticeStuck is raised for a notice that was tried stuckAfter times and more: some 20 minutes.
const noticeStuck alert.Kind = "NOTICE_STUCK"

const stuckAfter = 8

// SendNotices sends one page of the notices that are due: it claims them, publishes what still holds, and marks what was accepted. A
// notice may be published twice, under its one id, when this ends between publishing and marking. It returns the errors of the database;
// what was claimed then is due again when its claim runs out. All zero: nothing was due.
func (c *Checkout) SendNotices(ctx context.Context, publish Publish, limit int) (SentNotices, error) {
	var claimed []notice.Stored
	var out SentNotices
	err := c.db.Run(ctx, func(ctx context.Context, tx *sql.Tx) error {
		now, err := c.db.Now(ctx, tx)
		if err != nil {
			return err
		}
		page, err := notice.Claim(ctx, tx, now, limit)
		if err != nil {
			return err
		}
		stale, err := outdated(ctx, tx, page, now)
		if err != nil {
			return err
		}
		out.Skipped, claimed = len(stale), page
		if len(stale) == 0 {
			return nil
		}
		isStale := func(n notice.Stored) bool { return stale[n.ID] }
		claimed = slices.DeleteFunc(slices.Clone(page), isStale)
		return notice.MarkSkipped(ctx, tx, slices.DeleteFunc(page, func(n notice.Stored) bool { return !isStale(n) }), now)
	})
	if err != nil {
		return SentNotices{}, err
	}
	sent, failed := publishNotices(ctx, publish, claimed)
	out.Sent, out.Failed = len(sent), len(failed)
	err = c.repeatable(context.WithoutCancel(ctx), func(ctx context.Context, tx *sql.Tx) error {
		now, err := c.db.Now(ctx, tx)
		if err != nil {
			return err
		}
		if err := notice.MarkSent(ctx, tx, sent, now); err != nil {
			return err
		}
		if err := notice.PutBack(ctx, tx, failed, now); err != nil {
			return err
		}
		return raiseStuck(ctx, tx, failed, now)
	})
	return out, err
}

// publishNotices publishes and sorts what was accepted from what was not. A notice that cannot be made into a message was not.
func publishNotices(ctx context.Context, publish Publish, claimed []notice.Stored) (sent, failed []notice.Stored) {
	var fit []notice.Stored
	var messages []notice.Message
	for _, n := range claimed {
		m, err := n.Message()
		if err != nil {
			failed = append(failed, n)
			continue
		}
		fit, messages = append(fit, n), append(messages, m)
	}
	if len(messages) == 0 {
		return nil, failed
	}
	for i, err := range publish(ctx, messages) {
		if err != nil {
			failed = append(failed, fit[i])
		} else {
			sent = append(sent, fit[i])
		}
	}
	return sent, failed
}

// outdated names those of the notices that are not to be sent any more: past their time, or reminders of deposits that nobody is to confirm.
func outdated(ctx context.Context, tx *sql.Tx, page []notice.Stored, now time.Time) (map[int64]bool, error) {
	stale := make(map[int64]bool)
	var reminded []sale.OrderID
	for i := range page {
		n := &page[i]
		if n.ExpiresAt != nil && !n.ExpiresAt.After(now) {
			stale[n.ID] = true
		} else if n.Kind == notice.DepositReminder {
			reminded = append(reminded, n.OrderID)
		}
	}
	if len(reminded) == 0 {
		return stale, nil
	}
	open, err := deposit.StillToConfirm(ctx, tx, reminded)
	if err != nil {
		return nil, err
	}
	for i := range page {
		if n := &page[i]; n.Kind == notice.DepositReminder && !open[n.OrderID] {
			stale[n.ID] = true
		}
	}
	return stale, nil
}

// raiseStuck has a person look at notices that are refused again and again.
func raiseStuck(ctx context.Context, tx *sql.Tx, failed []notice.Stored, now time.Time) error {
	for _, n := range failed {
		if n.Attempts < stuckAfter {
			continue
		}
		err := alert.Raise(ctx, tx, alert.Alert{Kind: noticeStuck, Subject: n.Name(), ActivityID: n.ActivityID,
			Evidence: map[string]any{"kind": n.Kind, "attempts": n.Attempts}}, now)
		if err != nil {
			return err
		}
	}
	return nil
}
