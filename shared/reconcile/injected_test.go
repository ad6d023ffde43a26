package reconcile_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"holdfast/shared/audit"
	"holdfast/shared/catalog"
	"holdfast/shared/checkout"
	"holdfast/shared/order"
	"holdfast/shared/reconcile"
	"holdfast/shared/sale"
)

// injections is how many of each kind a test injects.
const injections = 100

// soldTo gives each of so many users one order of two units.
func (w *world) soldTo(users int) []order.Order {
	w.t.Helper()
	batch := make([]checkout.Message, users)
	for i := range batch {
		batch[i] = w.mustReserve(fmt.Sprintf("u%03d", i), "k", 2)
	}
	out := w.create(batch...)
	if len(out.Live) != users {
		w.t.Fatalf("%d orders of %d", len(out.Live), users)
	}
	return out.Live
}

// figures are all counters, marks and rows that a run might change.
func (w *world) figures() string {
	w.t.Helper()
	var b strings.Builder
	rules, err := w.rdb.HGetAll(w.t.Context(), w.key("rules")).Result()
	w.must(err)
	for _, name := range slices.Sorted(maps.Keys(rules)) {
		if strings.HasPrefix(name, "left:") {
			fmt.Fprintln(&b, name, rules[name])
		}
	}
	for _, key := range []string{"log", "buyers"} {
		all, err := w.rdb.HGetAll(w.t.Context(), w.key(key)).Result()
		w.must(err)
		for _, field := range slices.Sorted(maps.Keys(all)) {
			fmt.Fprintf(&b, "%q %q\n", field, all[field])
		}
	}
	for _, query := range []string{
		"SELECT CONCAT(ticket_type, bucket, ' ', frozen, ' ', sold, ' ', adjusted) FROM stock_bucket ORDER BY 1",
		"SELECT CONCAT(user_id, ' ', quantity) FROM purchase_limit ORDER BY 1",
		"SELECT CONCAT(HEX(id), status, allocations) FROM trade_order ORDER BY 1",
		"SELECT CONCAT(HEX(order_id), direction, action) FROM stock_log ORDER BY 1",
	} {
		w.dumpRows(&b, query)
	}
	return b.String()
}

func (w *world) dumpRows(to *strings.Builder, query string) {
	w.t.Helper()
	rows, err := w.db.QueryContext(w.t.Context(), query)
	w.must(err)
	defer rows.Close()
	for rows.Next() {
		var text string
		w.must(rows.Scan(&text))
		fmt.Fprintln(to, text)
	}
	w.must(rows.Err())
}

// injection spoils one order in one way.
type injection struct {
	kind    reconcile.DifferenceKind
	subject func(o order.Order) string
	spoil   func(w *world, o order.Order)
}

func byOrder(o order.Order) string { return o.ID.String() }
func byUser(o order.Order) string  { return o.UserID }

