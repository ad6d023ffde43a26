package timeline_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/shared/audit"
	"holdfast/shared/checkout"
	"holdfast/shared/order"
	"holdfast/shared/reconcile/timeline"
	"holdfast/shared/sale"
	"holdfast/shared/stock"
	"holdfast/shared/testenv"
)

// telling checks that a story has these events in this order, each given as its source and a part of its text.
func telling(t *testing.T, events []timeline.Event, want ...string) {
	t.Helper()
	at := 0
	for _, e := range events {
		if at == len(want) {
			break
		}
		source, part, _ := strings.Cut(want[at], " ")
		if string(e.Source) == source && strings.Contains(e.Text, part) {
			at++
		}
	}
	if at < len(want) {
		t.Errorf("%q is not told, or not in its place, in:", want[at])
		for _, e := range events {
			t.Errorf("  %s %s %s", e.At.Format(time.TimeOnly), e.Source, e.Text)
		}
	}
	if !slices.IsSortedFunc(events, func(a, b timeline.Event) int { return a.At.Compare(b.At) }) {
		t.Error("the events are not in the order of time")
	}
}

func TestTheWholeLifeOfAnOrderIsOneList(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o := w.buy("ann", "k", 2)
	pause := func() { time.Sleep(2 * time.Millisecond) } // the two servers stamp in milliseconds
	pause()
	entry := operator("order.pay")
	entry.Subject = o.ID.String()
	if _, err := w.checkout.MarkPaid(t.Context(), o.ID, "bank-7", entry); err != nil {
		t.Fatal(err)
	}
	pause()
	by := audit.Entry{Operator: "op", Action: "order.cancel", Subject: o.ID.String(), RequestID: "r"}
	if _, err := w.checkout.Cancel(t.Context(), o.ID, checkout.Canceller{Operator: &by, Refund: checkout.RefundNone}); err != nil {
		t.Fatal(err)
	}
	story := w.order(o.ID)
	telling(t, story.Events, "REDIS Taken: 2 units of STANDARD, by bucket", "MYSQL The order was written from its message",
		"OPERATOR It was marked as paid, by operator op", "OPERATOR It was cancelled, by operator op",
		"MYSQL It was CANCELLED: an operator took it back", "REDIS Given back: 2 units", "MYSQL It was noted that Redis has the units back")
	telling(t, story.Events, "QUEUE Its message m-k reached create-orders")
	telling(t, story.Events, "MYSQL It was paid: MANUAL:bank-7", "REDIS Given back: 2 units")
	if story.Status != "CANCELLED" || story.UserID != "ann" || story.ActivityID != w.id || !strings.Contains(story.Verdict, "free again") ||
		!strings.Contains(story.Next, "Nothing happens") {
		t.Errorf("%s of %q: %s %s", story.Status, story.UserID, story.Verdict, story.Next)
	}
}

func TestTheVerdictSaysHowThingsStandAndWhatHappensNext(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		make                  func(w *world) sale.OrderID
		status, verdict, next string
	}{
		"on its way": {func(w *world) sale.OrderID { return w.mustReserve("ann", "k", 1).OrderID },
			"RESERVED", "has not become an order yet", "within seconds"},
		"pending for long": {func(w *world) sale.OrderID {
			id := w.mustReserve("ann", "k", 1).OrderID
			w.clock.Add(int64(5 * time.Minute))
			return id
		}, "RESERVED", "has not become an order yet", "The minute pass makes it an order"},
		"its message given up": {func(w *world) sale.OrderID {
			m := w.mustReserve("ann", "k", 1)
			w.letter(m.Reservation)
			w.clock.Add(int64(5 * time.Minute))
			return m.OrderID
		}, "RESERVED", "Its message was given up", "The message is not needed"},
		"unpaid": {func(w *world) sale.OrderID { return w.buy("ann", "k", 1).ID }, "UNPAID", "waits for its payment", "If it is not paid by"},
		"not told to Redis": {func(w *world) sale.OrderID { return w.commit(w.mustReserve("ann", "k", 1)).Live[0].ID },
			"UNPAID", "Redis has not been told", "The minute pass does it"},
		"past its deadline": {func(w *world) sale.OrderID {
			id := w.buy("ann", "k", 1).ID
			w.clock.Add(int64(20 * time.Minute))
			return id
		}, "UNPAID", "was not paid by", "is cancelled within a minute"},
		"lost by Redis": {func(w *world) sale.OrderID {
			id := w.buy("ann", "k", 1).ID
			w.redis("HDEL", "log", "t"+string(id[:]))
			return id
		}, "UNPAID", "Redis has lost it", "taught the order"},
		"live and dead": {func(w *world) sale.OrderID {
			o := w.buy("ann", "k", 1)
			if _, err := w.stock.Release(w.t.Context(), w.id, o.ID, "ann", "USER"); err != nil {
				w.t.Fatal(err)
			}
			return o.ID
		}, "UNPAID", "must not be", "a person must look"},
		"dead without a row": {func(w *world) sale.OrderID {
			m := w.mustReserve("ann", "k", 1)
			if _, err := w.stock.Release(w.t.Context(), w.id, m.OrderID, "ann", "USER"); err != nil {
				w.t.Fatal(err)
			}
			return m.OrderID
		}, "CANCELLED", "MySQL has no row", "a person must look"},
		"cancelled, not released": {func(w *world) sale.OrderID {
			m := w.mustReserve("ann", "k", 1)
			if _, err := w.checkout.Tombstone(w.t.Context(), m.Reservation, order.ByUser); err != nil {
				w.t.Fatal(err)
			}
			return m.OrderID
		}, "CANCELLED", "Redis still holds its units", "within a minute"},
		"forgotten by both": {func(w *world) sale.OrderID {
			m := w.mustReserve("ann", "k", 1)
			w.letter(m.Reservation)
			w.redis("HDEL", "log", "t"+string(m.OrderID[:]))
			return m.OrderID
		}, "", "neither store knows it", "Sent to the queue again"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			story := w.order(c.make(w))
			if story.Status != c.status || !strings.Contains(story.Verdict, c.verdict) || !strings.Contains(story.Next, c.next) {
				t.Errorf("%s: %s Next: %s", story.Status, story.Verdict, story.Next)
			}
		})
	}
}

