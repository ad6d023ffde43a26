package checkout

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"holdfast/shared/alert"
	"holdfast/shared/notice"
	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
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
		return notice.Skip(ctx, tx, slices.DeleteFunc(page, func(n notice.Stored) bool { return !isStale(n) }), now)
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

// outdated names those of the notices that are not to be sent any more: past their time, or reminders of deposits that are not FROZEN.
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
	frozen, err := frozenDeposits(ctx, tx, reminded)
	if err != nil {
		return nil, err
	}
	for i := range page {
		if n := &page[i]; n.Kind == notice.DepositReminder && !frozen[n.OrderID] {
			stale[n.ID] = true
		}
	}
	return stale, nil
}

// frozenDeposits says which of the orders have a deposit that is FROZEN, as last committed.
func frozenDeposits(ctx context.Context, tx *sql.Tx, ids []sale.OrderID) (map[sale.OrderID]bool, error) {
	args := make([]any, len(ids))
	for i := range ids {
		args[i] = ids[i][:]
	}
	rows, err := tx.QueryContext(ctx, `SELECT order_id FROM deposit_record WHERE order_id IN `+sqltx.In(len(ids))+` AND status = 'FROZEN'`, args...)
	if err != nil {
		return nil, fmt.Errorf("checkout: reading deposits: %w", err)
	}
	defer rows.Close()
	frozen := make(map[sale.OrderID]bool, len(ids))
	for rows.Next() {
		var id []byte
		if err := rows.Scan(&id); err != nil {
			return nil, fmt.Errorf("checkout: reading deposits: %w", err)
		}
		frozen[sale.OrderID(id)] = true
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("checkout: reading deposits: %w", err)
	}
	return frozen, nil
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
