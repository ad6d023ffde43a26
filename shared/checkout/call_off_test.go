package checkout_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/shared/catalog"
	"holdfast/shared/checkout"
	"holdfast/shared/order"
	"holdfast/shared/reconcile"
	"holdfast/shared/sale"
	"holdfast/shared/wallet"
)

func (w *world) job(id string) *reconcile.Job {
	w.t.Helper()
	j, err := reconcile.GetJob(w.t.Context(), w.db, id)
	if err != nil {
		w.t.Fatal(err)
	}
	return j
}

// runKilled runs a job and kills it again and again: each run gets a moment only.
func (w *world) runKilled(id string) {
	w.t.Helper()
	for run := 1; ; run++ {
		ctx, cancel := context.WithTimeout(w.t.Context(), time.Duration(3*run)*time.Millisecond)
		err := w.checkout.RunBulkJob(ctx, id)
		cancel()
		if err == nil {
			return
		}
		if run == 2000 {
			w.t.Fatalf("the job does not end: %v", err)
		}
	}
}

func TestSaleIsCalledOffWithAllItsMoneyBackHoweverOftenTheJobIsKilled(t *testing.T) {
	t.Parallel()
	w := newTill(t, plan{limit: 200, capacity: 1000})
	w.topUp("w", "1000.00")
	var orders []order.Order
	for i := range 130 {
		o := w.buy("w", fmt.Sprint("k", i), 1)
		orders = append(orders, o)
		if i%2 == 0 {
			continue
		}
		if _, err := w.checkout.PayByWallet(t.Context(), paying(o, "p")); err != nil {
			t.Fatal(err)
		}
	}
	byProvider, manual, pending := w.paidByProvider("u1", "k"), w.buy("u2", "k", 1), w.buy("u3", "k", 1)
	if _, err := w.checkout.MarkPaid(t.Context(), manual.ID, "bank", operator("order.pay")); err != nil {
		t.Fatal(err)
	}
	p := w.begin(pending, "p")
	if _, err := w.refund(byProvider, "r1", "20.00"); err != nil {
		t.Fatal(err)
	}
	a, id, err := w.checkout.CallOff(t.Context(), w.activity.ID, operator("activity.call-off"))
	if err != nil || a.Status != sale.Closed || a.CancelledAt == nil {
		t.Fatalf("%+v, %v", a, err)
	}
	_, err = w.checkout.PayByWallet(t.Context(), paying(orders[0], "late"))
	wantErr(t, err, checkout.ErrNotPayable)
	w.mustTell(p) // money that comes now goes back
	w.runKilled(id)
	if _, again, err := w.checkout.CallOff(t.Context(), w.activity.ID, operator("activity.call-off")); err != nil || again != id {
		t.Fatalf("again: %s, %v", again, err)
	}
	j := w.job(id)
	if j.Status != "SUCCEEDED" || j.Done != 133 || *j.Total != 133 || !strings.Contains(string(j.Result), `"refunds":67`) {
		t.Fatalf("job %+v, %s", j, j.Result)
	}
	if a, err = catalog.Get(t.Context(), w.db, w.activity.ID); err != nil || a.Status != sale.Cancelled {
		t.Fatalf("the sale is %s, %v", a.Status, err)
	}
	if n := w.count("SELECT COUNT(*) FROM trade_order WHERE status <> 'CANCELLED' OR reason <> 'SALE_CANCELLED' OR paid <> refunded"); n != 0 {
		t.Errorf("%d orders are not given back", n)
	}
	if n := w.count("SELECT COUNT(*) FROM notice WHERE kind = 'ORDER_CANCELLED'"); n != 133 {
		t.Errorf("%d buyers were told", n)
	}
	w.releaseLeft()
	w.balanced()
	if w.available("w") != "1000.00" || w.provider.Held("CNY").String() != "0.00" || w.account(wallet.House) != "0.00" {
		t.Errorf("wallet %s, provider %s, house %s", w.available("w"), w.provider.Held("CNY"), w.account(wallet.House))
	}
}

func TestDepositsOfACalledOffSaleComeBackInFull(t *testing.T) {
	t.Parallel()
	w := depositWorld(t)
	w.topUp("10000.00", "u1")
	for i := range 8 {
		o := w.buy("u1", fmt.Sprint("k", i), 1)
		if i%2 == 0 {
			if err := w.confirm("u1", o.ID); err != nil {
				t.Fatal(err)
			}
		}
	}
	_, id, err := w.checkout.CallOff(t.Context(), w.activity.ID, operator("activity.call-off"))
	if err != nil {
		t.Fatal(err)
	}
	w.runKilled(id)
	w.wantPurse("u1", "10000.00 0.00")
	w.wantAccount(wallet.House, "0.00")
	if j := w.job(id); j.Status != "SUCCEEDED" || j.Done != 8 {
		t.Fatalf("job %+v", j)
	}
	w.releaseLeft()
	w.agree()
}

// releaseLeft gives units back that killed runs left to the minute pass.
func (w *world) releaseLeft() {
	w.t.Helper()
	w.clock.Add(int64(time.Minute))
	if _, err := w.reconciler().ReleaseUnreleased(w.t.Context(), 100); err != nil {
		w.t.Fatal(err)
	}
}

