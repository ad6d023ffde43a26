package checkout

import (
	"errors"
	"log/slog"

	"holdfast/shared/catalog"
	"holdfast/shared/metric"
	"holdfast/shared/order"
	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
	"holdfast/shared/stock"
)

// Refusals of the use cases. None of them changed anything.
var (
	ErrNotCancellable = errors.New("checkout: the order cannot be cancelled")
	ErrNotPayable     = errors.New("checkout: the order cannot be paid")
	ErrExpired        = errors.New("checkout: the order's deadline has passed")
)

// Checkout runs the use cases of this package. It is safe for use by many goroutines.
type Checkout struct {
	db      *sqltx.DB
	stock   *stock.Store
	catalog *catalog.Catalog
	log     *slog.Logger
	metrics *metric.Metrics // nil: nothing is counted
	workers int             // orders that Redis is told of at once
}

// New makes a Checkout over both stores. log may be nil: then nothing is logged.
func New(db *sqltx.DB, st *stock.Store, cat *catalog.Catalog, log *slog.Logger) *Checkout {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Checkout{db: db, stock: st, catalog: cat, log: log, workers: settleWorkers}
}

// CountBy has what repair does counted by m; it is called before the first use, if at all.
func (c *Checkout) CountBy(m *metric.Metrics) { c.metrics = m }

// OneByOne has Redis told of one order after the other, so that the same run can be made again step by step; it is called before the
// first use, if at all.
func (c *Checkout) OneByOne() { c.workers = 1 }

// Message is a reservation that is to become an order, and the id of the message that brought it; empty for the pending sweep.
type Message struct {
	sale.Reservation
	MessageID string
}

// Outcome is what became of a batch. Each order id of the batch is in exactly one of Live and Cancelled, each message that
// cannot belong to it in Poison.
type Outcome struct {
	Live      []order.Order // UNPAID or PAID, made now or before
	Cancelled []order.Order // made CANCELLED now, or found so
	Poison    []Poison
}

// Poison is a message that can never become an order, however often it is delivered.
type Poison struct {
	Message Message
	Reason  string // one sentence, without personal data
}
