package checkout_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/shared/catalog"
	"holdfast/shared/checkout"
	"holdfast/shared/deposit"
	"holdfast/shared/notice"
	"holdfast/shared/order"
	"holdfast/shared/sale"
	"holdfast/shared/waitlist"
)

// manyOrders buys for one user after the other.
func (w *world) manyOrders(n int) []order.Order {
	w.t.Helper()
	list := make([]order.Order, n)
	for i := range n {
		list[i] = w.buy(fmt.Sprint("buyer", i), "k", 1)
	}
	return list
}

func (w *world) calledOff() string {
	w.t.Helper()
	_, id, err := w.checkout.CallOff(w.t.Context(), w.activity.ID, operator("activity.call-off"))
	if err != nil {
		w.t.Fatal(err)
	}
	return id
}

// extend asks for an extension by half an hour.
func (w *world) extend(what checkout.ExtendWhat) string {
	w.t.Helper()
	in := checkout.Extension{ID: "e", By: 30 * time.Minute, What: what, Reason: "r"}
	id, err := w.checkout.ExtendDeadlines(w.t.Context(), w.activity.ID, in, operator("activity.extend"))
	if err != nil {
		w.t.Fatal(err)
	}
	return id
}

func (w *world) wantAlert(kind, subject string) {
	w.t.Helper()
	w.wantCount(1, "SELECT COUNT(*) FROM alert WHERE kind = ? AND subject = ?", kind, subject)
}

// cached is an order as readers find it in the cache.
func (w *world) cached(id sale.OrderID) (o order.Order) {
	w.t.Helper()
	text, hit, err := w.stock.CachedOrder(w.t.Context(), w.activity.ID, id)
	if err == nil && !hit {
		return w.get(id) // readers go to the row
	}
	if err == nil {
		err = json.Unmarshal(text, &o)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return o
}

// The time of a pass ends after its second page. A job that goes on in the next pass has no problem.
func TestJobsTakeTurnsAndRunningOutOfTimeIsNoProblem(t *testing.T) {
	t.Parallel()
	long := newWorld(t, plan{capacity: 200})
	short := newWorld(t, plan{dsn: long.dsn})
	long.manyOrders(120)
	short.manyOrders(3)
	first, second := long.calledOff(), short.calledOff()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	pages := 0
	long.checkout.RingBy(func(context.Context) error {
		if pages++; pages == 2 {
			cancel()
		}
		return nil
	})
	if n, err := long.checkout.RunBulkJobs(ctx); err != nil || n != 0 {
		t.Errorf("%d ended, %v", n, err)
	}
	if a, b := long.job(first), long.job(second); a.Done != 50 || b.Done != 3 || a.Problem != "" || b.Problem != "" {
		t.Errorf("done %d (%s) and %d (%s), want a page of each", a.Done, a.Problem, b.Done, b.Problem)
	}
	if n, err := long.checkout.RunBulkJobs(t.Context()); err != nil || n != 2 {
		t.Errorf("%d ended, %v", n, err)
	}
}

func TestOrderThatCannotBeCancelledKeepsNoOtherBackAndIsCancelledOnceItCan(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{})
	list := w.manyOrders(60)
	bad := list[17]
	hold := func(units int) {
		if _, err := w.db.ExecContext(t.Context(), "UPDATE purchase_limit SET quantity = ? WHERE user_id = ?", units, bad.UserID); err != nil {
			t.Fatal(err)
		}
	}
	hold(0) // a foreign hand
	id := w.calledOff()
	for pass := range 2 {
		if n, err := w.checkout.RunBulkJobs(t.Context()); err == nil || n != 0 {
			t.Fatalf("pass %d: %d ended, %v", pass, n, err)
		}
		if j := w.job(id); j.Done != 59 || j.Status != "RUNNING" || j.Problem == "" {
			t.Fatalf("pass %d: job %+v %s", pass, j, j.Result)
		}
	}
	w.wantCount(59, "SELECT COUNT(*) FROM trade_order WHERE status = 'CANCELLED'")
	w.wantAlert("JOB_ORDER_FAILED", bad.ID.String())
	w.wantAlert("CALLED_OFF_ORDER_LIVE", w.activity.ID)
	hold(1)
	if n, err := w.checkout.RunBulkJobs(t.Context()); err != nil || n != 1 {
		t.Fatalf("%d ended, %v", n, err)
	}
	if a, err := catalog.Get(t.Context(), w.db, w.activity.ID); err != nil || a.Status != sale.Cancelled {
		t.Errorf("the sale is %s, %v", a.Status, err)
	}
	if j := w.job(id); j.Done != 60 || j.Status != "SUCCEEDED" || j.Problem != "" || strings.Contains(string(j.Result), "failed") {
		t.Errorf("job %+v %s", j, j.Result)
	}
	w.agree()
}

func TestOrderWhoseDeadlineCannotBeMovedKeepsNoOtherBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{})
	list := w.manyOrders(60)
	bad := list[31]
	_, err := w.db.ExecContext(t.Context(), "UPDATE trade_order SET pay_deadline = '9999-12-31 23:59:59' WHERE id = ?", bad.ID[:])
	if err != nil {
		t.Fatal(err)
	}
	id := w.extend(checkout.ExtendPayments)
	if n, err := w.checkout.RunBulkJobs(t.Context()); err != nil || n != 1 {
		t.Fatalf("%d ended, %v", n, err)
	}
	if j := w.job(id); j.Status != "SUCCEEDED" || !strings.Contains(string(j.Result), `"extended":59`) || !strings.Contains(string(j.Result), `"failed":1`) {
		t.Errorf("job %+v %s", j, j.Result)
	}
	w.wantAlert("JOB_ORDER_FAILED", bad.ID.String())
}

