package faulty

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"holdfast/shared/edge/boot"
	"holdfast/shared/edge/queue"
	"holdfast/shared/sale"
)

// The same message reaches four consumers at once, and again later.
func TestAMessageInManyHandsMakesOneOrder(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	o := s.sell(terms{})
	s.pauseConsumer(true)
	var records []events.SQSMessage
	for i := range 20 {
		id, err := sale.ParseOrderID(o.promised(named("buyer")(i), "wish", 1+i%3))
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, events.SQSMessage{MessageId: fmt.Sprintf("m-%d", i), Body: o.message(id), EventSource: "aws:sqs",
			Attributes: map[string]string{"ApproximateReceiveCount": "1"}})
	}
	event := events.SQSEvent{Records: records}
	deliver := func(i int) {
		const done = `{"batchItemFailures":[]}`
		if a := s.ask("POST", "/local/events/create-orders", "", "", event); a.status != 200 || strings.TrimSpace(a.text) != done {
			t.Errorf("consumer %d answered %v, want %s", i, a, done)
		}
	}
	inParallel(4, deliver)
	o.haveRows(20, "UNPAID")
	deliver(4)
	s.pauseConsumer(false) // and once more, by the queue
	s.emptyQueue()
	o.nothingPending()
	o.proves(20)
}

// message is the text that a reservation's message has.
func (o *offer) message(id sale.OrderID) string {
	o.t.Helper()
	entry, err := o.store().Entry(o.t.Context(), o.id, id)
	if err != nil {
		o.t.Fatal(err)
	}
	body, err := queue.Encode(entry.Reservation)
	if err != nil {
		o.t.Fatal(err)
	}
	return string(body)
}

// Messages that no version of the program has written, or that can never become an order, are set aside with a reason; the others of
// their batch are handled, and orders that they only pretend to be stay as they are.
func TestPoisonIsSetAsideAndHarmsNoOther(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	o := s.sell(terms{})
	victim := o.promised("victim", "wish", 1)
	o.becomes("victim", victim, "UNPAID")
	s.pauseConsumer(true)
	id, err := sale.ParseOrderID(victim)
	if err != nil {
		t.Fatal(err)
	}
	genuine := o.message(id)
	change := func(name string, value any) string {
		var m map[string]any
		if err := json.Unmarshal([]byte(genuine), &m); err != nil {
			t.Fatal(err)
		}
		m[name] = value
		text, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	poison := map[string]string{
		"not JSON":                     "UNREADABLE",
		change("v", 2):                 "UNREADABLE",
		change("quantity", 2):          "UNREADABLE", // its allocations do not add up
		change("activityId", "nobody"): "UNFIT",
		change("userId", "thief"):      "UNFIT",
		change("ticketType", "ROYAL"):  "UNFIT",
		change("orderId", "00000000-0000-8000-8000-000000000001"): "UNFIT", // of no sale's number
	}
	for body := range poison {
		s.send(body)
		o.promised(fmt.Sprintf("buyer-%d", len(o.promises)), "wish", 1) // between them
	}
	s.send(genuine) // a second time, which is no poison
	s.pauseConsumer(false)
	o.haveRows(1+len(poison), "UNPAID")
	var listed struct {
		Items []struct{ Reason, Detail, Body string }
	}
	s.eventually("all poison is listed", func() (bool, string) {
		text := s.must("GET", "/ops/v1/dead-letters", s.operator, nil).text
		listed.Items = nil
		err := json.Unmarshal([]byte(text), &listed)
		return err == nil && len(listed.Items) >= len(poison), text
	})
	if len(listed.Items) != len(poison) {
		t.Errorf("%d dead letters, want %d", len(listed.Items), len(poison))
	}
	for _, item := range listed.Items {
		if reason, sent := poison[item.Body]; !sent || item.Reason != reason || item.Detail == "" {
			t.Errorf("dead letter %+v, want reason %q and words", item, reason)
		}
	}
	if a := o.read("thief", victim); a.status != 404 {
		t.Errorf("who forged a message reads %v", a)
	}
	o.becomes("victim", victim, "UNPAID")
	o.nothingPending()
	if n := s.queueDepth(); n != 0 {
		t.Errorf("%d messages are left", n)
	}
	o.proves(1 + len(poison))
}

// send puts a text into the orders queue as whoever has the right to send could.
func (s *stage) send(body string) {
	s.t.Helper()
	url := s.stack.Addresses.Queues["orders"]
	client := boot.LocalSQS(s.stack.Addresses.AWS)()
	if _, err := client.SendMessage(s.t.Context(), &sqs.SendMessageInput{QueueUrl: &url, MessageBody: &body}); err != nil {
		s.t.Fatal(err)
	}
}
