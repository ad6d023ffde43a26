package checkout

import (
	"context"
	"errors"
	"log/slog"

	"holdfast/shared/catalog"
	"holdfast/shared/deposit"
	"holdfast/shared/metric"
	"holdfast/shared/order"
	"holdfast/shared/payment"
	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
	"holdfast/shared/stock"
	"holdfast/shared/wallet"
)

// Refusals of the use cases. None of them changed anything.
var (
	ErrNotCancellable = errors.New("checkout: the order cannot be cancelled")
	ErrNotPayable     = errors.New("checkout: the order cannot be paid")
	ErrExpired        = errors.New("checkout: the order's deadline has passed")

	ErrInsufficientBalance = errors.New("checkout: too little money is available")
)

// Checkout runs the use cases of this package. It is safe for use by many goroutines.
type Checkout struct {
	db      *sqltx.DB
	stock   *stock.Store
	catalog *catalog.Catalog
	log     *slog.Logger
	metrics *metric.Metrics // nil: nothing is counted
	workers int             // orders that Redis is told of at once

	bell  func(ctx context.Context) error                           // wakes the sender of notices; nil: nobody is woken
	start func(ctx context.Context, list []deposit.Execution) error // starts the workflows of deposits; nil: the minute pass has them
	hints *wallet.Hints                                             // nil: no balances are hinted at

	provider payment.Provider // charges buyers; nil: nobody can pay by provider

	newEntry func() sale.EntryID // names entries of the waitlist
}

// New makes a Checkout over both stores. log may be nil: then nothing is logged.
func New(db *sqltx.DB, st *stock.Store, cat *catalog.Catalog, log *slog.Logger) *Checkout {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Checkout{db: db, stock: st, catalog: cat, log: log, workers: settleWorkers, newEntry: sale.NewEntryID}
}

// CountBy has what repair does counted by m; it is called before the first use, if at all.
func (c *Checkout) CountBy(m *metric.Metrics) { c.metrics = m }

// OneByOne has Redis told of one order after the other, so that the same run can be made again step by step; it is called before the
// first use, if at all.
func (c *Checkout) OneByOne() { c.workers = 1 }

// NameEntriesBy has entries of the waitlist named by name, so that the same run can be made again step by step; it is called before the
// first use, if at all. Outside of such runs nobody may be able to guess a name.
func (c *Checkout) NameEntriesBy(name func() sale.EntryID) { c.newEntry = name }

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

	frozen []deposit.Record // deposits that were frozen now
	told   bool             // notices were written
}

// Poison is a message that can never become an order, however often it is delivered.
type Poison struct {
	Message Message
	Reason  string // one sentence, without personal data
}
