package certificate_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"holdfast/shared/catalog"
	"holdfast/shared/checkout"
	"holdfast/shared/reconcile/certificate"
	"holdfast/shared/reconcile/invariant"
	"holdfast/shared/sale"
)

// plants holds, per equation, one error in a store, and whom the certificate must name.
var plants = map[string]struct {
	plant    func(*cast)
	offender func(*cast) string
}{
	"O1": {func(c *cast) { c.exec("UPDATE stock_bucket SET sold = 99 WHERE activity_id = ? AND bucket = 1", c.id) }, bucket1},
	"O2": {func(c *cast) { c.exec("UPDATE activity SET per_user_limit = 2 WHERE activity_id = ?", c.id) }, func(c *cast) string { return c.bob.String() }},
	"L2": {func(c *cast) { c.clock.Add(int64(3 * time.Minute)) }, func(c *cast) string { return c.dan.String() }},
	"D1": {func(c *cast) { c.exec("DELETE FROM stock_log WHERE order_id = ? AND direction = -1", c.bob[:]) }, func(c *cast) string { return c.bob.String() }},
	"D2": {func(c *cast) { c.exec("DELETE FROM stock_log WHERE order_id = ? AND direction = 1", c.cat[:]) }, func(c *cast) string { return c.cat.String() }},
	"D3": {func(c *cast) { c.exec("UPDATE order_router SET user_id = 'mallory' WHERE order_id = ?", c.ann[:]) }, func(c *cast) string { return c.ann.String() }},
	"D4": {func(c *cast) {
		c.exec("UPDATE stock_bucket SET frozen = frozen + 1 WHERE activity_id = ? AND bucket = 1", c.id)
	}, bucket1},
	"D5": {func(c *cast) {
		c.exec("UPDATE stock_bucket SET sold = sold + 1 WHERE activity_id = ? AND bucket = 1", c.id)
	}, bucket1},
	"D6": {func(c *cast) { c.exec("UPDATE purchase_limit SET quantity = 0 WHERE user_id = 'bob'") }, func(*cast) string { return "buyer bob" }},
	"D7": {func(c *cast) {
		c.exec("UPDATE stock_log SET action = 'FREEZE' WHERE order_id = ? AND direction = -1", c.bob[:])
	}, func(c *cast) string { return c.bob.String() }},
	"D8": {func(c *cast) {
		c.exec("UPDATE stock_bucket SET adjusted = adjusted + 1 WHERE activity_id = ? AND bucket = 1", c.id)
	}, bucket1},
	"C1": {func(c *cast) { c.redis("HINCRBY", "rules", "left:"+ticket+":1", 1) }, bucket1},
	"C2": {func(c *cast) { c.redis("HINCRBY", "rules", "left:"+ticket, -1) }, func(*cast) string { return "ticket type " + ticket }},
	"C3": {func(c *cast) { c.redis("HDEL", "log", "t"+string(c.ann[:])) }, func(c *cast) string { return c.ann.String() }},
	"C4": {func(c *cast) {
		c.exec("UPDATE stock_bucket SET capacity = capacity + 1 WHERE activity_id = ? AND bucket = 1", c.id)
	}, bucket1},
	"C5": {func(c *cast) { c.redis("HSET", "buyers", "uann", "3t"+string(c.ann[:])) }, func(*cast) string { return "buyer ann" }},
	"C6": {func(c *cast) { c.exec("DELETE FROM stock_adjustment WHERE activity_id = ?", c.id) }, func(*cast) string { return "adjustment more" }},
	"C7": {func(c *cast) { c.redis("HSET", "log", "xt"+string(c.cat[:]), "1 5 2 USER") }, func(c *cast) string { return c.cat.String() }},
	"S1": {func(c *cast) { c.clock.Add(int64(17 * time.Minute)) }, func(c *cast) string { return c.ann.String() }},
	"S2": {func(c *cast) {
		c.exec("UPDATE trade_order SET released_at = NULL WHERE id = ?", c.cat[:])
		c.clock.Add(int64(3 * time.Minute))
	}, func(c *cast) string { return c.cat.String() }},
	"S7": {func(c *cast) { // its job does nothing
		if _, _, err := c.checkout.CallOff(c.t.Context(), c.id, operator("activity.change")); err != nil {
			c.t.Fatal(err)
		}
		c.clock.Add(int64(3 * time.Minute))
	}, func(c *cast) string {
		id, err := sale.OrderIDFromBytes([]byte(c.text("SELECT MIN(id) FROM trade_order WHERE status <> 'CANCELLED'")))
		if err != nil {
			c.t.Fatal(err)
		}
		return id.String()
	}},
	"S8": {func(c *cast) {
		_, _, err := c.catalog.BeginAdjustment(c.t.Context(), catalog.Adjustment{ActivityID: c.id, ID: "slow", TicketType: ticket, Delta: 5, Reason: "r"},
			operator("activity.change"))
		if err != nil {
			c.t.Fatal(err)
		}
		c.clock.Add(int64(3 * time.Minute))
	}, func(*cast) string { return "adjustment slow" }},
}

