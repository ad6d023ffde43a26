package faulty

import (
	"encoding/json"
	"strings"
	"time"
)

// reconcile runs the full reconcile of all sales, beside those that the clock starts.
func (s *stage) reconcile() answer {
	return s.ask("POST", "/local/schedules/reconcile-stock", "", "", nil)
}

// healed lets every schedule do its work, until nothing is left to any of them and a full reconcile finds nothing to speak of.
func (o *offer) healed() {
	o.t.Helper()
	o.repaired()
	o.eventually("a full reconcile finds nothing to do", func() (bool, string) {
		var run struct {
			Status                           string
			Differences, Checked, Consistent int
			InFlight                         int
			Repaired                         map[string]int
			Problem                          string
		}
		a := o.ask("POST", "/ops/v1/reconciliations", o.operator, "", map[string]any{"activityId": o.id, "mode": "REPAIR"})
		if a.status != 200 || json.Unmarshal([]byte(a.text), &run) != nil {
			return false, a.String()
		}
		mended := 0
		for _, n := range run.Repaired {
			mended += n
		}
		return run.Status == "SUCCEEDED" && run.Differences == 0 && mended == 0 && run.Checked == run.Consistent && run.InFlight == 0, a.text
	})
	if n := o.count("SELECT COUNT(*) FROM difference WHERE activity_id = ? AND status = 'OPEN'", o.id); n != 0 {
		o.t.Errorf("%d differences are left to a person", n)
	}
}

// certified demands the operator's certificate, which must pass, after everything is healed.
func (o *offer) certified(live int) {
	o.t.Helper()
	o.healed()
	o.proves(live)
	var certificate struct{ Verdict string }
	a := o.ask("GET", "/ops/v1/activities/"+o.id+"/certificate", o.operator, "", nil)
	if a.status != 200 || json.Unmarshal([]byte(a.text), &certificate) != nil || certificate.Verdict != "PASS" {
		o.t.Errorf("the certificate: %v", a)
	}
}

// turn takes the sale through one of an operator's steps, such as "suspension".
func (o *offer) turn(step string) {
	o.t.Helper()
	o.must("POST", "/ops/v1/activities/"+o.id+"/"+step, o.operator, map[string]any{})
}

// key is the full name of one of the sale's keys.
func (o *offer) key(name string) string { return "hf:{" + o.id + "}:" + name }

// keepsNoExpiry demands that no key of the set would ever vanish by itself.
func (o *offer) keepsNoExpiry() {
	o.t.Helper()
	keys, err := o.stage.keys.Keys(o.t.Context(), o.key("*")).Result()
	if err != nil || len(keys) < 4 {
		o.t.Fatalf("keys of the sale: %v, %v", keys, err)
	}
	for _, key := range keys {
		if strings.Contains(key, ":order:") { // the cache of orders, which readers may find gone
			continue
		}
		switch ttl, err := o.stage.keys.TTL(o.t.Context(), key).Result(); {
		case err == nil && ttl == -2 && key == o.key("pending"): // its last entry was acknowledged after the keys were listed
		case err != nil || ttl != -1:
			o.t.Errorf("%s expires in %v, %v", key, ttl, err)
		}
	}
}

// persistently is what an app does while the sale is not ready: it waits as long as it is told to, and sends the same again.
func (o *offer) persistently(user, key string, quantity int) (a answer) {
	for range 600 {
		a = o.reserve(user, key, quantity)
		if a.status != 503 && a.status != 0 {
			return a
		}
		time.Sleep(50 * time.Millisecond)
	}
	return a
}

// soldTo counts the accepted among answers, and reports what nobody may hear.
func (o *offer) soldTo(answers []answer, refusals ...string) (accepted int) {
	o.t.Helper()
	for i, a := range answers {
		switch {
		case a.status == 202:
			accepted++
		case !strings.Contains(strings.Join(refusals, " "), a.body.Code) || a.body.Code == "":
			o.t.Errorf("buyer %d heard %v", i, a)
		}
	}
	return accepted
}

// sellsOutWhileRepairRuns sells the rest to strangers who wait for a sale that is not ready, while the minute pass runs again and again.
func (o *offer) sellsOutWhileRepairRuns(rest, capacity int) {
	o.t.Helper()
	ended := make(chan struct{})
	answers := make([]answer, rest+6)
	go func() {
		defer close(ended)
		inParallel(len(answers), func(i int) { answers[i] = o.persistently(named("stranger")(i), "wish", 1) })
	}()
	for selling := true; selling; {
		select {
		case <-ended:
			selling = false
		case <-time.After(100 * time.Millisecond):
			o.compensate()
		}
	}
	// A load in between may promise a unit that is in the queue to another one as well; then the database refuses the later order.
	if n := o.soldTo(answers, "INSUFFICIENT_STOCK"); n < rest {
		o.t.Errorf("%d strangers were promised a unit, want %d", n, rest)
	}
	o.haveRows(capacity, "UNPAID")
}
