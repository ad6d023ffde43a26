package boot

import (
	"database/sql"
	"log/slog"
	"os"
	"time"

	"github.com/redis/go-redis/v9"

	"holdfast/shared/catalog"
	"holdfast/shared/checkout"
	"holdfast/shared/edge"
	"holdfast/shared/edge/queue"
	"holdfast/shared/metric"
	"holdfast/shared/reconcile"
	"holdfast/shared/sqltx"
	"holdfast/shared/stock"
)

// Clients are a function's connections to other machines; nil where it needs none.
type Clients struct {
	DB    *sql.DB
	Cache redis.UniversalClient
	Queue *queue.SQS
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
	return clients, nil
}

// Deps makes what functions are built from, by the clocks of Redis and of the database.
func (c Clients) Deps(claims edge.Claims) edge.Deps {
	d := Assemble(c.DB, c.Cache, c.Queue, clockOffset(), edge.NewLog(os.Stdout))
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
	d.Reconcile = reconcile.New(d.DB, d.Stock, d.Catalog, d.Checkout, empty, log)
	return d
}

// Measure has what functions do counted by m: those of a Lambda print, which makes metrics of lines. It is called before the first
// event, if at all.
func Measure(d edge.Deps, m *metric.Metrics) {
	if d.Checkout != nil {
		d.Checkout.CountBy(m)
	}
	if d.Reconcile != nil {
		d.Reconcile.CountBy(m)
	}
}