func TestRepairsDifferencesAndAlertsAreToldToo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o := w.buy("ann", "k", 1)
	now, err := w.db.Now(t.Context(), w.db)
	if err != nil {
		t.Fatal(err)
	}
	err = order.RecordRepairs(t.Context(), w.db, []order.Repair{{ActivityID: w.id, OrderID: &o.ID, Layer: order.EveryMinute, Kind: order.RepairAck,
		BrokenAt: now.Add(-time.Minute)}}, now.Add(time.Second))
	if err != nil {
		t.Fatal(err)
	}
	w.exec(`INSERT INTO compensation_fail (order_id, kind, activity_id, status, attempts, due_at, last_error, created_at, updated_at)
 VALUES (?, 'ACK', ?, 'DONE', 2, ?, 'e', ?, ?)`, o.ID[:], w.id, now, now.Add(time.Millisecond), now.Add(time.Second))
	w.exec(`INSERT INTO difference (activity_id, kind, subject, status, digest, evidence, proposed_action, found_at, seen_at)
 VALUES (?, 'LIVE_AND_DEAD', ?, 'OPEN', ?, '{}', 'NOTHING', ?, ?)`, w.id, o.ID.String(), make([]byte, 32), now.Add(2*time.Second), now.Add(2*time.Second))
	w.exec(`INSERT INTO alert (kind, subject, activity_id, detail, first_at, last_at) VALUES ('STUCK', ?, ?, '{}', ?, ?)`,
		o.ID.String(), w.id, now.Add(3*time.Second), now.Add(3*time.Second))
	telling(t, w.order(o.ID).Events, "MYSQL The order was written", "REPAIR could not be told at once to take the order as committed",
		"REPAIR after 2 more tries", "REPAIR The minute pass told Redis that it is committed, broken since",
		"REPAIR found difference", "REPAIR Alert STUCK")
}

func TestAnUnknownOrderSaysWhatWasLookedAt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, c := range map[string]struct {
		id   sale.OrderID
		part string
	}{
		"of a known activity":    {w.facts.OrderID("nobody", "k"), "the log of activity " + w.id + " in Redis"},
		"of an unknown activity": {sale.NewOrderID(1, []byte("salt"), "u", "k"), "none of which has the number"},
	} {
		_, err := timeline.OfOrder(t.Context(), w.db, w.stock, c.id)
		if !errors.Is(err, timeline.ErrUnknown) || !strings.Contains(err.Error(), c.part) || !strings.Contains(err.Error(), c.id.String()) {
			t.Errorf("%s: %v", name, err)
		}
	}
	w.redis("DEL", "log")
	if _, err := timeline.OfOrder(t.Context(), w.db, w.stock, w.facts.OrderID("nobody", "k")); !errors.Is(err, stock.ErrNotLoaded) {
		t.Errorf("while Redis cannot tell: %v", err)
	}
}

func TestARowIsToldWhileRedisIsAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o := w.buy("ann", "k", 1)
	away := testenv.Proxy(t, testenv.RedisAddr(t))
	away.Down()
	story, err := timeline.OfOrder(t.Context(), w.db, stock.New(testenv.RedisClient(t, away.Addr), nil), o.ID)
	if err != nil || story.Status != "UNPAID" || !strings.Contains(story.Verdict, "Redis could not be asked") {
		t.Fatalf("%+v, %v", story, err)
	}
	telling(t, story.Events, "MYSQL Reserved, by what the row keeps of it: 1 unit", "MYSQL The order was written")
}
