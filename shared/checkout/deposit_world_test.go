package checkout_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"holdfast/shared/checkout"
	"holdfast/shared/deposit"
	"holdfast/shared/idempotency"
	"holdfast/shared/money"
	"holdfast/shared/notice"
	"holdfast/shared/order"
	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
	"holdfast/shared/wallet"
)

// untilDeadline is how long the deposits of a test have.
const untilDeadline = 48 * time.Hour

// byRatio is a policy of a deposit of 30 % of which the club keeps 20 % of who does not confirm, or cancels.
func byRatio(change ...func(p *sale.DepositPolicy)) *sale.DepositPolicy {
	ratio := decimal.RequireFromString("0.3")
	p := &sale.DepositPolicy{Ratio: &ratio, PenaltyRatio: decimal.RequireFromString("0.2"), Cancellation: sale.CancelPenalty, ClubID: "club-1",
		ConfirmDeadline: time.Now().Add(untilDeadline), RemindAt: time.Now().Add(untilDeadline - 2*time.Hour), OfferLead: sale.MinOfferLead}
	for _, f := range change {
		f(p)
	}
	return p
}

// perUnit makes the deposit an amount per unit.
func perUnit(amount string) func(p *sale.DepositPolicy) {
	return func(p *sale.DepositPolicy) {
		each := yuan(amount)
		p.Amount, p.Ratio = &each, nil
	}
}

func penalty(ratio string) func(p *sale.DepositPolicy) {
	return func(p *sale.DepositPolicy) { p.PenaltyRatio = decimal.RequireFromString(ratio) }
}

func cancellation(c sale.Cancellation) func(p *sale.DepositPolicy) {
	return func(p *sale.DepositPolicy) { p.Cancellation = c }
}

func yuan(amount string) money.Amount {
	return money.Of(decimal.RequireFromString(amount), "CNY")
}

// depositWorld sells seats for 100.00.
func depositWorld(t testing.TB, change ...func(p *sale.DepositPolicy)) *world {
	t.Helper()
	return newWorld(t, plan{price: "100.00", deposit: byRatio(change...), capacity: 1000, buckets: 4})
}

func (w *world) inTx(f func(ctx context.Context, tx *sql.Tx) error) {
	w.t.Helper()
	if err := w.db.Run(w.t.Context(), f); err != nil {
		w.t.Fatal(err)
	}
}

// topUp gives users money.
func (w *world) topUp(amount string, users ...string) {
	w.t.Helper()
	w.inTx(func(ctx context.Context, tx *sql.Tx) error {
		var list []wallet.Movement
		for _, u := range users {
			list = append(list, wallet.Movement{Type: wallet.TopUp, Reference: fmt.Sprintf("t%d-%s", w.seq.Add(1), u), UserID: u, Amount: yuan(amount)})
		}
		return wallet.Apply(ctx, tx, list, time.Now())
	})
}

// purse is what a user has, "available frozen".
func (w *world) purse(user string) string {
	w.t.Helper()
	b, err := wallet.Get(w.t.Context(), w.db, wallet.Key{UserID: user, Currency: "CNY"})
	if err != nil {
		w.t.Fatal(err)
	}
	return b.Available.String() + " " + b.Frozen.String()
}

func (w *world) wantPurse(user, want string) {
	w.t.Helper()
	if got := w.purse(user); got != want {
		w.t.Errorf("%s has %s, want %s", user, got, want)
	}
}

// account is the balance of an account that is no wallet.
func (w *world) account(name string) string {
	w.t.Helper()
	a, err := wallet.AccountBalance(w.t.Context(), w.db, name, "CNY")
	if err != nil {
		w.t.Fatal(err)
	}
	return a.String()
}

func (w *world) wantAccount(name, want string) {
	w.t.Helper()
	if got := w.account(name); got != want {
		w.t.Errorf("%s has %s, want %s", name, got, want)
	}
}

func (w *world) deposit(id sale.OrderID) deposit.Record {
	w.t.Helper()
	d, err := deposit.Get(w.t.Context(), w.db, id)
	if err != nil {
		w.t.Fatal(err)
	}
	return *d
}

// wantSeat checks how an order and its deposit stand: "PAID DEDUCTED consumed penalty refunded supplement".
func (w *world) wantSeat(id sale.OrderID, want string) {
	w.t.Helper()
	o, d := w.get(id), w.deposit(id)
	got := fmt.Sprintf("%s%s %s %s %s %s %s", o.Status, o.Reason, d.Status, d.Consumed, d.Penalty, d.Refunded, d.Supplement)
	if got != want {
		w.t.Errorf("the seat is %s, want %s", got, want)
	}
}

