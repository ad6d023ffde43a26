package bench

import (
	"context"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"time"

	"holdfast/infra/local/server"
	"holdfast/infra/mysql"
	"holdfast/infra/progress"
	"holdfast/shared/audit"
	"holdfast/shared/catalog"
	"holdfast/shared/checkout"
	"holdfast/shared/money"
	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
)

// createTurns is how the measurement of create-orders is cut into turns.
type createTurns struct {
	count   int // turns of each contender
	batches int // of batchSize orders in a turn of ours
	singles int // orders in a turn of the baseline
	writers int // transactions at once
}

var fullCreate = createTurns{count: 7, batches: 40, singles: 400, writers: 4}

// batchSize is that of the queue's mapping in the template.
const batchSize = 100

// measureCreate compares batches with one transaction per order.
func measureCreate(ctx context.Context, o Options, t createTurns) ([]Figure, error) {
	d, err := openDatabase(ctx, o, t.writers)
	if err != nil {
		return nil, err
	}
	defer d.close()
	a, err := d.openSale(ctx, "bench-create", 2*(t.count+1)*(t.batches*batchSize+t.singles))
	if err != nil {
		return nil, err
	}
	facts := a.Facts()
	reservations := newReservations(&facts)
	var batched, single []float64
	bar := progress.Bar(o.Out, t.count+1, "orders, batched and one by one")
	defer func() { _ = bar.Finish() }()
	for turn := range t.count + 1 {
		ours, err := d.batches(ctx, reservations, t)
		if err != nil {
			return nil, err
		}
		theirs, err := d.singles(ctx, a, reservations, t)
		if err != nil {
			return nil, err
		}
		if turn > 0 { // the first warms up
			batched, single = append(batched, ours), append(single, theirs)
		}
		_ = bar.Add(1)
	}
	return []Figure{
		{Key: "create_speedup", Title: "orders per second in batches of 100 over one transaction per order",
			Value: ratio(batched, single), Target: Target{atLeast, 10}},
		{Key: "create_orders_per_second", Title: fmt.Sprintf("%d writers, batches of %d", t.writers, batchSize), Value: median(batched)},
		{Key: "create_orders_per_second_one_by_one", Title: fmt.Sprintf("%d writers, a transaction per order", t.writers), Value: median(single)},
	}, nil
}

// batches creates the orders of one turn by checkout.CreateOrders and returns how many a second.
func (d *database) batches(ctx context.Context, next *reservations, t createTurns) (float64, error) {
	c := checkout.New(d.db, nil, d.catalog, nil) // creating touches only the database
	all := make([][]checkout.Message, t.batches)
	for i := range all {
		for range batchSize {
			r := next.take()
			all[i] = append(all[i], checkout.Message{Reservation: r, MessageID: messageID(r)})
		}
	}
	begin := time.Now()
	err := inParallel(len(all), t.writers, func(_, i int) error {
		out, err := c.CreateOrders(ctx, all[i])
		if err == nil && len(out.Live) != batchSize {
			return fmt.Errorf("%d of %d orders were made", len(out.Live), batchSize)
		}
		return err
	})
	return perSecond(t.batches*batchSize, begin), err
}

// singles creates the orders of one turn by one transaction each and returns how many a second.
func (d *database) singles(ctx context.Context, a *sale.Activity, next *reservations, t createTurns) (float64, error) {
	p := &perOrder{db: d.db, activity: a}
	list := make([]sale.Reservation, t.singles)
	for i := range list {
		list[i] = next.take()
	}
	begin := time.Now()
	err := inParallel(len(list), t.writers, func(_, i int) error { return p.create(ctx, list[i], messageID(list[i])) })
	return perSecond(len(list), begin), err
}

func perSecond(n int, begin time.Time) float64 { return float64(n) / time.Since(begin).Seconds() }

// messageID is as long as those of the queue.
func messageID(r sale.Reservation) string { return r.OrderID.String() }

// reservations makes new ones, each for another user, as Redis would hand them out.
type reservations struct {
	facts *sale.Facts
	left  int
	taken atomic.Int64
}

func newReservations(f *sale.Facts) *reservations {
	r := &reservations{facts: f}
	for _, units := range f.Types[0].Capacities {
		r.left += units
	}
	return r
}

func (r *reservations) take() sale.Reservation {
	n := int(r.taken.Add(1))
	user, now := userID(n), time.Now()
	id := r.facts.OrderID(user, "key")
	return sale.Reservation{OrderID: id, ActivityID: r.facts.ActivityID, UserID: user, TicketType: r.facts.Types[0].ID, Quantity: 1,
		Allocations: sale.Allocations{{Bucket: id.StartBucket(len(r.facts.Types[0].Capacities)), Count: 1}},
		Seq:         now.UnixMicro(), At: now.UTC().Truncate(time.Millisecond), Before: r.left - n + 1}
}

// database is a MariaDB with our schema.
type database struct {
	db      *sqltx.DB
	catalog *catalog.Catalog
	close   func()
}

// openDatabase starts a MariaDB that flushes every COMMIT to the disk of o.Dir.
func openDatabase(ctx context.Context, o Options, connections int) (*database, error) {
	if err := server.EnsureInstalled(ctx, o.Out); err != nil {
		return nil, err
	}
	fmt.Fprintln(o.Out, "starting MariaDB …")
	p, err := server.MariaDB(ctx, server.MariaDBOptions{Dir: filepath.Join(o.Dir, "mariadb"), Durable: true})
	if err != nil {
		return nil, err
	}
	d, err := attach(p.DSN, connections)
	if err != nil {
		p.Kill()
		return nil, err
	}
	closeDB := d.close
	d.close = func() {
		closeDB()
		p.Kill()
	}
	if err := mysql.Migrate(ctx, d.db.DB); err != nil {
		d.close()
		return nil, err
	}
	return d, nil
}

// attach opens a running database.
func attach(dsn string, connections int) (*database, error) {
	db, err := sqltx.Open(dsn)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	wrapped := sqltx.New(db, nil)
	return &database{db: wrapped, catalog: catalog.New(wrapped), close: func() { db.Close() }}, nil
}

// openSale makes a published sale with this many units in eight buckets, for money, in MySQL only.
func (d *database) openSale(ctx context.Context, id string, capacity int) (*sale.Activity, error) {
	price, err := money.Parse("80.00", currency)
	if err != nil {
		return nil, err
	}
	now := time.Now().UTC()
	operator := audit.Entry{Operator: "bench"}
	_, _, err = d.catalog.Create(ctx, sale.Activity{ID: id, Kind: sale.Ticket, Mode: sale.Test, Title: "A sale to measure",
		OpensAt: now.Add(-time.Hour), ClosesAt: now.Add(24 * time.Hour), PerUserLimit: 4, PayWindow: 15 * time.Minute, Currency: currency,
		TicketTypes: []sale.TicketType{{ID: standard, Title: "Standard", Price: price, Capacity: capacity, Buckets: buckets}}}, operator)
	if err != nil {
		return nil, err
	}
	a, _, err := d.catalog.Transition(ctx, id, sale.Published, operator)
	return a, err
}
