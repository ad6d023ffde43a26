package order_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"holdfast/shared/order"
	"holdfast/shared/sqltx"
)

func TestStatusMovesOnlyAlongTheDrawnEdges(t *testing.T) {
	t.Parallel()
	all := []order.Status{order.Reserved, order.Unpaid, order.Paid, order.Cancelled}
	legal := map[[2]order.Status]bool{
		{order.Reserved, order.Unpaid}: true, {order.Reserved, order.Paid}: true, {order.Reserved, order.Cancelled}: true,
		{order.Unpaid, order.Paid}: true, {order.Unpaid, order.Cancelled}: true, {order.Paid, order.Cancelled}: true,
	}
	for _, from := range all {
		for _, to := range all {
			if got := from.CanBecome(to); got != legal[[2]order.Status{from, to}] {
				t.Errorf("%s -> %s: %v", from, to, got)
			}
			if from.CanBecome(to) && to.Rank() <= from.Rank() {
				t.Errorf("%s -> %s goes down in rank", from, to)
			}
		}
	}
}

func TestCancelMovesAnOrderOnceAndTheSecondTimeIsAnError(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o := w.order("u1", "k", 2)
	w.claim(o)
	w.tx(func(ctx context.Context, tx *sql.Tx) error {
		return order.CancelAll(ctx, tx, []order.Order{o}, order.ByUser, w.now)
	})
	got := w.get(o.ID)
	if got.Status != order.Cancelled || got.Reason != order.ByUser || got.Revision != 2 || got.CancelledAt == nil {
		t.Fatalf("got %+v", got)
	}
	err := w.db.Run(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		return order.CancelAll(ctx, tx, []order.Order{o}, order.PayTimeout, w.now)
	})
	if !errors.Is(err, order.ErrChanged) {
		t.Fatalf("got %v, want ErrChanged", err)
	}
	if got := w.get(o.ID); got.Reason != order.ByUser || got.Revision != 2 {
		t.Fatalf("the refused change left %+v", got)
	}
}

func TestPayMovesUnpaidToPaidAndNothingElse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o := w.order("u1", "k", 2)
	w.claim(o)
	w.tx(func(ctx context.Context, tx *sql.Tx) error {
		if err := order.Pay(ctx, tx, &o, order.PaidByManual("r1"), w.now); err != nil {
			return err
		}
		return order.LogDeducted(ctx, tx, o.ID, w.now)
	})
	got := w.get(o.ID)
	if got.Status != order.Paid || got.Paid.String() != "25.00" || got.PaidBy != "MANUAL:r1" || got.Revision != 2 {
		t.Fatalf("got %+v", got)
	}
	if action := w.value("SELECT action FROM stock_log WHERE order_id = ? AND direction = -1", o.ID[:]); action != "DEDUCT" {
		t.Fatalf("the stock log says %s", action)
	}
	again := w.order("u1", "k", 2)
	err := w.db.Run(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		return order.Pay(ctx, tx, &again, order.PaidByManual("r2"), w.now)
	})
	if !errors.Is(err, order.ErrChanged) {
		t.Fatalf("got %v, want ErrChanged", err)
	}
}

func TestHoldIsRefusedBeyondTheLimitAndGiveBackBelowZero(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	holder := order.Holder{ActivityID: w.activity.ID, UserID: "u1"}
	limits := map[string]int{w.activity.ID: 4}
	hold := func(n int) error {
		return w.db.Run(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
			return order.Hold(ctx, tx, order.Holdings{holder: n}, limits, w.now)
		})
	}
	if err := hold(4); err != nil {
		t.Fatal(err)
	}
	if err := hold(1); !sqltx.CheckViolated(err) {
		t.Fatalf("a fifth unit: got %v, want the violated CHECK", err)
	}
	limits[w.activity.ID] = 5 // the limit of an activity may rise
	if err := hold(1); err != nil {
		t.Fatalf("after the limit rose: %v", err)
	}
	giveBack := func(n int) error {
		return w.db.Run(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
			return order.GiveBack(ctx, tx, order.Holdings{holder: n}, w.now)
		})
	}
	if err := giveBack(6); !sqltx.CheckViolated(err) {
		t.Fatalf("six of five given back: got %v, want the violated CHECK", err)
	}
	if err := giveBack(5); err != nil {
		t.Fatal(err)
	}
	if held, _ := order.Held(t.Context(), w.db, holder); held != 0 {
		t.Fatalf("holds %d", held)
	}
}

func TestReleasesAreRecordedOnceWithTheFiguresOfTheFirstAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	known, unknown := w.order("u1", "k", 2), w.order("u2", "k", 1)
	w.claim(known, unknown)
	orders := []order.Order{known, unknown}
	w.tx(func(ctx context.Context, tx *sql.Tx) error {
		if err := order.CancelAll(ctx, tx, orders, order.PayTimeout, w.now); err != nil {
			return err
		}
		return order.LogGivenBack(ctx, tx, orders, w.now)
	})
	record := func(before int, at time.Time) {
		w.tx(func(ctx context.Context, tx *sql.Tx) error {
			return order.Released(ctx, tx, []order.Release{{ID: known.ID, Before: before, After: before + 2, Known: true}, {ID: unknown.ID}}, at)
		})
	}
	record(-3, w.now)
	record(7, w.now.Add(time.Hour))
	figures := "SELECT CONCAT_WS(' ', business_type, before_quantity, change_quantity, after_quantity) FROM stock_log WHERE direction = 1 AND order_id = ?"
	if got := w.value(figures, known.ID[:]); got != "2 -3 2 -1" {
		t.Errorf("figures %q", got)
	}
	if got := w.value(figures, unknown.ID[:]); got != "2 1" {
		t.Errorf("figures of one that Redis did not know: %q", got)
	}
	for _, id := range []order.Order{known, unknown} {
		if at := w.get(id.ID).ReleasedAt; at == nil || !at.Equal(w.now) {
			t.Errorf("released at %v, want the first instant", at)
		}
	}
}
