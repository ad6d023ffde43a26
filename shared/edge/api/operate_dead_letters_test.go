package api

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"holdfast/infra/local/sqs"
	"holdfast/shared/checkout"
	"holdfast/shared/edge/boot"
	"holdfast/shared/edge/queue"
	"holdfast/shared/reconcile"
	"holdfast/shared/sale"
)

// lettersWorld is an opsWorld with a queue behind it, which can refuse.
type lettersWorld struct {
	*opsWorld
	orders *sqs.Queue
	refuse atomic.Bool
	later  atomic.Int64 // how far the queue's clock is ahead, nanoseconds
}

// Next implements sqs.Faults.
func (w *lettersWorld) Next(point string) sqs.Mode {
	if point == sqs.PointSend && w.refuse.Load() {
		return sqs.Refuse
	}
	return sqs.None
}

func newLettersWorld(t *testing.T) *lettersWorld {
	t.Helper()
	w := &lettersWorld{opsWorld: newOpsWorld(t, "")}
	// The queue's clock runs ahead by more with every reading, so that what is delayed arrives at once.
	server, err := sqs.Start(sqs.Options{Faults: w, Now: func() time.Time { return time.Now().Add(time.Duration(w.later.Load())) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	if w.orders, err = server.CreateQueue("orders", nil); err != nil {
		t.Fatal(err)
	}
	carrier := queue.NewSQS(boot.LocalSQS(server.Endpoint()), w.orders.URL(), "")
	w.deps.Orders, w.deps.Returns = carrier, carrier
	w.handler = NewOperateSales(w.deps)
	w.publish(nil)
	return w
}

// letter records the message of a reservation as given up, and gives the record's id.
func (w *lettersWorld) letter(r sale.Reservation) string {
	w.t.Helper()
	body, err := queue.Encode(r)
	if err != nil {
		w.t.Fatal(err)
	}
	err = reconcile.RecordDeadLetter(w.t.Context(), w.deps.DB, reconcile.DeadLetter{Queue: "letters", MessageID: "m-" + r.OrderID.String(),
		OrderID: &r.OrderID, ActivityID: r.ActivityID, Reason: "TOO_MANY_RECEIVES", Body: body, ReceiveCount: 6})
	if err != nil {
		w.t.Fatal(err)
	}
	list := w.must(200, "GET", "/ops/v1/dead-letters?orderId="+r.OrderID.String(), "").body["items"].([]any)
	return list[0].(map[string]any)["deadLetterId"].(string)
}

// deliver gives what lies in the queue to create-orders and counts it.
func (w *lettersWorld) deliver() (n int) {
	w.t.Helper()
	w.later.Add(int64(2 * time.Minute)) // beyond any delay
	h := queue.NewCreateOrders(w.deps)
	for {
		got, err := w.orders.Receive(w.t.Context(), 10, 0)
		if err != nil {
			w.t.Fatal(err)
		}
		if len(got) == 0 {
			return n
		}
		for _, m := range got {
			payload, err := json.Marshal(events.SQSEvent{Records: []events.SQSMessage{{MessageId: m.ID, Body: m.Body, EventSource: "aws:sqs",
				EventSourceARN: w.orders.ARN(), Attributes: map[string]string{"ApproximateReceiveCount": "1"}}}})
			if err != nil {
				w.t.Fatal(err)
			}
			if answer, err := h.Invoke(w.t.Context(), payload); err != nil || string(answer) != `{"batchItemFailures":[]}` {
				w.t.Fatalf("%s, %v", answer, err)
			}
			if err := w.orders.Delete(w.t.Context(), m.Receipt); err != nil {
				w.t.Fatal(err)
			}
			n++
		}
	}
}

func (w *lettersWorld) status(id sale.OrderID) string {
	w.t.Helper()
	status, _ := w.must(200, "GET", "/ops/v1/orders/"+id.String(), "").body["status"].(string)
	return status
}

func TestARedrivenMessageBecomesAnOrderOnlyWhereNeitherStoreHasDecided(t *testing.T) {
	t.Parallel()
	w := newLettersWorld(t)
	waiting := w.reserve("waiting", "k", 1)
	done := w.reserve("done", "k", 1)
	out, err := w.deps.Checkout.CreateOrders(t.Context(), []checkout.Message{{Reservation: done, MessageID: "first"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.deps.Checkout.Settle(t.Context(), out); err != nil {
		t.Fatal(err)
	}
	dead := w.reserve("dead", "k", 1)
	if _, err := w.deps.Checkout.Cancel(t.Context(), dead.OrderID, checkout.Canceller{UserID: "dead"}); err != nil {
		t.Fatal(err)
	}
	lost := w.reserve("lost", "k", 1) // Redis forgets it, and the message was given up
	for key, field := range map[string]string{"log": "t" + string(lost.OrderID[:]), "buyers": "ulost"} {
		if err := w.rdb.HDel(t.Context(), "hf:{"+w.id+"}:"+key, field).Err(); err != nil {
			t.Fatal(err)
		}
	}
	for field, by := range map[string]int64{"left:STANDARD": 1, fmt.Sprint("left:STANDARD:", lost.Allocations[0].Bucket): 1} {
		if err := w.rdb.HIncrBy(t.Context(), "hf:{"+w.id+"}:rules", field, by).Err(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.rdb.ZRem(t.Context(), "hf:{"+w.id+"}:pending", "t"+string(lost.OrderID[:])).Err(); err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, r := range []sale.Reservation{waiting, done, dead, lost} {
		ids = append(ids, w.letter(r))
	}
	body, err := json.Marshal(map[string][]string{"deadLetterIds": ids})
	if err != nil {
		t.Fatal(err)
	}
	before := w.status(done.OrderID)
	got := w.must(200, "POST", "/ops/v1/dead-letters/redrive", string(body))
	if n := w.deliver(); n != 4 {
		t.Fatalf("%d messages were sent: %s", n, got.text)
	}
	for name, c := range map[string]struct {
		id     sale.OrderID
		status string
	}{"waiting": {waiting.OrderID, "UNPAID"}, "done": {done.OrderID, before}, "dead": {dead.OrderID, "CANCELLED"}, "lost": {lost.OrderID, "UNPAID"}} {
		if status := w.status(c.id); status != c.status {
			t.Errorf("%s is %s, want %s", name, status, c.status)
		}
	}
	proof := w.must(200, "GET", w.at("/certificate"), "")
	if proof.body["verdict"] != "PASS" || proof.body["inFlight"] != 0.0 || w.rows("trade_order") != 4 || w.snapshot().Types["STANDARD"].Left != 7 {
		t.Errorf("%d rows, %d left, %s", w.rows("trade_order"), w.snapshot().Types["STANDARD"].Left, proof.text)
	}
	if !slices.Contains(w.audits(dead.OrderID.String()), "dead-letter.redrive") {
		t.Error("the redrive is not in the audit log")
	}
	story := w.must(200, "GET", "/ops/v1/orders/"+lost.OrderID.String()+"/timeline", "")
	if !strings.Contains(story.text, "kept as a dead letter") || !strings.Contains(story.text, "was sent to the queue again") {
		t.Errorf("its timeline does not tell it: %s", story.text)
	}
}

func TestARedriveIsSafeToRepeat(t *testing.T) {
	t.Parallel()
	w := newLettersWorld(t)
	a, b := w.letter(w.reserve("a", "k", 1)), w.letter(w.reserve("b", "k", 1))
	body := `{"deadLetterIds":["` + a + `","` + b + `"]}`
	w.refuse.Store(true)
	if got := w.call("POST", "/ops/v1/dead-letters/redrive", body, "Idempotency-Key", "r"); got.status != 503 || got.code() != "QUEUE_UNAVAILABLE" ||
		got.header["Retry-After"] == "" {
		t.Errorf("while the queue refuses: %d %s", got.status, got.text)
	}
	if got := w.must(200, "GET", "/ops/v1/dead-letters?redriven=true", ""); len(got.body["items"].([]any)) != 0 {
		t.Errorf("noted as sent: %s", got.text)
	}
	w.refuse.Store(false)
	first := w.must(200, "POST", "/ops/v1/dead-letters/redrive", body, "Idempotency-Key", "r")
	replayed := w.must(200, "POST", "/ops/v1/dead-letters/redrive", body, "Idempotency-Key", "r")
	other := w.must(200, "POST", "/ops/v1/dead-letters/redrive", body)
	if n := w.deliver(); n != 2 || replayed.header["Idempotency-Replayed"] != "true" || first.text != other.text {
		t.Errorf("%d messages; %s, then %s", n, first.text, other.text)
	}
	for query, n := range map[string]int{"redriven=true": 2, "redriven=false": 0, "activityId=" + w.id: 2, "activityId=other": 0} {
		if got := w.must(200, "GET", "/ops/v1/dead-letters?"+query, ""); len(got.body["items"].([]any)) != n {
			t.Errorf("%s: %s", query, got.text)
		}
	}
}

func TestARedriveOfNothingKnownIsRefused(t *testing.T) {
	t.Parallel()
	w := newLettersWorld(t)
	known := w.letter(w.reserve("a", "k", 1))
	for name, c := range map[string]struct {
		body   string
		status int
		at     string
	}{
		"no list":         {`{}`, 400, "/deadLetterIds"},
		"a text":          {`{"deadLetterIds":"7"}`, 400, "/deadLetterIds"},
		"numbers":         {`{"deadLetterIds":[7]}`, 400, "/deadLetterIds"},
		"null":            {`{"deadLetterIds":null}`, 400, "/deadLetterIds"},
		"another field":   {`{"deadLetterIds":["` + known + `"],"all":true}`, 400, "/all"},
		"an empty list":   {`{"deadLetterIds":[]}`, 422, "/deadLetterIds"},
		"one too many":    {`{"deadLetterIds":["` + strings.Repeat(`1","`, 100) + `1"]}`, 422, "/deadLetterIds"},
		"a leading zero":  {`{"deadLetterIds":["01"]}`, 422, "/deadLetterIds/0"},
		"a negative one":  {`{"deadLetterIds":["-1"]}`, 422, "/deadLetterIds/0"},
		"too many digits": {`{"deadLetterIds":["99999999999999999999"]}`, 422, "/deadLetterIds/0"},
		"one twice":       {`{"deadLetterIds":["` + known + `","` + known + `"]}`, 422, "/deadLetterIds/1"},
		"an unknown one":  {`{"deadLetterIds":["` + known + `","987654"]}`, 422, "/deadLetterIds/1"},
	} {
		got := w.call("POST", "/ops/v1/dead-letters/redrive", c.body)
		if got.status != c.status || !strings.Contains(strings.Join(got.pointers(), " ")+" ", c.at+" ") {
			t.Errorf("%s: %d %s", name, got.status, got.text)
		}
	}
	if n := w.deliver(); n != 0 {
		t.Errorf("%d messages were sent", n)
	}
	for _, query := range []string{"orderId=x", "activityId=a%2Fb", "redriven=perhaps"} {
		if got := w.call("GET", "/ops/v1/dead-letters?"+query, ""); got.status != 422 {
			t.Errorf("%s: %d %s", query, got.status, got.text)
		}
	}
}
