package faulty

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"
)

// Each part takes a fault that a published design of such a system has, and shows that it cannot happen here.
func TestFaultsOfPublishedDesignsCannotHappen(t *testing.T) {
	t.Parallel()
	whole := newStage(t)
	for name, part := range map[string]func(t *testing.T, o *offer){
		"S1, S10: figures and holdings after a release are those of the release":          figuresOfTheirOwn,
		"S2, S5: a release whose record was lost gives back once":                         releasedButNotRecorded,
		"S3: whatever a live order's state is, it is no orphan, and one without a row is": orphans,
		"S6: drift is shown to a person and neither hidden nor overwritten":               drift,
		"S11, S12: no instance sells on when the sale is stopped, and nothing expires":    stopped,
	} {
		// They share one stage and its faults, so they take turns.
		t.Run(name, func(t *testing.T) {
			s := whole.on(t)
			defer s.cleanUp()
			defer s.database.CutBefore(nil)
			part(t, s.sell(terms{capacity: 50, limit: 6}))
		})
	}
}

func figuresOfTheirOwn(t *testing.T, o *offer) {
	first := o.promised("first", "wish", 2)
	o.becomes("first", first, "UNPAID")
	o.promised("second", "wish", 5) // moves the counter in between
	if a := o.cancel("first", first); a.state() != "CANCELLED" {
		t.Fatalf("cancelling: %v", a)
	}
	if a := o.holding("first"); a.status != 200 || a.body.Held != 0 {
		t.Errorf("the buyer still holds: %v", a)
	}
	o.promised("first", "another", 6) // as many as are allowed at all
	o.haveRows(2, "UNPAID")
	var before, change, after int
	for direction, want := range map[int][3]int{-1: {50, -2, 48}, 1: {43, 2, 45}} {
		err := o.rows.QueryRowContext(t.Context(), `SELECT before_quantity, change_quantity, after_quantity FROM stock_log
 WHERE direction = ? AND user_id = 'first' AND activity_id = ? AND change_quantity = ?`, direction, o.id, want[1]).Scan(&before, &change, &after)
		if got := [3]int{before, change, after}; err != nil || got != want {
			t.Errorf("the row of direction %d says %v, want %v; %v", direction, got, want, err)
		}
	}
	o.certified(2)
}

// releasedButNotRecorded cuts the connection of whoever wants to note that Redis has the units back: by then it has.
func releasedButNotRecorded(t *testing.T, o *offer) {
	id := o.promised("buyer", "wish", 4)
	o.becomes("buyer", id, "UNPAID")
	o.nothingPending()
	cuts := o.database.Cuts()
	o.database.CutBefore(func(chunk []byte) bool { return bytes.Contains(chunk, []byte("SET released_at = ")) })
	o.cancel("buyer", id) // however that ends for the buyer
	o.eventually("the record is lost", func() (bool, string) {
		return o.database.Cuts() > cuts && o.left() == 50, fmt.Sprint(o.database.Cuts()-cuts, " cuts, ", o.left(), " left")
	})
	if n := o.count("SELECT COUNT(*) FROM trade_order WHERE activity_id = ? AND released_at IS NULL", o.id); n != 1 {
		t.Errorf("%d orders are not known to be released, want 1", n)
	}
	for range 3 { // all of them give back again what Redis has back already
		o.compensate()
		o.reconcile()
	}
	o.database.CutBefore(nil)
	o.promised("next", "wish", 1)
	o.haveRows(1, "UNPAID")
	o.healed()
	if n := o.left(); n != 49 {
		t.Errorf("%d units left, want 49", n)
	}
	o.certified(1)
}

