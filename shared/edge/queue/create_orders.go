package queue

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"holdfast/shared/checkout"
	"holdfast/shared/edge"
	"holdfast/shared/edge/trace"
	"holdfast/shared/sqltx"
)

// Codes of messages that are set aside.
const (
	reasonUnreadable = "UNREADABLE" // no version of this program wrote it
	reasonUnfit      = "UNFIT"      // it can never become an order: its activity is unknown, for example
)

// How the time of one run is shared out: the function's timeout is 20 s.
const (
	databaseBudget = 10 * time.Second // for the transaction; a database that takes longer is away
	returnBudget   = 4 * time.Second  // for sending messages back
)

// createOrders makes orders of messages.
type createOrders struct{ edge.Deps }

// NewCreateOrders builds create-orders: a batch of messages becomes orders in one transaction, and Redis is told afterwards. It takes
// Checkout, Returns and Log. What becomes of each message is in the package comment.
func NewCreateOrders(d edge.Deps) lambda.Handler { return &createOrders{d} }

// work is one batch on its way.
type work struct {
	records []events.SQSMessage
	byID    map[string]events.SQSMessage
	failed  map[string]bool // messages that are to be delivered again
}

// Invoke handles one event. It returns an error, and thereby the whole batch, only for a payload that is no event.
func (h *createOrders) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	start := time.Now()
	records, err := receivedEvent(payload)
	if err != nil {
		return nil, err
	}
	w := &work{records: records, byID: make(map[string]events.SQSMessage, len(records)), failed: make(map[string]bool)}
	var messages []checkout.Message
	for _, m := range records {
		w.byID[m.MessageId] = m
		r, err := Decode([]byte(m.Body))
		if err != nil {
			h.setAside(ctx, w, m, reasonUnreadable, err.Error())
			continue
		}
		messages = append(messages, checkout.Message{Reservation: r, MessageID: m.MessageId})
	}
	h.create(ctx, w, messages)
	h.Log.InfoContext(ctx, "batch", "function", "create-orders", "messages", len(records), "failed", len(w.failed),
		"durationMs", time.Since(start).Milliseconds())
	return partialAnswer(records, w.failed)
}

// create makes orders of the messages. When the database is away all of them are sent again; when the transaction fails for
// another reason each is tried alone, so that the one to blame fails alone.
func (h *createOrders) create(ctx context.Context, w *work, messages []checkout.Message) {
	if len(messages) == 0 {
		return
	}
	out, err := h.transact(ctx, messages)
	switch {
	case err == nil:
		h.finish(ctx, w, out)
	case isAway(err):
		h.Log.WarnContext(ctx, "the database is away; messages are sent again", "messages", len(messages), "error", edge.Loggable(err))
		h.sendAgain(ctx, w, messages)
	case len(messages) == 1:
		h.Log.ErrorContext(ctx, "a message failed", "messageId", messages[0].MessageID, "orderId", messages[0].OrderID,
			"error", edge.Loggable(err))
		w.failed[messages[0].MessageID] = true
	default:
		h.Log.WarnContext(ctx, "a batch failed and is tried one by one", "messages", len(messages), "error", edge.Loggable(err))
		for i := range messages {
			h.create(ctx, w, messages[i:i+1])
		}
	}
}

func (h *createOrders) transact(ctx context.Context, messages []checkout.Message) (out checkout.Outcome, err error) {
	ctx, cancel := context.WithTimeout(ctx, databaseBudget)
	defer cancel()
	err = trace.Call(ctx, "MySQL", func(ctx context.Context) error {
		out, err = h.Checkout.CreateOrders(ctx, messages)
		return err
	})
	return out, err
}

// isAway says whether the database could not be reached, or not for long enough to say what it did. The messages are sound then.
func isAway(err error) bool {
	return errors.Is(err, sqltx.ErrUnavailable) || errors.Is(err, sqltx.ErrCommitUnclear) || sqltx.Unavailable(err) ||
		sqltx.Retryable(err) || errors.Is(err, context.DeadlineExceeded)
}

// finish tells Redis, and sets aside what can never become an order.
func (h *createOrders) finish(ctx context.Context, w *work, out checkout.Outcome) {
	for _, p := range out.Poison {
		h.setAside(ctx, w, w.byID[p.Message.MessageID], reasonUnfit, p.Reason)
	}
	if err := h.Checkout.Settle(ctx, out); err != nil {
		h.Log.WarnContext(ctx, "repair finishes what redis was not told", "orders", len(out.Live)+len(out.Cancelled),
			"error", edge.Loggable(err))
	}
}

// setAside gives one message up. If the dead-letter queue does not take it, it is delivered again.
func (h *createOrders) setAside(ctx context.Context, w *work, m events.SQSMessage, reason, detail string) {
	ctx, cancel := context.WithTimeout(ctx, returnBudget)
	defer cancel()
	if err := h.Returns.SetAside(ctx, m.Body, reason, detail); err != nil {
		h.Log.LogAttrs(ctx, slog.LevelError, "a poison message could not be set aside", slog.String("messageId", m.MessageId),
			slog.String("reason", reason), slog.String("error", edge.Loggable(err)))
		w.failed[m.MessageId] = true
		return
	}
	h.Log.LogAttrs(ctx, slog.LevelError, "a poison message is set aside", slog.String("messageId", m.MessageId),
		slog.String("reason", reason), slog.String("detail", detail))
}

// sendAgain puts sound messages back as new ones, so that an outage, however long, uses up no receives. One that the queue does
// not take is reported failed, and waits for its visibility timeout.
func (h *createOrders) sendAgain(ctx context.Context, w *work, messages []checkout.Message) {
	ctx, cancel := context.WithTimeout(ctx, returnBudget)
	defer cancel()
	again := make([]edge.Again, len(messages))
	for i, m := range messages {
		record := w.byID[m.MessageID]
		again[i] = edge.Again{Body: record.Body, Times: count(attribute(record, attributeTimes))}
	}
	for i, err := range h.Returns.SendAgain(ctx, again) {
		if err != nil {
			w.failed[messages[i].MessageID] = true
		}
	}
}
