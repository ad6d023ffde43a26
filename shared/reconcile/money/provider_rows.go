package money

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"holdfast/shared/money"
	"holdfast/shared/payment"
	"holdfast/shared/reconcile"
	"holdfast/shared/sqltx"
)

// table is one of the two tables of what a provider is asked for. Its value stands before the id in subjects.
type table string

const (
	payments table = "payment"
	refunds  table = "refund"
)

// subjectOf names what the provider lists as a difference does.
func subjectOf(s *payment.Success) string {
	if s.RefundID != "" {
		return string(refunds) + " " + s.RefundID
	}
	return string(payments) + " " + s.PaymentID
}

// named is what a subject names.
func named(subject string) (table, string) {
	t, id, _ := strings.Cut(subject, " ")
	return table(t), id
}

// ownRow is a row of payment or refund.
type ownRow struct {
	subject, activityID, status, reference string
	amount                                 money.Amount
	asked                                  bool // of money that a provider was asked for
	created                                time.Time
	ended                                  *time.Time // when its success was learnt, or its end
}

// rows selects rows of the table; id stands for its key.
func (t table) rows() (statement, id string) {
	if t == refunds {
		return `SELECT r.refund_id, r.activity_id, r.status, r.amount, r.currency, '', r.target = 'PROVIDER' AND COALESCE(o.mode, 'LIVE') = 'LIVE',
 r.created_at, r.finished_at FROM refund r LEFT JOIN trade_order o ON o.id = r.order_id `, "r.refund_id"
	}
	return `SELECT payment_id, activity_id, status, amount, currency, COALESCE(provider_reference, ''), method = 'PROVIDER' AND mode = 'LIVE',
 created_at, succeeded_at FROM payment `, "payment_id"
}

func (t table) scan(row sqltx.Scanner) (o ownRow, err error) {
	var amount decimal.Decimal
	var currency string
	var ended sql.NullTime
	err = row.Scan(&o.subject, &o.activityID, &o.status, &amount, &currency, &o.reference, &o.asked, &o.created, &ended)
	o.subject, o.amount, o.ended = string(t)+" "+o.subject, money.Of(amount, currency), sqltx.Instant(ended)
	return o, err
}

// idsAtOnce is how many ids a statement names.
const idsAtOnce = 100

// readOwn reads the rows of subjects; those without a row are absent.
func readOwn(ctx context.Context, q sqltx.Querier, subjects []string) (map[string]*ownRow, error) {
	out := make(map[string]*ownRow, len(subjects))
	ids := make(map[table][]string)
	for _, subject := range subjects {
		t, id := named(subject)
		ids[t] = append(ids[t], id)
	}
	for _, t := range []table{payments, refunds} {
		statement, key := t.rows()
		for page := range slices.Chunk(ids[t], idsAtOnce) {
			found, err := sqltx.Collect(ctx, q, t.scan, statement+`WHERE `+key+` IN `+sqltx.In(len(page)), sqltx.Args(page)...)
			if err != nil {
				return nil, fmt.Errorf("money: read what a provider was asked for: %w", err)
			}
			for i := range found {
				out[found[i].subject] = &found[i]
			}
		}
	}
	return out, nil
}

// succeeded reads, of the next rows of the table by their keys, those that a provider was asked for and whose success was learnt within an
// interval, and says up to which key it has looked and whether there are more.
func (t table) succeeded(ctx context.Context, tx *sql.Tx, after []byte, from, until time.Time) (list []ownRow, last []byte, more bool, err error) {
	statement, key := t.rows()
	bound, end := `SELECT payment_id FROM payment WHERE payment_id > ? ORDER BY payment_id LIMIT 1 OFFSET ?`, `succeeded_at`
	if t == refunds {
		bound, end = `SELECT refund_id FROM refund WHERE refund_id > ? ORDER BY refund_id LIMIT 1 OFFSET ?`, `r.finished_at`
	}
	err = tx.QueryRowContext(ctx, bound, after, sumPage-1).Scan(&last)
	if more = err == nil; errors.Is(err, sql.ErrNoRows) {
		last, err = bytes.Repeat([]byte{0xff}, 64), nil // above every key
	}
	if err == nil {
		status := `status`
		if t == refunds {
			status = `r.status`
		}
		list, err = sqltx.Collect(ctx, tx, t.scan, statement+`WHERE `+key+` > ? AND `+key+` <= ? AND `+status+` = 'SUCCEEDED' AND `+end+` >= ? AND `+
			end+` < ? ORDER BY `+key, after, last, from, until)
	}
	if err != nil {
		return nil, nil, false, fmt.Errorf("money: read what a provider was asked for: %w", err)
	}
	return slices.DeleteFunc(list, func(o ownRow) bool { return !o.asked }), last, more, nil
}

// lastListed says where the newest difference about a row has seen it listed; nil: none has.
func lastListed(ctx context.Context, tx *sql.Tx, o *ownRow) (*time.Time, error) {
	var text string
	err := tx.QueryRowContext(ctx, `SELECT evidence FROM difference WHERE activity_id = ? AND kind = ? AND subject = ?
 ORDER BY difference_id DESC LIMIT 1`, o.activityID, string(reconcile.ProviderDiffers), o.subject).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	var e reconcile.ProviderEvidence
	if err == nil {
		err = json.Unmarshal([]byte(text), &e)
	}
	if err != nil {
		return nil, fmt.Errorf("money: read differences: %w", err)
	}
	if !e.Provider.Listed {
		return nil, nil
	}
	return &e.Provider.At, nil
}
