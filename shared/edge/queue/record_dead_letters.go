package queue

import (
	"context"
	"strings"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"holdfast/shared/edge"
	"holdfast/shared/reconcile"
)

// reasonReceives is the code of a message that SQS itself gave up, after it was delivered too often.
const reasonReceives = "TOO_MANY_RECEIVES"

// recordDeadLetters makes rows of messages that were given up.
type recordDeadLetters struct{ edge.Deps }

// NewRecordDeadLetters builds record-dead-letters: each message of the dead-letter queue becomes a row that operators see, with the
// reason that create-orders gave. It takes DB and Log. A message is recorded once, however often it is delivered.
func NewRecordDeadLetters(d edge.Deps) lambda.Handler { return &recordDeadLetters{d} }

// Invoke handles one event. What the database does not take is reported failed and delivered again.
func (h *recordDeadLetters) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	records, err := receivedEvent(payload)
	if err != nil {
		return nil, err
	}
	failed := make(map[string]bool)
	ctx, cancel := context.WithTimeout(ctx, databaseBudget)
	defer cancel()
	for _, m := range records {
		letter := deadLetter(m)
		if err := reconcile.RecordDeadLetter(ctx, h.DB, letter); err != nil {
			failed[m.MessageId] = true
			h.Log.ErrorContext(ctx, "a dead letter could not be recorded", "messageId", m.MessageId, "error", edge.Loggable(err))
			continue
		}
		h.Log.ErrorContext(ctx, "dead letter", "messageId", m.MessageId, "reason", letter.Reason, "detail", letter.Detail)
	}
	return partialAnswer(records, failed)
}

// deadLetter reads a message that was given up, as far as it can be read.
func deadLetter(m events.SQSMessage) reconcile.DeadLetter {
	letter := reconcile.DeadLetter{Queue: queueName(m.EventSourceARN), MessageID: m.MessageId, Body: []byte(m.Body),
		Reason: attribute(m, attributeReason), Detail: attribute(m, attributeDetail),
		ReceiveCount: count(m.Attributes["ApproximateReceiveCount"])}
	if letter.Reason == "" {
		letter.Reason = reasonReceives
		letter.Detail = "it was delivered as often as the queue allows, and never reported done"
	}
	if r, err := Decode([]byte(m.Body)); err == nil {
		letter.OrderID, letter.ActivityID = &r.OrderID, r.ActivityID
	}
	return letter
}

// queueName is the last part of a queue's ARN.
func queueName(arn string) string { return arn[strings.LastIndexByte(arn, ':')+1:] }