func orphans(t *testing.T, o *offer) {
	var ids []string
	for i := range 6 {
		ids = append(ids, o.promised(named("buyer")(i), "wish", 1))
	}
	o.haveRows(6, "UNPAID")
	for _, id := range ids[:3] {
		o.must("POST", "/ops/v1/orders/"+id+"/payment", o.operator, map[string]any{"reference": "till-" + id[:8]})
	}
	o.cancel("buyer-5", ids[5])
	o.fault("queue.send", "refuse", 1)
	for i := range 2 { // frozen in Redis, and no table has ever heard of them
		o.unconfirmed(o.reserve(named("unheard")(i), "wish", 2))
	}
	o.endFaults()
	for range 3 {
		o.advance(10 * time.Minute) // as old as any orphan
		o.compensate()
		o.reconcile()
	}
	o.haveRows(3, "PAID")
	o.haveRows(4, "UNPAID")
	o.healed()
	if n := o.left(); n != 50-5-4 {
		t.Errorf("%d units left, want 41", n)
	}
	o.certified(7)
}

// drift moves counters by hand: up, so that too much would be sold, and far below zero, where a design that clamps shows nothing.
func drift(t *testing.T, o *offer) {
	o.promised("buyer", "wish", 1)
	o.haveRows(1, "UNPAID")
	o.nothingPending()
	o.healed()
	for field, units := range map[string]int64{"left:" + seat: -60, "left:" + seat + ":1": 3} {
		if err := o.keys.HIncrBy(t.Context(), o.key("rules"), field, units).Err(); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		o.must("POST", "/ops/v1/reconciliations", o.operator, map[string]any{"activityId": o.id, "mode": "REPAIR"})
	}
	if n := o.left(); n != 49-60 {
		t.Errorf("%d units left: the reconcile has touched the counter", n)
	}
	var listed struct {
		Items []struct {
			DifferenceID, ETag, Kind, Subject, ProposedAction string
			Evidence                                          struct{ Redis struct{ Off int } }
		}
	}
	a := o.must("GET", "/ops/v1/differences?status=OPEN&activityId="+o.id, o.operator, nil)
	if err := json.Unmarshal([]byte(a.text), &listed); err != nil || len(listed.Items) != 2 {
		t.Fatalf("two differences, please: %v, %v", a, err)
	}
	for _, d := range listed.Items {
		want := map[string]int{seat: -60, seat + ":1": 3}[d.Subject]
		if d.Kind != "COUNTER_DIFFERS" || d.Evidence.Redis.Off != want {
			t.Errorf("%s of %s is off by %d, want %d", d.Kind, d.Subject, d.Evidence.Redis.Off, want)
		}
		resolve := func(etag string) answer {
			return o.askWith("POST", "/ops/v1/differences/"+d.DifferenceID+"/resolution",
				http.Header{"Authorization": {"Bearer " + o.operator}, "If-Match": {etag}, "Idempotency-Key": {"resolve-" + d.DifferenceID + etag}},
				map[string]any{"action": d.ProposedAction, "note": "looked at"})
		}
		if a := resolve(`"4711"`); a.status != 412 {
			t.Errorf("a resolution of what it said before: %v", a)
		}
		if a := resolve(d.ETag); a.status != 200 {
			t.Errorf("the proposed action: %v", a)
		}
	}
	if n := o.left(); n != 49 {
		t.Errorf("%d units left after both were resolved, want 49", n)
	}
	o.certified(1)
}

func stopped(t *testing.T, o *offer) {
	if n := o.soldTo(o.rush(16, named("buyer"))); n != 16 { // and as many instances as there were callers at once are warm
		t.Errorf("%d were accepted", n)
	}
	o.turn("suspension")
	if n := o.soldTo(o.rush(16, named("late")), "SALE_SUSPENDED"); n != 0 {
		t.Errorf("%d bought of a sale that is suspended", n)
	}
	o.turn("resumption")
	if n := o.soldTo(o.rush(16, named("later"))); n != 16 {
		t.Errorf("%d were accepted after the resumption", n)
	}
	o.haveRows(32, "UNPAID") // what is in the queue when a sale closes is not made
	o.turn("closure")
	if n := o.soldTo(o.rush(8, named("too-late")), "SALE_CLOSED"); n != 0 {
		t.Errorf("%d bought of a sale that is closed", n)
	}
	o.keepsNoExpiry()
	o.certified(32)
}
