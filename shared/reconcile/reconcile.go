package reconcile

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"

	"holdfast/shared/catalog"
	"holdfast/shared/checkout"
	"holdfast/shared/metric"
	"holdfast/shared/sqltx"
	"holdfast/shared/stock"
)

// Refusals of this package.
var (
	// ErrLoadRunning: somebody else is loading the activity or adjusting its stock right now.
	ErrLoadRunning = errors.New("reconcile: the activity's set is being worked on by somebody else")
	// ErrNotPublished: a draft has nothing to load.
	ErrNotPublished = errors.New("reconcile: the activity was never published")
)

// QueueEmpty says whether the queue of reservations holds nothing any more, neither waiting nor in flight.
type QueueEmpty func(ctx context.Context) (bool, error)

// Reconciler runs loading and repair over both stores. It is safe for use by many goroutines.
type Reconciler struct {
	db       *sqltx.DB
	stock    *stock.Store
	catalog  *catalog.Catalog
	checkout *checkout.Checkout
	empty    QueueEmpty
	log      *slog.Logger
	metrics  *metric.Metrics // nil: nothing is counted
	holder   string          // names this process in leases
	stepwise bool            // one thing at a time
}

// New makes a Reconciler. empty may be nil: then a load does not wait for the queue. log may be nil: then nothing is logged.
func New(db *sqltx.DB, st *stock.Store, cat *catalog.Catalog, ck *checkout.Checkout, empty QueueEmpty, log *slog.Logger) *Reconciler {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Reconciler{db: db, stock: st, catalog: cat, checkout: ck, empty: empty, log: log, holder: rand.Text()}
}

// OneByOne has pages read only when they are needed, and not one ahead of use, so that the same run can be made again step by step; it
// is called before the first use, if at all.
func (r *Reconciler) OneByOne() { r.stepwise = true }

// ahead says whether pages are read while others are used.
func (r *Reconciler) ahead() bool { return !r.stepwise }