func bucket1(*cast) string { return "bucket " + ticket + ":1" }

func TestACertificateOfASaleInWhichAllIsWellPasses(t *testing.T) {
	t.Parallel()
	c := newCast(t)
	got := c.make()
	if got.Verdict != certificate.Pass || got.InFlight != 1 || got.Exact || got.Seq == "0" {
		t.Errorf("certificate %+v", got)
	}
	ids := make(map[string]bool)
	for _, e := range got.Equations {
		ids[e.ID] = true
		if e.Verdict != certificate.Pass {
			t.Errorf("%+v", e)
		}
	}
	planted := slices.Concat(slices.Collect(maps.Keys(plants)), slices.Collect(maps.Keys(seatPlants)), slices.Collect(maps.Keys(tillPlants)))
	slices.Sort(planted)
	if got := slices.Sorted(maps.Keys(ids)); !slices.Equal(got, slices.Compact(planted)) {
		t.Errorf("equations %v, planted errors for %v", got, planted)
	}
}

func TestEachEquationFindsItsErrorInTheStoresAndNamesIt(t *testing.T) {
	t.Parallel()
	for id, p := range plants {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			c := newCast(t)
			p.plant(c)
			got := c.make()
			at := slices.IndexFunc(got.Equations, func(e certificate.Equation) bool { return e.ID == id })
			if e := got.Equations[at]; got.Verdict != certificate.Fail || e.Verdict != certificate.Fail || e.FirstOffender != p.offender(c) {
				t.Errorf("verdict %s, equation %+v, want %s named", got.Verdict, e, p.offender(c))
			}
		})
	}
}

func TestExactEqualityIsClaimedOnceTheSaleIsClosedAndNothingIsInFlight(t *testing.T) {
	t.Parallel()
	c := newCast(t)
	c.turn(sale.Suspended)
	if got := c.make(); got.Exact || got.Verdict != certificate.Pass {
		t.Errorf("with a reservation in flight: %+v", got)
	}
	if _, err := c.checkout.Cancel(t.Context(), c.dan, checkout.Canceller{UserID: "dan"}); err != nil {
		t.Fatal(err)
	}
	if got := c.make(); !got.Exact || got.Verdict != certificate.Pass || got.InFlight != 0 {
		t.Errorf("suspended: %+v", got)
	}
	c.turn(sale.Closed)
	if got := c.make(); !got.Exact || got.Verdict != certificate.Pass {
		t.Errorf("closed: %+v", got)
	}
}