var injectionsThere = map[string]injection{
	"mark of another quantity": {reconcile.MarkDiffers, byUser, func(w *world, o order.Order) { w.shiftMark(o.UserID, 1) }},
	"mark gone": {reconcile.MarkDiffers, byUser, func(w *world, o order.Order) {
		w.must(w.rdb.HDel(w.t.Context(), w.key("buyers"), "u"+o.UserID).Err())
	}},
	"live order dead in Redis": {reconcile.LiveButDead, byOrder, func(w *world, o order.Order) {
		_, err := w.stock.Release(w.t.Context(), o.ActivityID, o.ID, o.UserID, "USER")
		w.must(err)
	}},
	"dead in Redis without a row": {reconcile.DeadWithoutRow, byOrder, func(w *world, o order.Order) {
		id := w.facts.OrderID(o.UserID, "second")
		_, err := w.stock.Release(w.t.Context(), o.ActivityID, id, o.UserID, "USER")
		w.must(err)
	}},
	"entry of another user": {reconcile.EntryDiffers, byOrder, func(w *world, o order.Order) {
		field := "t" + string(o.ID[:])
		entry, err := w.rdb.HGet(w.t.Context(), w.key("log"), field).Result()
		w.must(err)
		w.must(w.rdb.HSet(w.t.Context(), w.key("log"), field, entry+"x").Err())
		w.must(w.rdb.HSet(w.t.Context(), w.key("buyers"), "u"+o.UserID+"x", fmt.Sprint(o.Quantity)+field).Err())
		w.must(w.rdb.HDel(w.t.Context(), w.key("buyers"), "u"+o.UserID).Err())
	}},
	"row gone": {reconcile.RowMissing, byOrder, func(w *world, o order.Order) {
		w.exec("DELETE FROM trade_order WHERE id = ?", o.ID[:])
		w.exec("DELETE FROM stock_log WHERE order_id = ?", o.ID[:])
		w.exec("DELETE FROM purchase_limit WHERE user_id = ?", o.UserID)
		for _, a := range o.Allocations {
			w.exec("UPDATE stock_bucket SET frozen = frozen - ? WHERE bucket = ?", a.Count, a.Bucket)
		}
	}},
	"limit of another quantity": {reconcile.LimitDiffers, byUser, func(w *world, o order.Order) {
		w.exec("UPDATE purchase_limit SET quantity = quantity + 1 WHERE user_id = ?", o.UserID)
	}},
	"stock log without the taking": {reconcile.StockLogDiffers, byOrder, func(w *world, o order.Order) {
		w.exec("DELETE FROM stock_log WHERE order_id = ?", o.ID[:])
	}},
	"stock log that gives a live order back": {reconcile.StockLogDiffers, byOrder, func(w *world, o order.Order) {
		w.exec(`INSERT INTO stock_log (order_id, direction, action, activity_id, ticket_type, user_id, allocations, change_quantity,
			business_type, created_at, updated_at) VALUES (?, 1, 'FREEZE_ROLLED_BACK', ?, ?, ?, ?, ?, 3, ?, ?)`, o.ID[:], o.ActivityID, o.TicketType,
			o.UserID, o.Allocations.Compact(), o.Quantity, o.CreatedAt, o.CreatedAt)
	}},
}

func TestEveryInjectedDifferenceIsFoundAndNoneIsMended(t *testing.T) {
	t.Parallel()
	for name, c := range injectionsThere {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, plan{capacity: 4 * injections, buckets: 8})
			orders := w.soldTo(injections)
			var want []string
			for _, o := range orders {
				c.spoil(w, o)
				want = append(want, string(c.kind)+" "+c.subject(o))
			}
			if name == "dead in Redis without a row" {
				want = want[:0]
				for _, o := range orders {
					want = append(want, string(c.kind)+" "+w.facts.OrderID(o.UserID, "second").String())
				}
			}
			slices.Sort(want)
			w.advance(2 * reconcile.PendingGrace)
			before := w.figures()
			dry := w.reconcileNow(reconcile.DryRun)
			if len(w.differences()) != 0 || dry.Differences != injections {
				t.Errorf("the dry run recorded %d and counted %d", len(w.differences()), dry.Differences)
			}
			for range 2 {
				run := w.reconcileNow(reconcile.Repairing)
				delete(run.Repaired, reconcile.MendSuspend)
				if run.Differences != injections || len(run.Repaired) != 0 {
					t.Errorf("%+v", run)
				}
			}
			if got := w.differences(); !slices.Equal(got, want) {
				t.Errorf("found %d: %v\nwant %v", len(got), got[:min(5, len(got))], want[:5])
			}
			if w.figures() != before {
				t.Error("a figure was changed")
			}
			for _, d := range w.openDifferences() {
				if d.Occurrences != 2 || d.Revision != 1 {
					t.Fatalf("found twice: %+v", d)
				}
			}
			suspends := c.kind == reconcile.LimitDiffers || c.kind == reconcile.StockLogDiffers
			if a := w.present(); (a.Status == sale.Suspended) != suspends {
				t.Errorf("the sale is %s", a.Status)
			}
			alerts := w.count("SELECT COUNT(*) FROM alert WHERE kind = 'DIFFERENCES_FOUND'")
			if alerts != 1 || (w.count("SELECT COUNT(*) FROM alert WHERE kind = 'SALE_SUSPENDED'") == 1) != suspends {
				t.Errorf("%d alerts", alerts)
			}
		})
	}
}

func (w *world) present() *sale.Activity {
	w.t.Helper()
	a, err := catalog.Get(w.t.Context(), w.db, w.activity.ID)
	w.must(err)
	return a
}

