package queue

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/aws/aws-lambda-go/events"
)

// receivedEvent reads the event of an SQS event source.
func receivedEvent(payload []byte) ([]events.SQSMessage, error) {
	var event events.SQSEvent
	if err := json.Unmarshal(payload, &event); err != nil {
		return nil, fmt.Errorf("queue: not an event of SQS: %w", err)
	}
	for i, m := range event.Records {
		if m.MessageId == "" {
			return nil, fmt.Errorf("queue: not an event of SQS: record %d has no messageId", i)
		}
	}
	return event.Records, nil
}

// partialAnswer says which messages of a batch are to be delivered again: each once, in the order of the event; none is an empty
// list. Lambda takes an answer of any other form for the failure, or the success, of the whole batch.
func partialAnswer(records []events.SQSMessage, failed map[string]bool) ([]byte, error) {
	answer := events.SQSEventResponse{BatchItemFailures: []events.SQSBatchItemFailure{}}
	for _, m := range records {
		if failed[m.MessageId] {
			answer.BatchItemFailures = append(answer.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: m.MessageId})
			delete(failed, m.MessageId)
		}
	}
	return json.Marshal(answer)
}

// attribute gives a text attribute of a message; "" when absent.
func attribute(m events.SQSMessage, name string) string {
	if value := m.MessageAttributes[name].StringValue; value != nil {
		return *value
	}
	return ""
}

// count reads a number that SQS writes as text; 0 when there is none.
func count(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0
	}
	return n
}