// A reader with the package comment alone recomputes the hash from what was answered.
func TestTheHashIsThatOfTheSortedBodyAndChangesWithEveryFigure(t *testing.T) {
	t.Parallel()
	c := newCast(t).make()
	body, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var members map[string]any
	if err := json.Unmarshal(body, &members); err != nil {
		t.Fatal(err)
	}
	delete(members, "hash")
	var sorted bytes.Buffer
	if err := json.NewEncoder(&sorted).Encode(members); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(bytes.TrimSpace(sorted.Bytes()))
	if c.Hash != hex.EncodeToString(sum[:]) {
		t.Errorf("hash %s, recomputed %x", c.Hash, sum)
	}
	for name, change := range map[string]func(*certificate.Certificate){
		"a side":    func(c *certificate.Certificate) { c.Equations[3].Left++ },
		"a verdict": func(c *certificate.Certificate) { c.Equations[0].Verdict = certificate.Fail },
		"the seq":   func(c *certificate.Certificate) { c.Seq = "1" },
		"in flight": func(c *certificate.Certificate) { c.InFlight++ },
	} {
		other := *c
		other.Equations = slices.Clone(c.Equations)
		change(&other)
		if sum, err := other.Sum(); err != nil || sum == c.Hash {
			t.Errorf("%s changes nothing in the hash, %v", name, err)
		}
	}
}

func TestAMovingSaleIsNeverAccused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	stop := make(chan struct{})
	var buyers sync.WaitGroup
	for b := range 4 {
		buyers.Go(func() { w.buyAndCancel(fmt.Sprint("user", b), stop) })
	}
	for range 60 {
		got := w.make()
		for _, e := range got.Equations {
			if e.Verdict == certificate.Fail {
				t.Errorf("with %d in flight: %+v", got.InFlight, e)
			}
		}
	}
	close(stop)
	buyers.Wait()
	w.turn(sale.Closed)
	if got := w.make(); got.Verdict != certificate.Pass || !got.Exact {
		t.Errorf("at rest: %+v", got)
	}
}

// buyAndCancel buys and gives up again until it is told to stop; whatever it began it brings to its end.
func (w *world) buyAndCancel(user string, stop chan struct{}) {
	for n := 0; ; n++ {
		select {
		case <-stop:
			return
		default:
		}
		m, err := w.reserve(w.t.Context(), user, fmt.Sprint(user, n), 1+n%3)
		if err != nil {
			w.t.Error(err)
			return
		}
		out, err := w.checkout.CreateOrders(w.t.Context(), []checkout.Message{m})
		if err == nil {
			err = w.checkout.Settle(w.t.Context(), out)
		}
		if err == nil {
			_, err = w.checkout.Cancel(w.t.Context(), m.OrderID, checkout.Canceller{UserID: user})
		}
		if err != nil {
			w.t.Error(err)
			return
		}
	}
}

func TestWithoutAWholeSetThereIsNoCertificate(t *testing.T) {
	t.Parallel()
	c := newCast(t)
	c.redis("DEL", "buyers")
	if _, err := certificate.Make(t.Context(), c.db, c.stock, c.id); !errors.Is(err, invariant.ErrNotChecked) {
		t.Errorf("made of half a set: %v", err)
	}
	if _, err := certificate.Make(t.Context(), c.db, c.stock, "none"); !errors.Is(err, catalog.ErrNotFound) {
		t.Errorf("made of nothing: %v", err)
	}
}

func TestTheNewestCertificateIsKept(t *testing.T) {
	t.Parallel()
	c := newCast(t)
	if _, err := certificate.Latest(t.Context(), c.db, c.id); !errors.Is(err, certificate.ErrNone) {
		t.Errorf("before the first: %v", err)
	}
	for range 2 {
		made := c.make()
		if err := certificate.Keep(t.Context(), c.db, made); err != nil {
			t.Fatal(err)
		}
		kept, err := certificate.Latest(t.Context(), c.db, c.id)
		if err != nil || kept.Hash != made.Hash || len(kept.Equations) != len(made.Equations) {
			t.Errorf("kept %+v, %v", kept, err)
		}
		if sum, err := kept.Sum(); err != nil || sum != kept.Hash {
			t.Errorf("what was kept has another hash: %s, %v", sum, err)
		}
		c.buy(fmt.Sprint("u", made.Seq), 1)
	}
}
