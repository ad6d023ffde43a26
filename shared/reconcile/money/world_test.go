package money_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"holdfast/shared/metric"
	hmoney "holdfast/shared/money"
	"holdfast/shared/reconcile"
	"holdfast/shared/reconcile/money"
	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
	"holdfast/shared/testenv"
	"holdfast/shared/wallet"
)

// world is one test's own database with sound money in it, whose clock can be moved.
type world struct {
	t       *testing.T
	db      *sqltx.DB
	advance time.Duration
	printed bytes.Buffer
	n       byte
	bank    *bank // nil: nobody charges buyers
}

func newWorld(t *testing.T) *world {
	t.Helper()
	db, err := sqltx.Open(testenv.MySQLDSN(t))
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(8)
	t.Cleanup(func() { _ = db.Close() })
	w := &world{t: t}
	w.db = sqltx.New(db, func() time.Duration { return w.advance })
	return w
}

// exec runs a statement, also one that the rules of the tables would refuse: rows are broken by what no rule foresees.
func (w *world) exec(statement string, args ...any) {
	w.t.Helper()
	conn, err := w.db.Conn(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	defer conn.Close()
	for _, s := range []string{`SET check_constraint_checks = 0`, "", `SET check_constraint_checks = 1`} {
		if s == "" {
			_, err = conn.ExecContext(w.t.Context(), statement, args...)
		} else {
			_, _ = conn.ExecContext(w.t.Context(), s) // MySQL has no such switch, and then refuses what the test plants
		}
		if err != nil {
			w.t.Fatalf("%s: %v", statement, err)
		}
	}
}

func (w *world) move(list ...wallet.Movement) {
	w.t.Helper()
	err := w.db.Run(w.t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		now, err := w.db.Now(ctx, tx)
		if err != nil {
			return err
		}
		return wallet.Apply(ctx, tx, list, now)
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

func yuan(text string) hmoney.Amount { return hmoney.Of(decimal.RequireFromString(text), "CNY") }

// movement is one of a user's money, for an order.
func movement(kind wallet.Type, id sale.OrderID, user, amount string) wallet.Movement {
	m := wallet.Movement{Type: kind, Reference: id.String(), UserID: user, OrderID: id, Amount: yuan(amount)}
	if kind == wallet.DepositPenalty || kind == wallet.PenaltyReversal {
		m.ClubID = "club"
	}
	return m
}

// order inserts an order whose money stands so, and gives its id; ids rise.
func (w *world) order(user, status, paid, refunded, mode string) sale.OrderID {
	w.t.Helper()
	w.n++
	id := sale.OrderID{0, 0, 0, 0, 0, 1, 0x80, w.n, 0x80}
	var reason, cancelled any
	if status == "CANCELLED" {
		reason, cancelled = "USER", "2031-01-01 10:00:00"
	}
	w.exec(`INSERT INTO trade_order (id, activity_id, ticket_type, user_id, quantity, allocations, unit_price, amount, paid, refunded, currency,
 mode, source, status, reason, reserved_at, created_at, updated_at, cancelled_at) VALUES (?, 'a', 'STANDARD', ?, 1, '0:1', 100, 100, ?, ?,
 'CNY', ?, 'SALE', ?, ?, '2031-01-01 09:00:00', '2031-01-01 09:00:00', '2031-01-01 09:00:00', ?)`,
		id[:], user, paid, refunded, mode, status, reason, cancelled)
	return id
}

// deposit inserts the deposit of an order, 40.00 of which the club may keep 10.00.
func (w *world) deposit(id sale.OrderID, user, status, consumed, supplement, penalty, refunded, mode string) {
	w.t.Helper()
	now, err := w.db.Now(w.t.Context(), w.db)
	if err != nil {
		w.t.Fatal(err)
	}
	deadline := now.Add(time.Hour).Truncate(time.Second)
	var settled any
	if status != "FROZEN" {
		settled = now
	}
	w.exec(`INSERT INTO deposit_record (order_id, activity_id, user_id, currency, mode, status, deposit, penalty_due, consumed, supplement,
 penalty, refunded, confirm_deadline, remind_at, penalty_ratio, cancellation, club_id, policy_hash, created_at, updated_at, settled_at)
 VALUES (?, 'a', ?, 'CNY', ?, ?, 40, 10, ?, ?, ?, ?, ?, ?, 0.25, 'FREE', 'club', REPEAT('h', 32), ?, ?, ?)`,
		id[:], user, mode, status, consumed, supplement, penalty, refunded, deadline, deadline.Add(-time.Minute), now, now, settled)
}

// sound is a little of everything that can happen to money, booked as it should be. It gives ids by what happened.
func (w *world) sound() map[string]sale.OrderID {
	w.t.Helper()
	for _, user := range []string{"ann", "bob", "cat", "dan"} {
		w.move(wallet.Movement{Type: wallet.TopUp, Reference: "top-" + user, UserID: user, Amount: yuan("500.00")})
	}
	ids := map[string]sale.OrderID{
		"frozen":    w.order("ann", "UNPAID", "0", "0", "LIVE"),
		"confirmed": w.order("bob", "PAID", "100", "0", "LIVE"),
		"penalty":   w.order("cat", "CANCELLED", "0", "0", "LIVE"),
		"refunded":  w.order("dan", "CANCELLED", "100", "60", "LIVE"),
		"manual":    w.order("eve", "PAID", "100", "0", "LIVE"),
		"rehearsal": w.order("ann", "UNPAID", "0", "0", "TEST"),
		"test paid": w.order("ann", "PAID", "100", "0", "TEST"),
		"provider":  w.order("dan", "PAID", "100", "0", "LIVE"),
	}
	w.deposit(ids["frozen"], "ann", "FROZEN", "0", "0", "0", "0", "LIVE")
	w.deposit(ids["confirmed"], "bob", "DEDUCTED", "40", "60", "0", "0", "LIVE")
	w.deposit(ids["penalty"], "cat", "PENALTY", "0", "0", "10", "30", "LIVE")
	w.deposit(ids["rehearsal"], "ann", "FROZEN", "0", "0", "0", "0", "TEST")
	w.exec(`UPDATE deposit_record SET penalty_reversed = 4 WHERE order_id = ?`, idOf(ids["penalty"]))
	toWallet := movement(wallet.Refund, ids["refunded"], "dan", "60.00")
	toWallet.Target = wallet.ToWallet
	w.move(movement(wallet.DepositFreeze, ids["frozen"], "ann", "40.00"))
	w.move(movement(wallet.DepositFreeze, ids["confirmed"], "bob", "40.00"))
	w.move(movement(wallet.DepositConsume, ids["confirmed"], "bob", "40.00"), movement(wallet.DepositSupplement, ids["confirmed"], "bob", "60.00"))
	w.move(movement(wallet.DepositFreeze, ids["penalty"], "cat", "40.00"))
	w.move(movement(wallet.DepositPenalty, ids["penalty"], "cat", "10.00"), movement(wallet.DepositRefund, ids["penalty"], "cat", "30.00"))
	w.move(movement(wallet.PenaltyReversal, ids["penalty"], "cat", "4.00"))
	w.move(movement(wallet.PaymentWallet, ids["refunded"], "dan", "100.00"))
	w.move(toWallet)
	w.move(movement(wallet.PaymentManual, ids["manual"], "eve", "100.00"))
	w.byProvider(ids["provider"])
	return ids
}

// byProvider books three successes of a provider: one that paid the order, one that is not decided, and one that went back and failed.
func (w *world) byProvider(id sale.OrderID) {
	w.t.Helper()
	w.payment("p1", id, "ORDER")
	w.payment("p2", id, "")
	w.payment("p3", id, "REFUND")
	w.exec(`INSERT INTO refund (refund_id, order_id, activity_id, user_id, payment_id, surplus, target, amount, currency, status, reason, due_at,
 created_at, updated_at, finished_at) VALUES ('r3', ?, 'a', 'dan', 'p3', 1, 'PROVIDER', 100, 'CNY', 'FAILED', 'SURPLUS', '2031-01-01 09:00:00',
 '2031-01-01 09:00:00', '2031-01-01 09:00:00', '2031-01-01 09:00:00')`, idOf(id))
	named := func(kind wallet.Type, reference string) wallet.Movement {
		m := movement(kind, id, "dan", "100.00")
		m.Reference = reference
		return m
	}
	w.move(named(wallet.PaymentReceived, "p1"), named(wallet.PaymentApplied, "p1"), named(wallet.PaymentReceived, "p2"),
		named(wallet.PaymentReceived, "p3"), named(wallet.SurplusRefund, "r3"), named(wallet.RefundFailed, "r3"))
}

func (w *world) payment(name string, id sale.OrderID, disposition string) {
	w.t.Helper()
	var what any
	if disposition != "" {
		what = disposition
	}
	w.exec(`INSERT INTO payment (payment_id, order_id, activity_id, user_id, mode, method, amount, currency, status, disposition, created_at,
 updated_at, succeeded_at) VALUES (?, ?, 'a', 'dan', 'LIVE', 'PROVIDER', 100, 'CNY', 'SUCCEEDED', ?, '2031-01-01 09:00:00',
 '2031-01-01 09:00:00', '2031-01-01 09:00:00')`, name, idOf(id), what)
}

func idOf(id sale.OrderID) []byte { return id[:] }

func (w *world) config() money.Config {
	cfg := money.Config{Budget: time.Minute, PageSize: 3}
	if w.bank != nil {
		cfg.Provider = w.bank
	}
	return cfg
}

// round runs a complete round in pages of three.
func (w *world) round() money.Summary {
	w.t.Helper()
	sum, err := money.Run(w.t.Context(), w.db, metric.New(&w.printed, time.Now), w.config())
	if err != nil {
		w.t.Fatal(err)
	}
	return sum
}

// differences reads those of a status as "KIND activity subject", in order.
func (w *world) differences(status reconcile.DifferenceStatus) []string {
	w.t.Helper()
	list, err := reconcile.ListDifferences(w.t.Context(), w.db, reconcile.DifferenceFilter{Status: status}, 1<<40, 100)
	if err != nil {
		w.t.Fatal(err)
	}
	out := []string{}
	for _, d := range list {
		out = append(out, fmt.Sprintf("%s %s %s", d.Kind, d.ActivityID, d.Subject))
	}
	slices.Sort(out)
	return out
}