// wantTold checks the notices of a kind about a deposit, in the order of writing: "REFUNDED deposit, penalty 6.00, refund 24.00,
// supplement -", with the order's reason behind where there is one. An amount that a notice does not name is "-".
func (w *world) wantTold(kind notice.Kind, id sale.OrderID, want ...string) {
	w.t.Helper()
	texts, err := sqltx.Collect(w.t.Context(), w.db, sqltx.Column[string],
		"SELECT data FROM notice WHERE kind = ? AND order_id = ? ORDER BY notice_id", string(kind), id[:])
	if err != nil {
		w.t.Fatal(err)
	}
	var told []string
	for _, text := range texts {
		var says struct {
			Status                               deposit.Status
			Reason                               order.Reason
			Deposit, Penalty, Refund, Supplement *money.Amount
		}
		if err := json.Unmarshal([]byte(text), &says); err != nil {
			w.t.Fatal(err)
		}
		named := func(a *money.Amount) string {
			if a == nil {
				return "-"
			}
			return a.String()
		}
		told = append(told, strings.TrimSpace(fmt.Sprintf("%s %s, penalty %s, refund %s, supplement %s %s", says.Status, named(says.Deposit),
			named(says.Penalty), named(says.Refund), named(says.Supplement), says.Reason)))
	}
	if !slices.Equal(told, want) {
		w.t.Errorf("%s says %q, want %q", kind, told, want)
	}
}

// pass lets time pass by the clock of the database and of Redis.
func (w *world) pass(d time.Duration) { w.clock.Add(int64(d)) }

// wish is a wish of a user under a key.
func (w *world) wish(user, key string) *checkout.Wish {
	return &checkout.Wish{Key: idempotency.Key{User: user, Route: "POST /v1/orders/{orderId}/confirmation", Key: key},
		Hash: idempotency.Hash([]byte(key)),
		Answer: func(_ context.Context, _ *sql.Tx, o *order.Order, _ time.Time) (idempotency.Answer, error) {
			body, err := json.Marshal(map[string]any{"status": o.Status, "revision": o.Revision})
			return idempotency.Answer{Status: 200, Body: body}, err
		}}
}

func (w *world) confirm(user string, id sale.OrderID) error {
	_, err := w.checkout.ConfirmDeposit(w.t.Context(), id, user, w.wish(user, fmt.Sprintf("c%d", w.seq.Add(1))))
	return err
}

// callOff does to the activity's row what calling a sale off does.
func (w *world) callOff() {
	w.t.Helper()
	now := time.Now().UTC().Truncate(time.Second)
	if _, err := w.db.ExecContext(w.t.Context(), `UPDATE activity SET status = 'CLOSED', cancelled_at = ? WHERE activity_id = ?`, now, w.activity.ID); err != nil {
		w.t.Fatal(err)
	}
}

// moneyHolds checks that no cent was lost or made: every deposit, every wallet and all accounts together.
func (w *world) moneyHolds() {
	w.t.Helper()
	sum := func(query string) string {
		w.t.Helper()
		var total decimal.Decimal
		if err := w.db.QueryRowContext(w.t.Context(), "SELECT COALESCE("+query+", 0)").Scan(&total); err != nil {
			w.t.Fatalf("%s: %v", query, err)
		}
		return total.StringFixed(2)
	}
	deposits := func(column string) string { return sum("(SELECT SUM(" + column + ") FROM deposit_record)") }
	logged := func(kind string) string {
		return sum("(SELECT SUM(amount) FROM wallet_log WHERE type = '" + kind + "')")
	}
	for what, pair := range map[string][2]string{
		"all accounts together and nothing": {sum(`(SELECT SUM(available + frozen) FROM wallet) + COALESCE((SELECT SUM(balance) FROM account), 0)
			+ COALESCE((SELECT SUM(amount) FROM account_inbox), 0)`), "0.00"},
		"frozen money and frozen deposits":    {sum("(SELECT SUM(frozen) FROM wallet)"), sum("(SELECT SUM(deposit) FROM deposit_record WHERE status = 'FROZEN')")},
		"entries frozen and deposits":         {logged("DEPOSIT_FREEZE"), deposits("deposit")},
		"entries consumed and deposits":       {logged("DEPOSIT_CONSUME"), deposits("consumed")},
		"entries of penalties and deposits":   {logged("DEPOSIT_PENALTY"), deposits("penalty")},
		"entries given back and deposits":     {logged("DEPOSIT_REFUND"), deposits("refunded")},
		"entries of supplements and deposits": {logged("DEPOSIT_SUPPLEMENT"), deposits("supplement")},
		"paid orders and what was taken":      {sum("(SELECT SUM(paid) FROM trade_order)"), sum("(SELECT SUM(consumed + supplement) FROM deposit_record)")},
		"entries of nothing and none":         {sum("(SELECT COUNT(*) FROM wallet_log WHERE amount = 0)"), "0.00"},
		"orders that no deposit fits and none": {sum(`(SELECT COUNT(*) FROM trade_order o JOIN deposit_record d ON d.order_id = o.id WHERE NOT
			(o.status = 'UNPAID' AND d.status = 'FROZEN' OR o.status = 'PAID' AND d.status = 'DEDUCTED'
			OR o.status = 'CANCELLED' AND d.status IN ('PENALTY', 'REFUNDED')))`), "0.00"},
	} {
		if pair[0] != pair[1] {
			w.t.Errorf("%s: %s and %s", what, pair[0], pair[1])
		}
	}
}
