package boot

import (
	"context"
	"database/sql"
	"log/slog"
	"os"
	"time"

	"github.com/redis/go-redis/v9"

	"holdfast/shared/catalog"
	"holdfast/shared/checkout"
	"holdfast/shared/edge"
	"holdfast/shared/edge/objects"
	"holdfast/shared/edge/provider"
	"holdfast/shared/edge/queue"
	"holdfast/shared/edge/topic"
	"holdfast/shared/edge/workflow"
	"holdfast/shared/metric"
	"holdfast/shared/payment"
	"holdfast/shared/reconcile"
	"holdfast/shared/sqltx"
	"holdfast/shared/stock"
	"holdfast/shared/wallet"
)

// Clients are a function's connections to other machines; nil where it needs none.
type Clients struct {
	DB      *sql.DB
	Cache   redis.UniversalClient
	Queue   *queue.SQS
	Outside Outside
}

// Outside is what functions call beside the stores and the queue of orders; nil where they do not.
type Outside struct {
	Workflows     *workflow.Starter
	Bell          *queue.Bell
	Topic         *topic.SNS
	Exports       *objects.Bucket
	Provider      payment.Provider
	WebhookSecret func(ctx context.Context) ([]byte, error)
}

// Open makes the clients that the configuration speaks of. It waits for no one; it returns the errors of sqltx.Open.
func Open(c Config) (clients Clients, err error) {
	secrets := &secrets{client: openSecretsManager(c.AWSEndpoint)}
	if c.RedisAddr != "" {
		clients.Cache = openRedis(c, secrets)
	}
	if c.MySQLDSN != "" {
		if clients.DB, err = openMySQL(c, secrets); err != nil {
			return Clients{}, err
		}
	}
	if c.OrdersQueueURL != "" || c.DeadLetterQueueURL != "" {
		clients.Queue = queue.NewSQS(openSQS(c.AWSEndpoint), c.OrdersQueueURL, c.DeadLetterQueueURL)
	}
	clients.Outside = openOutside(c, secrets)
	return clients, nil
}

// openOutside makes the clients of what is called beside the stores and the queue of orders.
func openOutside(c Config, secrets *secrets) (o Outside) {
	if c.StateMachineARN != "" {
		o.Workflows = workflow.NewStarter(openStates(c.AWSEndpoint), c.StateMachineARN, movedNow(clockOffset()))
	}
	if c.NoticesQueueURL != "" {
		o.Bell = queue.NewBell(openSQS(c.AWSEndpoint), c.NoticesQueueURL)
	}
	if c.NoticesTopicARN != "" {
		o.Topic = topic.NewSNS(openSNS(c.AWSEndpoint), c.NoticesTopicARN)
	}
	if c.ExportsBucket != "" {
		o.Exports = objects.New(sharedConfig(c.AWSEndpoint), c.ExportsBucket, movedNow(clockOffset()))
	}
	o.WebhookSecret = providerKey(c, secrets)
	if c.ProviderURL != "" && o.WebhookSecret != nil {
		o.Provider = provider.New(c.ProviderURL, o.WebhookSecret, movedNow(clockOffset()))
	}
	return o
}

// providerKey gives the key that the provider and we sign with; nil where there is none.
func providerKey(c Config, secrets *secrets) func(ctx context.Context) ([]byte, error) {
	switch {
	case c.ProviderKey != "":
		return func(context.Context) ([]byte, error) { return []byte(c.ProviderKey), nil }
	case c.ProviderSecret != "":
		key := secrets.open(c.ProviderSecret)
		return func(ctx context.Context) ([]byte, error) {
			text, err := key.text(ctx)
			return []byte(text), err
		}
	default:
		return nil
	}
}

// movedNow is the machine's clock, moved by an offset; nil leaves it alone.
func movedNow(offset func() time.Duration) func() time.Time {
	if offset == nil {
		return time.Now
	}
	return func() time.Time { return time.Now().Add(offset()) }
}

// Deps makes what functions are built from, by the clocks of Redis and of the database.
func (c Clients) Deps(claims edge.Claims) edge.Deps {
	d := Assemble(c.DB, c.Cache, c.Queue, clockOffset(), edge.NewLog(os.Stdout))
	Connect(&d, c.Outside)
	Measure(&d, metric.New(os.Stdout, time.Now))
	d.Claims = claims
	return d
}

// Assemble makes what functions are built from. offset moves the clocks that decide, for rehearsals; nil leaves them alone. The
// user's claim is "sub", the operator's "scope".
func Assemble(db *sql.DB, cache redis.UniversalClient, carrier *queue.SQS, offset func() time.Duration, log *slog.Logger) edge.Deps {
	d := edge.Deps{Claims: edge.Claims{UserID: "sub", Operator: "scope"}, Log: log}
	var empty reconcile.QueueEmpty
	if carrier != nil {
		d.Orders, d.Returns = carrier, carrier
		empty = carrier.Empty
	}
	if cache != nil {
		d.Stock = stock.New(cache, offset)
	}
	if db == nil {
		return d
	}
	d.DB = sqltx.New(db, offset)
	d.Catalog = catalog.New(d.DB)
	d.Checkout = checkout.New(d.DB, d.Stock, d.Catalog, log)
	if cache != nil {
		d.Checkout.HintBy(wallet.New(cache))
	}
	d.Reconcile = reconcile.New(d.DB, d.Stock, d.Catalog, d.Checkout, empty, log)
	return d
}

// Connect gives functions what they call beside the stores and the queue of orders, and has every checkout start workflows and wake the
// sender of notices. It is called before the first event, if at all.
func Connect(d *edge.Deps, o Outside) {
	d.WebhookSecret, d.Provider = o.WebhookSecret, o.Provider
	if o.Topic != nil {
		d.Topic = o.Topic
	}
	if o.Exports != nil {
		d.Exports = o.Exports
	}
	if d.Checkout == nil {
		return
	}
	if o.Provider != nil {
		d.Checkout.ChargeBy(o.Provider)
	}
	if o.Workflows != nil {
		d.Checkout.StartBy(o.Workflows.Start)
	}
	if o.Bell != nil {
		d.Checkout.RingBy(o.Bell.Ring)
	}
}

// Measure has what functions do counted by m: those of a Lambda print, which makes metrics of lines. It is called before the first
// event, if at all.
func Measure(d *edge.Deps, m *metric.Metrics) {
	d.Metrics = m
	if d.Checkout != nil {
		d.Checkout.CountBy(m)
	}
	if d.Reconcile != nil {
		d.Reconcile.CountBy(m)
	}
}
