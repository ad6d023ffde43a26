package reconcile_test

import (
	"fmt"
	"testing"
	"time"

	"holdfast/shared/alert"
	"holdfast/shared/order"
	"holdfast/shared/reconcile"
)

// beside puts another sale on sale, in the same stores.
func (w *world) beside(p plan) *world {
	w.t.Helper()
	other := *w
	other.publish(p)
	if err := other.reconciler.Load(w.t.Context(), other.activity.ID); err != nil {
		w.t.Fatal(err)
	}
	return &other
}

// buyers gives so many users, whose names begin alike, an order of one unit each.
func (w *world) buyers(name string, n int) []order.Order {
	w.t.Helper()
	out := make([]order.Order, n)
	for i := range out {
		out[i] = w.buy(fmt.Sprintf("%s%d", name, i), "k", 1)
	}
	return out
}

func (w *world) wantStatus(want order.Status, orders []order.Order) {
	w.t.Helper()
	for _, o := range orders {
		if got := w.get(o.ID); got.Status != want {
			w.t.Errorf("the order of %s is %s, want %s", o.UserID, got.Status, want)
		}
	}
}

// contradictions are rows that do not let an order be cancelled, and what brings them back for so many orders.
var contradictions = map[string]struct{ spoil, mend string }{
	"their bucket": {`UPDATE stock_bucket SET frozen = 0`, `UPDATE stock_bucket SET frozen = %d`},
	"their limits": {`UPDATE purchase_limit SET quantity = 0 WHERE user_id LIKE 'bad%'`,
		`UPDATE purchase_limit SET quantity = 1 WHERE user_id LIKE 'bad%%' AND %d`},
	"their allocations": {`UPDATE trade_order SET allocations = '9:1' WHERE user_id LIKE 'bad%'`,
		`UPDATE trade_order SET allocations = '0:1' WHERE user_id LIKE 'bad%%' AND %d`},
	"their stock log": {`INSERT INTO stock_log SELECT order_id, 1, 'FREEZE_ROLLED_BACK', activity_id, ticket_type, user_id, allocations, NULL, 1,
 NULL, seq, 2, 1, NULL, NULL, created_at, updated_at FROM stock_log WHERE user_id LIKE 'bad%'`,
		`DELETE FROM stock_log WHERE direction = 1 AND user_id LIKE 'bad%%' AND %d`},
}

func TestOrdersThatCannotBeCancelledKeepNoOtherFromExpiring(t *testing.T) {
	t.Parallel()
	for what, rows := range contradictions {
		for _, bad := range []int{1, 4, 9} { // alone in a page, a page full, and more than two
			t.Run(fmt.Sprintf("%d with %s", bad, what), func(t *testing.T) {
				t.Parallel()
				expireAround(t, rows.spoil, fmt.Sprintf(rows.mend, bad), bad)
			})
		}
	}
}

// expireAround has orders of two sales expire, of which some cannot: those that have been overdue for longest.
func expireAround(t *testing.T, spoil, mend string, bad int) {
	w := newWorld(t, plan{capacity: 20, buckets: 1})
	stuck := w.buyers("bad", bad)
	other := w.beside(plan{capacity: 20, buckets: 2, limit: 1, price: "1.00"})
	sound := other.buyers("sound", 6)
	var beside []order.Order
	if spoil != contradictions["their bucket"].spoil { // which all orders of a sale share
		beside = w.buyers("beside", 5)
	}
	w.exec(spoil + map[bool]string{true: ` WHERE activity_id = '` + w.activity.ID + `'`}[beside == nil])
	w.exec(`UPDATE trade_order SET pay_deadline = pay_deadline - INTERVAL 1 MINUTE WHERE user_id LIKE 'bad%'`)
	w.exec(`INSERT INTO idempotency (user_id, route, idempotency_key, body_hash, status, answer, created_at, expires_at)
 VALUES ('u', 'r', 'k', REPEAT('h', 32), 200, '{}', '2020-01-01', '2020-01-02')`)
	w.advance(16 * time.Minute)
	job := reconcile.NewExpireOrders(w.db, w.checkout, reconcile.ExpireConfig{PageSize: 4})
	for pass, expired := range []int{len(sound) + len(beside), 0} {
		sum, err := job.Run(t.Context())
		if err == nil || sum.Expired != expired || sum.Forgotten != 1-pass {
			t.Errorf("pass %d: %+v, %v; want %d expired", pass+1, sum, err, expired)
		}
		raised := w.count(`SELECT COUNT(*) FROM alert WHERE kind = ? AND activity_id = ? AND occurrences = ?`, string(alert.CompensationStuck),
			w.activity.ID, pass+1)
		if all := w.count(`SELECT COUNT(*) FROM alert`); raised != bad || all != bad {
			t.Errorf("pass %d: %d alerts were raised %d times, %d in all, want %d", pass+1, raised, pass+1, all, bad)
		}
		w.advance(time.Minute)
	}
	w.wantStatus(order.Cancelled, sound)
	w.wantStatus(order.Cancelled, beside)
	w.wantStatus(order.Unpaid, stuck)
	other.agree()
	w.exec(mend + map[bool]string{true: ` WHERE activity_id = '` + w.activity.ID + `'`}[beside == nil])
	if sum, err := job.Run(t.Context()); err != nil || sum.Expired != bad {
		t.Errorf("mended: %+v, %v", sum, err)
	}
	w.wantStatus(order.Cancelled, stuck)
}

// The full reconcile finds that a sale contradicts itself and leaves it to a person; until then the other sales go on.
func TestASaleThatWaitsForAPersonKeepsNoOtherSaleFromExpiring(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{})
	w.buyers("bad", 1)
	other := w.beside(plan{capacity: 10, buckets: 2, limit: 2, price: "1.00"})
	sound := other.buyers("sound", 4)
	w.exec(`UPDATE stock_bucket SET frozen = 0 WHERE activity_id = ?`, w.activity.ID)
	if run := w.reconcileNow(reconcile.Repairing); run.Differences == 0 {
		t.Fatalf("%+v", run)
	}
	w.advance(16 * time.Minute)
	if sum, err := reconcile.NewExpireOrders(w.db, w.checkout, reconcile.ExpireConfig{}).Run(t.Context()); err == nil || sum.Expired != 4 {
		t.Errorf("%+v, %v", sum, err)
	}
	w.wantStatus(order.Cancelled, sound)
	other.agree()
}