func TestEveryInjectedLossIsMended(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kind  reconcile.MendKind
		spoil func(w *world, o order.Order)
	}{
		"entry lost": {reconcile.MendAdopt, (*world).lose},
		"death lost": {reconcile.MendRelease, func(w *world, o order.Order) {
			w.cancel(o)
			w.revive(o)
		}},
		"other buckets in MySQL": {reconcile.MendAck, func(w *world, o order.Order) {
			other := sale.Allocations{{Bucket: (o.Allocations[0].Bucket + 1) % 8, Count: o.Quantity}}
			for _, a := range o.Allocations {
				w.exec("UPDATE stock_bucket SET frozen = frozen - ? WHERE bucket = ?", a.Count, a.Bucket)
			}
			w.exec("UPDATE stock_bucket SET frozen = frozen + ? WHERE bucket = ?", o.Quantity, other[0].Bucket)
			w.exec("UPDATE trade_order SET allocations = ? WHERE id = ?", other.Compact(), o.ID[:])
			w.exec("UPDATE stock_log SET allocations = ? WHERE order_id = ?", other.Compact(), o.ID[:])
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, plan{capacity: 8 * injections, buckets: 8})
			for _, o := range w.soldTo(injections) {
				c.spoil(w, o)
			}
			dry := w.reconcileNow(reconcile.DryRun)
			run := w.reconcileNow(reconcile.Repairing)
			if run.Repaired[c.kind] != injections || len(run.Repaired) != 1 || run.Differences != 0 {
				t.Errorf("%+v", run)
			}
			would, err := reconcile.RunDetail(t.Context(), w.db, dry.ID)
			w.must(err)
			did, err := reconcile.RunDetail(t.Context(), w.db, run.ID)
			w.must(err)
			if len(did) != injections || !slices.Equal(show(would), show(did)) {
				t.Errorf("the dry run lists %d, the repair %d, or others", len(would), len(did))
			}
			w.agree()
			if again := w.reconcileNow(reconcile.Repairing); len(again.Repaired) != 0 || again.Consistent != again.Checked {
				t.Errorf("again %+v", again)
			}
		})
	}
}

// resolve has an action done about the only open difference.
func (w *world) resolve(action reconcile.Action) reconcile.Difference {
	w.t.Helper()
	open := w.openDifferences()
	if len(open) != 1 {
		w.t.Fatalf("%d open differences: %v", len(open), w.differences())
	}
	d, err := w.reconciler.Resolve(w.t.Context(), reconcile.Resolution{ID: open[0].ID, Revision: open[0].Revision, Action: action, Note: "n",
		Entry: audit.Entry{Operator: "op", Action: "difference.resolve", Subject: "d", RequestID: "r"}})
	if err != nil || d.Status != reconcile.DifferenceResolved || d.Action != action {
		w.t.Fatalf("%+v, %v", d, err)
	}
	return d
}

func TestEveryInjectedCounterAndBucketIsFoundAndCorrectedByItsAction(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{capacity: 100, buckets: 4})
	w.buy("a", "k", 3)
	w.cancel(w.buy("b", "k", 1))
	sound := w.figures()
	for i := range injections {
		subject, off := fmt.Sprint(ticket, ":", i%4), i%7-3
		if off >= 0 {
			off++
		}
		counter := i%2 == 0
		switch {
		case counter && i%5 == 0:
			subject = ticket
			w.must(w.rdb.HIncrBy(t.Context(), w.key("rules"), "left:"+ticket, int64(off)).Err())
		case counter:
			w.must(w.rdb.HIncrBy(t.Context(), w.key("rules"), "left:"+subject, int64(off)).Err())
		default:
			w.exec("UPDATE stock_bucket SET frozen = frozen + 2 WHERE bucket = ?", i%4)
		}
		run := w.reconcileNow(reconcile.Repairing)
		if run.Differences != 1 || len(run.Repaired)-run.Repaired[reconcile.MendSuspend] != 0 {
			t.Fatalf("%d: %+v", i, run)
		}
		if d := w.openDifferences()[0]; d.Subject != subject {
			t.Fatalf("%d: %s, want %s", i, d.Subject, subject)
		}
		if counter {
			w.resolve(reconcile.ActSetCounter)
		} else {
			w.resolve(reconcile.ActBucket)
		}
		if w.figures() != sound {
			t.Fatalf("%d: not corrected", i)
		}
	}
	if run := w.reconcileNow(reconcile.Repairing); run.Differences != 0 {
		t.Errorf("%+v", run)
	}
	if n := w.count("SELECT COUNT(*) FROM audit_log WHERE action = 'difference.resolve'"); n != injections {
		t.Errorf("%d audit rows", n)
	}
	if n := w.count("SELECT COUNT(*) FROM difference WHERE inverse IS NULL"); n != 0 {
		t.Errorf("%d without an inverse", n)
	}
}
