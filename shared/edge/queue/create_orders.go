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
	poison  []poison           // to be set aside
	again   []checkout.Message // to be sent again
	failed  map[string]bool    // ids of messages that are to be delivered again
}

// poison is a message that can never become an order.
type poison struct {
	record         events.SQSMessage
	reason, detail string
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
			w.poison = append(w.poison, poison{m, reasonUnreadable, err.Error()})
			continue
		}
		messages = append(messages, checkout.Message{Reservation: r, MessageID: m.MessageId})
	}
	working, cancel := withoutEnd(ctx)
	defer cancel()
	h.create(working, w, messages)
	h.giveBack(ctx, w)
	h.Log.InfoContext(ctx, "batch", "function", "create-orders", "messages", len(records), "failed", len(w.failed),
		"durationMs", time.Since(start).Milliseconds())
	return partialAnswer(records, w.failed)
}

// create makes orders of the messages. When the database is away all of them are to be sent again; when the transaction fails for
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
		w.again = append(w.again, messages...)
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

// finish tells Redis, and notes what can never become an order.
func (h *createOrders) finish(ctx context.Context, w *work, out checkout.Outcome) {
	for _, p := range out.Poison {
		w.poison = append(w.poison, poison{w.byID[p.Message.MessageID], reasonUnfit, p.Reason})
	}
	if err := h.Checkout.Settle(ctx, out); err != nil {
		h.Log.WarnContext(ctx, "repair finishes what redis was not told", "orders", len(out.Live)+len(out.Cancelled),
			"error", edge.Loggable(err))
	}
}

// giveBack sends back what the batch left over. What the queues do not take in time is reported failed, and delivered again.
func (h *createOrders) giveBack(ctx context.Context, w *work) {
	ctx, cancel := context.WithTimeout(ctx, returnBudget)
	defer cancel()
	h.sendAgain(ctx, w)
	for _, p := range w.poison {
		words := "a poison message is set aside"
		attributes := []slog.Attr{slog.String("messageId", p.record.MessageId), slog.String("reason", p.reason), slog.String("detail", p.detail)}
		if err := h.Returns.SetAside(ctx, p.record.Body, p.reason, p.detail); err != nil {
			w.failed[p.record.MessageId] = true
			words = "a poison message could not be set aside"
			attributes = append(attributes, slog.String("error", edge.Loggable(err)))
		}
		h.Log.LogAttrs(ctx, slog.LevelError, words, attributes...)
	}
}

// sendAgain puts sound messages back as new ones, so that an outage, however long, uses up no receives.
func (h *createOrders) sendAgain(ctx context.Context, w *work) {
	again := make([]edge.Again, len(w.again))
	for i, m := range w.again {
		record := w.byID[m.MessageID]
		again[i] = edge.Again{Body: record.Body, Times: count(attribute(record, attributeTimes))}
	}
	for i, err := range h.Returns.SendAgain(ctx, again) {
		if err != nil {
			w.failed[w.again[i].MessageID] = true
		}
	}
}

// withoutEnd cuts the time for sending back off the function's own.
func withoutEnd(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, limited := ctx.Deadline()
	if !limited {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, deadline.Add(-returnBudget))
}
