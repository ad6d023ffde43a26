package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/aws/aws-lambda-go/events"

	"holdfast/shared/edge"
	"holdfast/shared/edge/queue"
	"holdfast/shared/sale"
)

// message is one copy in a queue.
type message struct {
	id       string
	body     string
	receives int
	flying   int // deliveries that have not ended
	letter   [2]string
}

// carrier is the queue of orders and its dead letters, in memory, as Orders and Returns of the functions. A message stays until a
// delivery of it is reported done; it may be delivered to several at once, in any order.
type carrier struct {
	messages []*message
	letters  []*message
	made     int
}

// put is a call of the queue; done again, it makes a second copy.
func (q *carrier) put(ctx context.Context, what string, to *[]*message, body string, letter [2]string) error {
	put := func() {
		q.made++
		*to = append(*to, &message{id: "m-" + strconv.Itoa(q.made), body: body, letter: letter})
	}
	return cross(ctx, call{side: queueSide, what: what, apart: put, do: func() error {
		put()
		return nil
	}})
}

// Publish implements edge.Orders.
func (q *carrier) Publish(ctx context.Context, r sale.Reservation) error {
	body, err := queue.Encode(r)
	if err != nil {
		return err
	}
	return q.put(ctx, "send", &q.messages, string(body), [2]string{})
}

// SetAside implements edge.Returns.
func (q *carrier) SetAside(ctx context.Context, body, reason, detail string) error {
	return q.put(ctx, "set aside", &q.letters, body, [2]string{reason, detail})
}

// SendAgain implements edge.Returns.
func (q *carrier) SendAgain(ctx context.Context, messages []edge.Again) []error {
	outcomes := make([]error, len(messages))
	for i, m := range messages {
		outcomes[i] = q.put(ctx, "send again", &q.messages, m.Body, [2]string{})
	}
	return outcomes
}

// Empty is a reconcile.QueueEmpty.
func (q *carrier) Empty(ctx context.Context) (empty bool, err error) {
	err = cross(ctx, call{side: queueSide, what: "count", do: func() error {
		empty = len(q.messages) == 0
		return nil
	}})
	return empty, err
}

// take chooses up to most messages for a delivery. Those that fly already are only taken again by chance.
func (q *carrier) take(from []*message, most int, again func() bool, rng *rand.Rand) []*message {
	var batch []*message
	for _, i := range rng.Perm(len(from)) {
		if m := from[i]; len(batch) < most && (m.flying == 0 || again()) {
			batch = append(batch, m)
		}
	}
	for _, m := range batch {
		m.receives++
		m.flying++
	}
	return batch
}

// land ends a delivery: what the answer does not name as failed is deleted. No answer fails all.
func (q *carrier) land(from *[]*message, batch []*message, answer []byte) error {
	var failures events.SQSEventResponse
	if answer != nil {
		if err := json.Unmarshal(answer, &failures); err != nil {
			return fmt.Errorf("the answer to a batch: %w", err)
		}
	}
	failed := make(map[string]bool)
	for _, f := range failures.BatchItemFailures {
		failed[f.ItemIdentifier] = true
	}
	for _, m := range batch {
		m.flying--
		if answer == nil || failed[m.id] {
			continue
		}
		for i := range *from {
			if (*from)[i] == m {
				*from = append((*from)[:i], (*from)[i+1:]...)
				break
			}
		}
	}
	return nil
}

// drop loses a message that nobody holds.
func (q *carrier) drop(rng *rand.Rand) bool {
	if len(q.messages) == 0 {
		return false
	}
	i := rng.IntN(len(q.messages))
	if q.messages[i].flying > 0 {
		return false
	}
	q.messages = append(q.messages[:i], q.messages[i+1:]...)
	return true
}

// event is a batch as a function gets it.
func event(batch []*message) ([]byte, error) {
	var e events.SQSEvent
	for _, m := range batch {
		record := events.SQSMessage{MessageId: m.id, Body: m.body, EventSourceARN: "arn:aws:sqs:local:0:orders",
			Attributes: map[string]string{"ApproximateReceiveCount": strconv.Itoa(m.receives)}}
		if m.letter[0] != "" {
			record.MessageAttributes = map[string]events.SQSMessageAttribute{
				"holdfastReason": {DataType: "String", StringValue: &m.letter[0]},
				"holdfastDetail": {DataType: "String", StringValue: &m.letter[1]}}
		}
		e.Records = append(e.Records, record)
	}
	return json.Marshal(e)
}
