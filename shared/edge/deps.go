package edge

import (
	"context"
	"log/slog"

	"holdfast/shared/catalog"
	"holdfast/shared/checkout"
	"holdfast/shared/metric"
	"holdfast/shared/payment"
	"holdfast/shared/reconcile"
	"holdfast/shared/reconcile/export"
	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
	"holdfast/shared/stock"
)

// Deps is what functions are built from. Each constructor says what it takes of it; the rest may be nil.
type Deps struct {
	DB        *sqltx.DB
	Stock     *stock.Store
	Catalog   *catalog.Catalog
	Checkout  *checkout.Checkout
	Reconcile *reconcile.Reconciler
	Orders    Orders
	Returns   Returns
	Topic     Topic
	Exports   export.Store // nil: exports that are asked for wait
	// Provider is asked, once a day, for what it did; nil: there is none. Checkout charges buyers by it.
	Provider payment.Provider
	// WebhookSecret gives the key that the payment provider signs its calls with. It returns an error when it cannot be read.
	WebhookSecret func(ctx context.Context) ([]byte, error)
	Claims        Claims
	Metrics       *metric.Metrics // nil: nothing is counted
	Log           *slog.Logger    // never gets tokens, user ids, or Idempotency-Keys
}

// Orders is the way to create-orders: a queue, whatever carries it.
type Orders interface {
	// Publish hands one reservation over. nil means that the queue has accepted it for good; any error leaves open whether it
	// has. It makes one attempt and ends with ctx.
	Publish(ctx context.Context, r sale.Reservation) error
}

// Returns takes back what create-orders was given and cannot make an order of.
type Returns interface {
	// SetAside gives a message up: it goes to the dead-letter queue with a reason in code and words. nil means it is there.
	SetAside(ctx context.Context, body, reason, detail string) error
	// SendAgain puts messages back into the queue with a delay, as new messages whose receives are counted from zero. It
	// answers one error per message, in order; nil means that the queue has accepted it.
	SendAgain(ctx context.Context, messages []Again) []error
}

// Again is a message that is sent again: its text, and how often it has been sent again before.
type Again struct {
	Body  string
	Times int
}

// Topic is where notices are published for whoever subscribed.
type Topic interface {
	// Publish publishes messages and answers one error per message, in order; nil means that the topic has accepted it. It makes
	// one attempt and ends with ctx.
	Publish(ctx context.Context, messages []TopicMessage) []error
}

// TopicMessage is one message to a topic.
type TopicMessage struct {
	ID         string            // of the notice: the same when it is published again
	Body       string            // JSON, the envelope of every event
	Attributes map[string]string // what subscribers filter by, such as "type": "order.paid"; values are not empty
}

// Claims names the claims of a verified token that say who calls. They are fixed at the first deployment: another user claim
// would make every user another person.
type Claims struct {
	UserID   string // "sub" unless configured
	Operator string // "scope" unless configured
}