func TestDraftCannotBeCalledOff(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{})
	if _, err := w.db.ExecContext(t.Context(), "UPDATE activity SET status = 'DRAFT' WHERE activity_id = ?", w.activity.ID); err != nil {
		t.Fatal(err)
	}
	_, _, err := w.checkout.CallOff(t.Context(), w.activity.ID, operator("activity.call-off"))
	wantErr(t, err, catalog.ErrIllegalTransition)
	_, _, err = w.checkout.CallOff(t.Context(), "nowhere", operator("activity.call-off"))
	wantErr(t, err, catalog.ErrNotFound)
}

func TestDeadlinesAreMovedOnceHoweverOftenTheJobIsKilled(t *testing.T) {
	t.Parallel()
	w := newTill(t, plan{limit: 200, capacity: 1000})
	w.topUp("w", "1000.00")
	var orders []order.Order
	for i := range 120 {
		orders = append(orders, w.buy("w", fmt.Sprint("k", i), 1))
	}
	p := w.begin(orders[0], "p")
	if _, err := w.checkout.PayByWallet(t.Context(), paying(orders[1], "p")); err != nil {
		t.Fatal(err)
	}
	in := checkout.Extension{ID: "outage-1", By: 30 * time.Minute, What: checkout.ExtendPayments, Reason: "the provider was away"}
	ask := func(in checkout.Extension) (string, error) {
		return w.checkout.ExtendDeadlines(t.Context(), w.activity.ID, in, operator("activity.extend"))
	}
	id, err := ask(in)
	if err != nil {
		t.Fatal(err)
	}
	later := w.buy("w", "after", 1)
	_, err = ask(checkout.Extension{ID: "outage-2", By: time.Hour, What: checkout.ExtendPayments, Reason: "r"})
	wantErr(t, err, checkout.ErrExtensionRunning)
	var g sync.WaitGroup
	w.run(func(ctx context.Context, tx *sql.Tx) error { // both come to the first page while one of its orders is locked
		if _, err := order.GetForUpdate(ctx, tx, orders[5].ID); err != nil {
			return err
		}
		for range 2 {
			g.Go(func() {
				if err := w.checkout.RunBulkJob(t.Context(), id); err != nil {
					t.Error(err)
				}
			})
		}
		time.Sleep(300 * time.Millisecond)
		return nil
	})
	for range 2 { // others run it beside them, and are killed
		g.Go(func() { w.runKilled(id) })
	}
	g.Wait()
	for range 2 {
		if again, err := ask(in); err != nil || again != id {
			t.Fatalf("again: %s, %v", again, err)
		}
		if err := w.checkout.RunBulkJob(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	in.By = time.Hour
	_, err = ask(in)
	wantErr(t, err, checkout.ErrExtensionExists)
	for i, o := range orders {
		want := o.PayDeadline.Add(30 * time.Minute)
		if i == 1 {
			want = *o.PayDeadline // it was paid
		}
		if got := w.get(o.ID).PayDeadline; !got.Equal(want) {
			t.Fatalf("order %d: %v, want %v", i, got, want)
		}
	}
	if got := w.get(later.ID).PayDeadline; !got.Equal(*later.PayDeadline) {
		t.Errorf("an order made afterwards was moved")
	}
	if got := w.payment(p.ID).ExpiresAt; !got.Equal(orders[0].PayDeadline.Add(30 * time.Minute)) {
		t.Errorf("its payment ends at %v", got)
	}
	if n := w.count("SELECT COUNT(*) FROM notice WHERE kind = 'DEADLINE_EXTENDED'"); n != 119 {
		t.Errorf("%d were told", n)
	}
	if j := w.job(id); j.Status != "SUCCEEDED" || !strings.Contains(string(j.Result), `"extended":119`) {
		t.Errorf("job %+v %s", j, j.Result)
	}
	w.mustTell(p)
	w.balanced()
}

func TestDeadlinesOfDepositsAreMovedWithTheirReminders(t *testing.T) {
	t.Parallel()
	w := depositWorld(t)
	w.topUp("1000.00", "u1")
	o := w.buy("u1", "k", 1)
	before := w.deposit(o.ID)
	id, err := w.checkout.ExtendDeadlines(t.Context(), w.activity.ID, checkout.Extension{ID: "e", By: time.Hour, What: checkout.ExtendDeposits, Reason: "r"}, operator("x"))
	if err != nil {
		t.Fatal(err)
	}
	if n, err := w.checkout.RunBulkJobs(t.Context()); err != nil || n != 1 {
		t.Fatalf("%d ended, %v", n, err)
	}
	if got := w.deposit(o.ID); !got.ConfirmDeadline.Equal(before.ConfirmDeadline.Add(time.Hour)) || !got.RemindAt.Equal(before.RemindAt.Add(time.Hour)) {
		t.Fatalf("%+v", got)
	}
	if j := w.job(id); j.Status != "SUCCEEDED" {
		t.Errorf("job %+v", j)
	}
}
