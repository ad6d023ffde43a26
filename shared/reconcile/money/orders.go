package money

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"holdfast/shared/reconcile"
	"holdfast/shared/sale"
)

// staleAfter is how long after its deadline a FROZEN deposit is too old: the workflow and the sweeper settle within minutes.
const staleAfter = 48 * time.Hour

// orderRow is the money of one order.
type orderRow struct {
	activityID, userID, currency string
	mode                         sale.Mode
	paid, refunded               decimal.Decimal
}

// depositRow is one row of deposit_record.
type depositRow struct {
	activityID, userID, currency, status, club                        string
	mode                                                              sale.Mode
	deposit, consumed, supplement, penalty, refunded, penaltyReversed decimal.Decimal
	deadline                                                          time.Time
}

// entryRow is one row of wallet_log.
type entryRow struct {
	kind, userID, currency, from, to string
	amount                           decimal.Decimal
}

// into is what the entry brings to an account; negative for what it takes away.
func (e *entryRow) into(account string) decimal.Decimal {
	switch account {
	case e.to:
		return e.amount
	case e.from:
		return e.amount.Neg()
	}
	return decimal.Zero
}

// entries adds up what each kind has moved.
type entries []entryRow

func (list entries) sums() map[string]decimal.Decimal {
	out := make(map[string]decimal.Decimal)
	for i := range list {
		out[list[i].kind] = out[list[i].kind].Add(list[i].amount)
	}
	return out
}

func (list entries) into(account string) (sum decimal.Decimal) {
	for i := range list {
		sum = sum.Add(list[i].into(account))
	}
	return sum
}

// highest is above the id of any order.
var highest = bytes.Repeat([]byte{0xff}, 16)

// ordersPage compares the orders of one page with the deposits and entries of the same range of ids: also those of no order are seen.
func (r *round) ordersPage(ctx context.Context, tx *sql.Tx, next *progress) ([]finding, error) {
	after := next.After
	if after == nil {
		after = make([]byte, 16)
	}
	now, err := r.db.Now(ctx, tx)
	if err != nil {
		return nil, err
	}
	rows, until, err := readOrders(ctx, tx, after, r.cfg.PageSize)
	if err != nil {
		return nil, err
	}
	deposits, err := readDeposits(ctx, tx, after, until)
	if err != nil {
		return nil, err
	}
	log, err := readEntries(ctx, tx, after, until)
	if err != nil {
		return nil, err
	}
	next.Orders += len(rows)
	next.Deposits += len(deposits)
	next.After = until
	if bytes.Equal(until, highest) {
		next.Step, next.After = wallets, nil
	}
	var found []finding
	for _, id := range ids(rows, deposits, log) {
		if f := differsDeposit(id, deposits[id], log[id]); f != nil {
			found = append(found, *f)
		}
		if f := staleDeposit(id, deposits[id], now); f != nil {
			found = append(found, *f)
		}
		if f := differsOrder(id, rows[id], log[id]); f != nil {
			found = append(found, *f)
		}
	}
	return found, nil
}

// ids lists every order that anything speaks of, sorted.
func ids(rows map[sale.OrderID]*orderRow, deposits map[sale.OrderID]*depositRow, log map[sale.OrderID]entries) []sale.OrderID {
	all := make(map[sale.OrderID]bool, len(rows))
	for id := range rows {
		all[id] = true
	}
	for id := range deposits {
		all[id] = true
	}
	for id := range log {
		all[id] = true
	}
	return slices.SortedFunc(maps.Keys(all), func(a, b sale.OrderID) int { return bytes.Compare(a[:], b[:]) })
}