// What tells of an offer is not too late before the offer is, whoever has to send it and was about to.
func TestOfferIsToldOfUntilItsMovedDeadline(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		claimed bool
		after   time.Duration // since the offer was made
		want    string
	}{
		"beyond the first deadline":                   {after: 16 * time.Minute, want: "SENT"},
		"claimed by somebody who died, and beyond it": {claimed: true, after: 16 * time.Minute, want: "SENT"},
		"beyond the moved deadline":                   {after: 46 * time.Minute, want: "SKIPPED"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, sold := soldOut(t, 1)
			e := w.join("u", 1)
			w.cancel(sold[0])
			w.stands(e.ID, waitlist.Offered)
			if c.claimed {
				err := w.db.Run(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
					now, err := w.db.Now(ctx, tx)
					if err == nil {
						_, err = notice.Claim(ctx, tx, now, 10)
					}
					return err
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			if err := w.checkout.RunBulkJob(t.Context(), w.extend(checkout.ExtendPayments)); err != nil {
				t.Fatal(err)
			}
			w.wantCount(1, `SELECT COUNT(*) FROM notice n JOIN waitlist_entry e ON n.order_id = e.order_id JOIN trade_order o ON o.id = e.order_id
 WHERE n.kind = 'WAITLIST_OFFER' AND n.expires_at = e.accept_by AND o.pay_deadline = e.accept_by`)
			w.clock.Add(int64(c.after))
			w.send(&subscriber{})
			w.wantCount(1, "SELECT COUNT(*) FROM notice WHERE kind = 'WAITLIST_OFFER' AND status = ?", c.want)
		})
	}
}

// Both have looked for the id before either has written it.
func TestOneExtensionIdForTwoWishesAtOnceIsRefusedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{})
	w.buy("u", "k", 1)
	for name, c := range map[string]struct {
		by   time.Duration
		want error
	}{"another": {2 * time.Hour, checkout.ErrExtensionExists}, "the same": {time.Hour, nil}} {
		var g sync.WaitGroup
		errs := make([]error, 2)
		w.inTx(func(ctx context.Context, tx *sql.Tx) error {
			if _, err := tx.ExecContext(ctx, "SELECT 1 FROM activity WHERE activity_id = ? FOR UPDATE", w.activity.ID); err != nil {
				return err
			}
			for i, by := range []time.Duration{time.Hour, c.by} {
				g.Go(func() {
					in := checkout.Extension{ID: name, By: by, What: checkout.ExtendPayments, Reason: "r"}
					_, errs[i] = w.checkout.ExtendDeadlines(t.Context(), w.activity.ID, in, operator("activity.extend"))
				})
			}
			w.waiting(2)
			return nil
		})
		g.Wait()
		if !errors.Is(errors.Join(errs...), c.want) || c.want != nil && errs[0] != nil && errs[1] != nil {
			t.Errorf("%s: %v and %v", name, errs[0], errs[1])
		}
		w.wantCount(1, "SELECT COUNT(*) FROM job WHERE status = 'QUEUED'")
		w.wantCount(1, "SELECT COUNT(*) FROM audit_log WHERE action = 'activity.extend'")
		if _, err := w.checkout.RunBulkJobs(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := w.db.ExecContext(t.Context(), "DELETE FROM audit_log WHERE action = 'activity.extend'"); err != nil {
			t.Fatal(err)
		}
	}
}

func TestReadersSeeAnExtensionAndARefundAtOnce(t *testing.T) {
	t.Parallel()
	w := newTill(t, plan{})
	w.topUp("u", "100.00")
	o, paid := w.buy("u", "k", 1), w.buy("u", "p", 1)
	if _, err := w.checkout.PayByWallet(t.Context(), paying(paid, "p")); err != nil {
		t.Fatal(err)
	}
	w.extend(checkout.ExtendPayments)
	if _, err := w.checkout.RunBulkJobs(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, want := w.cached(o.ID).PayDeadline, o.PayDeadline.Add(30*time.Minute); !got.Equal(want) {
		t.Errorf("readers see the deadline %v, want %v", got, want)
	}
	if _, err := w.refund(paid, "r", "5.00"); err != nil {
		t.Fatal(err)
	}
	if got := w.cached(paid.ID).Refunded.String(); got != "5.00" {
		t.Errorf("readers see %s refunded", got)
	}
}

func TestExtensionOfPaymentsWaitsForNoDeposit(t *testing.T) {
	t.Parallel()
	w := depositWorld(t)
	w.topUp("30.00", "u")
	o := w.buy("u", "k", 1)
	id := w.extend(checkout.ExtendPayments)
	w.inTx(func(ctx context.Context, tx *sql.Tx) error {
		if _, err := deposit.Lock(ctx, tx, o.ID); err != nil {
			return err
		}
		within, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		if err := w.checkout.RunBulkJob(within, id); err != nil {
			t.Error(err)
		}
		return nil
	})
}
