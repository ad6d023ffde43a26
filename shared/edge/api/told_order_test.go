package api

import (
	"net/http"
	"strconv"
	"testing"

	"holdfast/shared/audit"
	"holdfast/shared/sale"
)

// asked counts the SELECTs of MySQL that a call makes. One connection then carries all of them, and its own counter counts none but them.
func (w *world) asked(call func()) int {
	w.t.Helper()
	w.d.DB.SetMaxOpenConns(1)
	count := func() int {
		var name, n string
		if err := w.d.DB.QueryRowContext(w.t.Context(), `SHOW SESSION STATUS LIKE 'Com_select'`).Scan(&name, &n); err != nil {
			w.t.Fatal(err)
		}
		selects, err := strconv.Atoi(n)
		if err != nil {
			w.t.Fatal(err)
		}
		return selects
	}
	before := count()
	call()
	return count() - before
}

func TestPollOfACachedOrderAsksOnlyForWhatItMayHave(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	h := NewGetOrder(w.d)
	tickets := w.sale()
	reserved := w.reserved(tickets, "u1", "reserved")
	w.expect(w.call(h, seek("u1", reserved)), 200, "") // from now on the activity is known
	waits := w.reserved(tickets, "u1", "k1")
	seats := w.sale(depositSeats)
	topUp(t, w.d.DB.Run, "u1", "25.00")
	frozen := w.reserved(seats, "u1", "k1")
	w.consume()
	w.expect(w.call(h, seek("u1", frozen)), 200, "")
	for _, c := range []struct {
		name, id, member string
		most             int
	}{
		{"an order that waits for its payment", waits, "", 1},
		{"a seat whose deposit is frozen", frozen, "deposit", 1},
	} {
		var got answer
		if n := w.asked(func() { got = w.call(h, seek("u1", c.id)) }); n > c.most {
			t.Errorf("%s: MySQL is asked %d times", c.name, n)
		}
		w.expect(got, 200, "")
		if c.member != "" && got.body[c.member] == nil || got.str("status") != "UNPAID" {
			t.Errorf("%s: %s", c.name, got.text)
		}
	}
}

func TestOrderToldWithoutItsMoneyIsToldToBeAskedForAgainWhileItCanBePaid(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.sale()
	h := NewGetOrder(w.d)
	unpaid, paid := w.reserved(a, "u1", "k1"), w.reserved(a, "u1", "k2")
	w.consume()
	id, err := sale.ParseOrderID(paid)
	if err != nil {
		t.Fatal(err)
	}
	by := audit.Entry{Operator: "op", Action: "order.pay", Subject: paid, RequestID: "r"}
	if _, err := w.d.Checkout.MarkPaid(t.Context(), id, "ref-1", by); err != nil {
		t.Fatal(err)
	}
	whole := w.call(h, seek("u1", unpaid))
	if w.expect(whole, 200, ""); whole.body["pollAfterMs"] != nil {
		t.Errorf("nothing of it changes by itself: %s", whole.text)
	}
	w.mysql.Down()
	known := seek("u1", unpaid)
	known.header = map[string]string{"If-None-Match": whole.header["ETag"]}
	part := w.call(h, known) // whether a payment has begun nobody can say, so it is not unchanged
	w.expect(part, 200, "")
	if part.str("status") != "UNPAID" || part.body["pollAfterMs"] == nil || part.header["ETag"] == "" {
		t.Errorf("without MySQL: %s, tag %q", part.text, part.header["ETag"])
	}
	known.header["If-None-Match"] = part.header["ETag"]
	if same := w.call(h, known); same.status != http.StatusNotModified {
		t.Errorf("still without MySQL: %d %s", same.status, same.text)
	}
	if final := w.call(h, seek("u1", paid)); final.status != 200 || final.str("status") != "PAID" || final.body["pollAfterMs"] != nil {
		t.Errorf("what is paid: %d %s", final.status, final.text)
	}
	w.mysql.Up()
	if again := w.call(h, known); again.status != 200 || again.body["pollAfterMs"] != nil || again.header["ETag"] != whole.header["ETag"] {
		t.Errorf("with MySQL: %d %s", again.status, again.text)
	}
}