// differsDeposit holds a deposit against its entries.
func differsDeposit(id sale.OrderID, d *depositRow, log entries) *finding {
	var own entries
	for _, e := range log {
		if strings.HasPrefix(e.kind, "DEPOSIT_") || e.kind == "PENALTY_REVERSAL" {
			own = append(own, e)
		}
	}
	if d == nil && len(own) == 0 {
		return nil
	}
	if d == nil {
		return &finding{kind: reconcile.DepositDiffers, subject: id.String(), says: texts(own.sums()),
			evidence: evidence(map[string]any{"deposit": "there is none", "entries": texts(own.sums())})}
	}
	var wrong []string
	settled := d.consumed.Add(d.penalty).Add(d.refunded)
	if d.status == "FROZEN" && !settled.IsZero() || d.status != "FROZEN" && !settled.Equal(d.deposit) {
		wrong = append(wrong, "parts")
	}
	want := map[string]decimal.Decimal{}
	if d.mode == sale.Live {
		want = map[string]decimal.Decimal{"DEPOSIT_FREEZE": d.deposit, "DEPOSIT_CONSUME": d.consumed, "DEPOSIT_SUPPLEMENT": d.supplement,
			"DEPOSIT_PENALTY": d.penalty, "DEPOSIT_REFUND": d.refunded, "PENALTY_REVERSAL": d.penaltyReversed}
	}
	has := own.sums()
	for _, kind := range []string{"DEPOSIT_FREEZE", "DEPOSIT_CONSUME", "DEPOSIT_SUPPLEMENT", "DEPOSIT_PENALTY", "DEPOSIT_REFUND", "PENALTY_REVERSAL"} {
		if !has[kind].Equal(want[kind]) {
			wrong = append(wrong, kind)
		}
	}
	for i := range own {
		if e := &own[i]; e.userID != d.userID || e.currency != d.currency || d.club != clubOf(e, d.club) {
			wrong = append(wrong, "owner of "+e.kind)
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	slices.Sort(wrong)
	return &finding{kind: reconcile.DepositDiffers, activityID: d.activityID, subject: id.String(), test: d.mode != sale.Live,
		says: []any{wrong, d.status, texts(want), texts(has)},
		evidence: evidence(map[string]any{"differs": wrong, "deposit": map[string]string{"status": d.status, "mode": string(d.mode),
			"currency": d.currency, "deposit": d.deposit.StringFixed(2), "consumed": d.consumed.StringFixed(2),
			"supplement": d.supplement.StringFixed(2), "penalty": d.penalty.StringFixed(2), "refunded": d.refunded.StringFixed(2),
			"penaltyReversed": d.penaltyReversed.StringFixed(2)}, "entries": texts(has)})}
}

// clubOf is the club of an entry; for one of no club it is the one that is expected.
func clubOf(e *entryRow, expected string) string {
	for _, account := range []string{e.from, e.to} {
		if club, is := strings.CutPrefix(account, "CLUB:"); is {
			return club
		}
	}
	return expected
}

// staleDeposit finds a deposit that nobody settles.
func staleDeposit(id sale.OrderID, d *depositRow, now time.Time) *finding {
	if d == nil || d.status != "FROZEN" || d.deadline.Add(staleAfter).After(now) {
		return nil
	}
	return &finding{kind: reconcile.DepositStale, activityID: d.activityID, subject: id.String(), says: d.deadline, test: d.mode != sale.Live,
		evidence: evidence(map[string]any{"deposit": map[string]string{"status": d.status, "deposit": d.deposit.StringFixed(2),
			"currency": d.currency, "confirmDeadline": d.deadline.Format(time.RFC3339)}})}
}

// differsOrder holds what an order was paid, less what went back, against what its entries brought to HOUSE.
func differsOrder(id sale.OrderID, o *orderRow, log entries) *finding {
	has, want := log.into("HOUSE"), decimal.Zero
	f := finding{kind: reconcile.OrderMoneyDiffers, subject: id.String()}
	row := map[string]string{"order": "there is none"}
	if o != nil {
		f.activityID, f.test = o.activityID, o.mode != sale.Live
		row = map[string]string{"paid": o.paid.StringFixed(2), "refunded": o.refunded.StringFixed(2), "currency": o.currency, "mode": string(o.mode)}
		if o.mode == sale.Live {
			want = o.paid.Sub(o.refunded)
		}
	}
	strange := o != nil && slices.ContainsFunc(log, func(e entryRow) bool {
		return e.userID != o.userID || e.currency != o.currency || o.mode != sale.Live
	})
	if has.Equal(want) && !strange {
		return nil
	}
	f.says = []any{has.StringFixed(2), want.StringFixed(2), strange}
	f.evidence = evidence(map[string]any{"order": row, "house": has.StringFixed(2), "expected": want.StringFixed(2), "strangers": strange,
		"entries": texts(log.sums())})
	return &f
}

func evidence(says map[string]any) map[string]any { return map[string]any{"mysql": says} }

// texts writes amounts as people read them.
func texts(sums map[string]decimal.Decimal) map[string]string {
	out := make(map[string]string, len(sums))
	for name, amount := range sums {
		out[name] = amount.StringFixed(2)
	}
	return out
}

// readOrders reads a page of orders after an id, and says up to which id everything is then read: the page's last, or the highest.
func readOrders(ctx context.Context, tx *sql.Tx, after []byte, limit int) (map[sale.OrderID]*orderRow, []byte, error) {
	rows, err := tx.QueryContext(ctx, `SELECT id, activity_id, user_id, currency, mode, paid, refunded FROM trade_order WHERE id > ?
 ORDER BY id LIMIT ?`, after, limit)
	if err != nil {
		return nil, nil, fmt.Errorf("money: read orders: %w", err)
	}
	defer rows.Close()
	out, until := make(map[sale.OrderID]*orderRow, limit), highest
	for rows.Next() {
		var o orderRow
		var id []byte
		if err := rows.Scan(&id, &o.activityID, &o.userID, &o.currency, &o.mode, &o.paid, &o.refunded); err != nil {
			return nil, nil, fmt.Errorf("money: read orders: %w", err)
		}
		out[sale.OrderID(id)] = &o
		if len(out) == limit {
			until = bytes.Clone(id)
		}
	}
	return out, until, rows.Err()
}

func readDeposits(ctx context.Context, tx *sql.Tx, after, until []byte) (map[sale.OrderID]*depositRow, error) {
	rows, err := tx.QueryContext(ctx, `SELECT order_id, activity_id, user_id, currency, mode, status, club_id, deposit, consumed, supplement,
 penalty, refunded, penalty_reversed, confirm_deadline FROM deposit_record WHERE order_id > ? AND order_id <= ?`, after, until)
	if err != nil {
		return nil, fmt.Errorf("money: read deposits: %w", err)
	}
	defer rows.Close()
	out := make(map[sale.OrderID]*depositRow)
	for rows.Next() {
		var d depositRow
		var id []byte
		if err := rows.Scan(&id, &d.activityID, &d.userID, &d.currency, &d.mode, &d.status, &d.club, &d.deposit, &d.consumed, &d.supplement,
			&d.penalty, &d.refunded, &d.penaltyReversed, &d.deadline); err != nil {
			return nil, fmt.Errorf("money: read deposits: %w", err)
		}
		out[sale.OrderID(id)] = &d
	}
	return out, rows.Err()
}

func readEntries(ctx context.Context, tx *sql.Tx, after, until []byte) (map[sale.OrderID]entries, error) {
	rows, err := tx.QueryContext(ctx, `SELECT order_id, type, user_id, currency, amount, from_account, to_account FROM wallet_log
 WHERE order_id > ? AND order_id <= ?`, after, until)
	if err != nil {
		return nil, fmt.Errorf("money: read entries: %w", err)
	}
	defer rows.Close()
	out := make(map[sale.OrderID]entries)
	for rows.Next() {
		var e entryRow
		var id []byte
		if err := rows.Scan(&id, &e.kind, &e.userID, &e.currency, &e.amount, &e.from, &e.to); err != nil {
			return nil, fmt.Errorf("money: read entries: %w", err)
		}
		out[sale.OrderID(id)] = append(out[sale.OrderID(id)], e)
	}
	return out, rows.Err()
}
