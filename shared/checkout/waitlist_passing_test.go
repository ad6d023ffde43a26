package checkout_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/go-sql-driver/mysql"

	"holdfast/shared/checkout"
	"holdfast/shared/order"
	"holdfast/shared/stock"
	"holdfast/shared/testenv"
	"holdfast/shared/waitlist"
)

// cancelUnheard cancels an order, and Redis is not told.
func (w *world) cancelUnheard(o order.Order) {
	w.t.Helper()
	proxy := testenv.Proxy(w.t, testenv.RedisAddr(w.t))
	deaf := checkout.New(w.db, stock.New(testenv.RedisClient(w.t, proxy.Addr), nil), w.catalog, nil)
	proxy.Down()
	if _, err := deaf.Cancel(w.t.Context(), o.ID, checkout.Canceller{UserID: o.UserID}); err != nil {
		w.t.Fatal(err)
	}
	if got := w.get(o.ID); got.Status != order.Cancelled || got.ReleasedAt != nil {
		w.t.Fatalf("%+v", got)
	}
}

// What a user holds is what the database says. Redis hears of an order's end later, and closed is final.
func TestWhoHoldsTooManyOnlyByRedisGoesOnWaitingAndKeepsNobodyBack(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ limit, bought int }{
		"one is allowed":    {1, 1},
		"three are allowed": {3, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, plan{capacity: c.bought + 1, limit: c.limit})
			mine, other := w.buy("me", "k", c.bought), w.buy("other", "k", 1)
			w.cancelUnheard(mine)
			me, next := w.join("me", 1), w.join("next", 1)
			w.cancel(other)
			w.stands(me.ID, waitlist.Waiting)
			w.stands(next.ID, waitlist.Offered)

			mine = w.get(mine.ID)
			if err := w.checkout.ReleaseCommitted(t.Context(), mine); err != nil {
				t.Fatal(err)
			}
			w.fill()
			w.stands(me.ID, waitlist.Offered)
			w.agree()
		})
	}
}

// Units that are saved up for somebody stay saved up while Redis does not give them out yet.
func TestUnitsStaySavedUpForWhoHoldsTooManyOnlyByRedis(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{capacity: 4, limit: 2})
	mine := w.buy("me", "k", 1)
	sold := []order.Order{w.buy("b0", "k", 1), w.buy("b1", "k", 1), w.buy("b2", "k", 1)}
	me, next, third := w.join("me", 2), w.join("next", 1), w.join("third", 1)
	w.cancel(sold[0])
	w.stands(next.ID, waitlist.Offered)
	w.clock.Add(int64(waitlist.SaveAfter))
	w.cancel(sold[1])
	if e := w.stands(me.ID, waitlist.Waiting); e.SavingSince == nil {
		t.Fatal("nothing is saved up")
	}
	w.cancelUnheard(mine)
	w.cancel(sold[2]) // there are two now
	w.stands(me.ID, waitlist.Waiting)
	w.stands(third.ID, waitlist.Waiting)
	if err := w.checkout.ReleaseCommitted(t.Context(), w.get(mine.ID)); err != nil {
		t.Fatal(err)
	}
	w.fill()
	w.stands(me.ID, waitlist.Offered)
	w.stands(third.ID, waitlist.Offered)
	w.agree()
}

func TestEntryWhoseRowsFailKeepsNobodyBackAndAPersonIsTold(t *testing.T) {
	t.Parallel()
	w, sold := soldOut(t, 3)
	head, next := w.join("head", 1), w.join("next", 1)
	w.refuseLimits("head", 1644)
	w.cancel(sold[0]) // this unit is taken for the head
	w.cancel(sold[1])
	w.stands(head.ID, waitlist.Waiting)
	w.stands(next.ID, waitlist.Offered)
	w.wantAlert("OFFER_FAILED", head.ID.String())

	if _, err := w.db.ExecContext(t.Context(), "DROP TRIGGER broken"); err != nil {
		t.Fatal(err)
	}
	w.sweep() // its unit is still taken for it
	w.stands(head.ID, waitlist.Offered)
	w.agree()
}

// The log in Redis has something else under the id of its offer.
func TestEntryWhoseOrderIDIsTakenKeepsNobodyBackAndAPersonIsTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{capacity: 4})
	back := w.away(4)
	head, next := w.join("head", 1), w.join("next", 1)
	back()
	_, err := w.stock.Reserve(t.Context(), &w.facts, stock.ReserveRequest{OrderID: w.facts.OfferID(head.ID, 0), UserID: "head",
		TicketType: ticket, Quantity: 2, PastGate: true})
	if err != nil {
		t.Fatal(err)
	}
	w.fill()
	w.stands(head.ID, waitlist.Waiting)
	w.stands(next.ID, waitlist.Offered)
	w.wantAlert("OFFER_FAILED", head.ID.String())
}

// With a database that hands out no locks, or with one thing wrong for everybody, it is no single entry's rows that fail.
func TestWalkThatFailsForOthersThanTheEntryEnds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		user    string // "" is everybody
		code    uint16
		alerts  int
		pending int // entries that units were taken for
	}{
		"a deadlock again and again": {"head", 1213, 0, 1},
		"every entry's rows":         {"", 1644, 10, 11},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, plan{capacity: 15})
			back := w.away(15)
			w.join("head", 1)
			for i := range 14 {
				w.join(string(rune('a'+i)), 1)
			}
			back()
			w.refuseLimits(c.user, c.code)
			_, err := w.checkout.FillWaitlist(t.Context(), w.activity.ID)
			if failure := (*mysql.MySQLError)(nil); !errors.As(err, &failure) || failure.Number != c.code {
				t.Errorf("the walk ends with %v", err)
			}
			w.wantCount(0, "SELECT COUNT(*) FROM waitlist_entry WHERE status <> 'WAITING'")
			w.wantCount(c.alerts, "SELECT COUNT(*) FROM alert WHERE kind = 'OFFER_FAILED'")
			if shot, err := w.stock.Snapshot(t.Context(), &w.facts); err != nil || shot.Pending != c.pending {
				t.Errorf("%d are pending, want %d, %v", shot.Pending, c.pending, err)
			}
		})
	}
}

// refuseLimits has the database refuse to note what a user holds, with an error of this number; "" stands for every user.
func (w *world) refuseLimits(user string, code uint16) {
	w.t.Helper()
	_, err := w.db.ExecContext(w.t.Context(), fmt.Sprintf(`CREATE TRIGGER broken BEFORE INSERT ON purchase_limit FOR EACH ROW
 IF '%[1]s' IN ('', NEW.user_id) THEN SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = %[2]d; END IF`, user, code))
	if err != nil {
		w.t.Fatal(err)
	}
}
