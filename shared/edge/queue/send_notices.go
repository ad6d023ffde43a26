package queue

import (
	"context"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"holdfast/shared/checkout"
	"holdfast/shared/edge"
	"holdfast/shared/notice"
)

// How send-notices works: its timeout is 29 s.
const (
	noticesPage   = 100
	noticesBudget = 20 * time.Second // after which no other page is begun
	noticesTime   = 25 * time.Second // for all of a run
)

// sendNotices publishes notices that are due.
type sendNotices struct{ edge.Deps }

// NewSendNotices builds send-notices: whatever message wakes it, it publishes notices that are due, page by page, until there are none or
// its time is over. It takes Checkout, Topic and Log. A notice that is not accepted waits in its row; the message is done all the same,
// since the minute pass wakes the sender for rows that wait too long.
func NewSendNotices(d edge.Deps) lambda.Handler { return &sendNotices{d} }

// Invoke handles one event. When the database fails, all messages are delivered again; it returns an error only for a payload that is no
// event.
func (h *sendNotices) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	start := time.Now()
	records, err := receivedEvent(payload)
	if err != nil {
		return nil, err
	}
	failed := make(map[string]bool)
	sum, err := h.send(ctx, start)
	attributes := []any{"function", "send-notices", "messages", len(records), "summary", sum, "durationMs", time.Since(start).Milliseconds()}
	if err != nil {
		for _, m := range records {
			failed[m.MessageId] = true
		}
		h.Log.ErrorContext(ctx, "notices are left to a later run", append(attributes, "error", edge.Loggable(err))...)
	} else {
		h.Log.InfoContext(ctx, "notices", attributes...)
	}
	return partialAnswer(records, failed)
}

// send publishes page by page until nothing is due, a whole page was refused, or the budget is used up: then rows stay due, and the
// minute pass rings for them.
func (h *sendNotices) send(ctx context.Context, start time.Time) (sum checkout.SentNotices, err error) {
	ctx, cancel := context.WithTimeout(ctx, noticesTime)
	defer cancel()
	for time.Since(start) < noticesBudget {
		page, err := h.Checkout.SendNotices(ctx, h.publish, noticesPage)
		sum.Sent += page.Sent
		sum.Skipped += page.Skipped
		sum.Failed += page.Failed
		if err != nil {
			return sum, err
		}
		if page.Sent+page.Skipped == 0 {
			return sum, nil
		}
	}
	return sum, nil
}

// publish is a checkout.Publish.
func (h *sendNotices) publish(ctx context.Context, messages []notice.Message) []error {
	list := make([]edge.TopicMessage, len(messages))
	for i, m := range messages {
		list[i] = edge.TopicMessage(m)
	}
	outcomes := h.Topic.Publish(ctx, list)
	for i, err := range outcomes {
		if err != nil {
			h.Log.WarnContext(ctx, "a notice was not accepted", "notice", messages[i].ID, "type", messages[i].Attributes["type"],
				"error", edge.Loggable(err))
		}
	}
	return outcomes
}
