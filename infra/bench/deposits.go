package bench

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/shopspring/decimal"

	"holdfast/infra/progress"
	"holdfast/shared/audit"
	"holdfast/shared/checkout"
	"holdfast/shared/money"
	"holdfast/shared/reconcile"
	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
	"holdfast/shared/wallet"
)

// depositTurns is how the measurement of deposits is cut.
type depositTurns struct {
	create createTurns // batches of deposit orders, and as many of plain ones
	settle int         // deposits of one club and one deadline that the sweeper settles
	singly int         // those that workflows settle, one by one
}

var fullDeposits = depositTurns{create: createTurns{count: 5, batches: 20, writers: 4}, settle: 10_000, singly: 2_000}

// sweepPage is how many deposits the minute pass settles in one transaction.
const sweepPage = 500

// depositSales is what the deposits are measured on: a database with money, and a Redis that gets the units back.
type depositSales struct {
	*database
	cache *cache
	ahead atomic.Int64 // of the clocks, nanoseconds
}

// measureDeposits compares the creation of deposit orders with that of plain ones, and settles deposits of one club at one deadline.
func measureDeposits(ctx context.Context, o Options, t depositTurns) ([]Figure, error) {
	d, err := openDatabase(ctx, o, max(t.create.writers, 8))
	if err != nil {
		return nil, err
	}
	defer d.close()
	s := &depositSales{database: d}
	d.db = sqltx.New(d.db.DB, func() time.Duration { return time.Duration(s.ahead.Load()) })
	if s.cache, err = openCache(ctx, o); err != nil {
		return nil, err
	}
	defer s.cache.close()
	held, plain, err := s.create(ctx, o, t.create)
	if err != nil {
		return nil, err
	}
	swept, err := s.settle(ctx, o, "bench-swept", t.settle, s.sweep)
	if err != nil {
		return nil, err
	}
	woken, err := s.settle(ctx, o, "bench-woken", t.singly, s.wake)
	if err != nil {
		return nil, err
	}
	return []Figure{
		{Key: "deposit_create_ratio", Title: "deposit orders per second over plain ones, in batches of 100", Value: ratio(held, plain),
			Target: Target{atLeast, 0.5}},
		{Key: "deposit_creates_per_second", Title: "each freezes money of another wallet", Value: median(held)},
		{Key: "plain_creates_per_second", Title: "beside them, in turn", Value: median(plain)},
		{Key: "deposit_settlements_per_second", Title: fmt.Sprintf("%d deposits of one club and deadline, by the sweeper, units back in Redis", t.settle),
			Value: swept, Target: Target{atLeast, 1000}},
		{Key: "deposit_settlements_per_second_by_workflow", Title: "one transaction per deposit, 8 at once", Value: woken},
	}, nil
}

// create gives orders per second of deposit seats and of plain tickets, turn by turn.
func (s *depositSales) create(ctx context.Context, o Options, t createTurns) (held, plain []float64, err error) {
	orders := (t.count + 1) * t.batches * batchSize
	seats, err := s.openSeats(ctx, "bench-seats", orders, 10*deadlineIn) // never reached here
	if err != nil {
		return nil, nil, err
	}
	tickets, err := s.openSale(ctx, "bench-tickets", orders)
	if err != nil {
		return nil, nil, err
	}
	if err := s.topUp(ctx, orders); err != nil {
		return nil, nil, err
	}
	seatFacts, ticketFacts := seats.Facts(), tickets.Facts()
	nextSeat, nextTicket := newReservations(&seatFacts), newReservations(&ticketFacts)
	bar := progress.Bar(o.Out, t.count+1, "deposit seats and tickets")
	defer func() { _ = bar.Finish() }()
	for turn := range t.count + 1 {
		ours, err := s.batches(ctx, nextSeat, t)
		if err != nil {
			return nil, nil, err
		}
		theirs, err := s.batches(ctx, nextTicket, t)
		if err != nil {
			return nil, nil, err
		}
		if turn > 0 { // the first warms up
			held, plain = append(held, ours), append(plain, theirs)
		}
		_ = bar.Add(1)
	}
	return held, plain, nil
}

// settle makes n deposits in MySQL, has Redis learn of them, lets their deadline pass, and gives how many a second do settles.
func (s *depositSales) settle(ctx context.Context, o Options, id string, n int, do func(ctx context.Context, c *checkout.Checkout, ids []sale.OrderID) error) (float64, error) {
	a, err := s.openSeats(ctx, id, n, deadlineIn)
	if err != nil {
		return 0, err
	}
	if err := s.topUp(ctx, n); err != nil {
		return 0, err
	}
	facts := a.Facts()
	next := newReservations(&facts)
	var ids []sale.OrderID
	for len(ids) < n {
		var batch []checkout.Message
		for range min(batchSize, n-len(ids)-len(batch)) {
			r := next.take()
			batch = append(batch, checkout.Message{Reservation: r, MessageID: messageID(r)})
		}
		out, err := checkout.New(s.db, nil, s.catalog, nil).CreateOrders(ctx, batch)
		if err != nil {
			return 0, err
		}
		if len(out.Live) != len(batch) {
			return 0, fmt.Errorf("%d of %d deposits were frozen", len(out.Live), len(batch))
		}
		for i := range batch {
			ids = append(ids, batch[i].OrderID)
		}
	}
	c := checkout.New(s.db, s.cache.store, s.catalog, nil)
	if err := reconcile.New(s.db, s.cache.store, s.catalog, c, nil, nil).Load(ctx, a.ID); err != nil {
		return 0, err
	}
	s.ahead.Store(int64(time.Until(a.Deposit.ConfirmDeadline) + time.Minute))
	defer s.ahead.Store(0)
	fmt.Fprintf(o.Out, "settling %d deposits …\n", n)
	begin := time.Now()
	if err := do(ctx, c, ids); err != nil {
		return 0, err
	}
	rate := perSecond(n, begin)
	return rate, s.allBack(ctx, a, n)
}

// sweep settles by the minute pass, page by page.
func (s *depositSales) sweep(ctx context.Context, c *checkout.Checkout, ids []sale.OrderID) error {
	for left := len(ids); left > 0; {
		page, err := c.SweepDeposits(ctx, sweepPage)
		if err != nil {
			return err
		}
		if page.Settled == 0 {
			return fmt.Errorf("%d deposits are left and none was settled", left)
		}
		left -= page.Settled
	}
	return nil
}

// wake settles as workflows do.
func (s *depositSales) wake(ctx context.Context, c *checkout.Checkout, ids []sale.OrderID) error {
	return inParallel(len(ids), 8, func(_, i int) error {
		r, err := c.SettleDeposit(ctx, ids[i])
		if err == nil && r.Step != checkout.StepSettled {
			err = fmt.Errorf("a deposit was %s", r.Step)
		}
		return err
	})
}

// errNotBack says that a settlement has left something undone.
var errNotBack = errors.New("not every deposit was settled and released")

// allBack checks that every deposit was settled and every unit is back.
func (s *depositSales) allBack(ctx context.Context, a *sale.Activity, n int) error {
	var settled, released int
	err := s.db.QueryRowContext(ctx, `SELECT COUNT(*) FROM deposit_record WHERE activity_id = ? AND status = 'REFUNDED' AND penalty > 0`, a.ID).Scan(&settled)
	if err != nil {
		return err
	}
	err = s.db.QueryRowContext(ctx, `SELECT COUNT(*) FROM trade_order WHERE activity_id = ? AND released_at IS NOT NULL`, a.ID).Scan(&released)
	if err != nil {
		return err
	}
	if settled != n || released != n {
		return fmt.Errorf("%w: %d and %d of %d", errNotBack, settled, released, n)
	}
	return nil
}

// deadlineIn is how far off the deadline is of deposits that are settled.
const deadlineIn = 48 * time.Hour

// openSeats makes a published sale of deposit seats, in MySQL only. It is a live one, for a TEST sale moves no money.
func (s *depositSales) openSeats(ctx context.Context, id string, capacity int, deadline time.Duration) (*sale.Activity, error) {
	price, err := money.Parse("80.00", currency)
	if err != nil {
		return nil, err
	}
	ratio := decimal.RequireFromString("0.25")
	now, operator := time.Now().UTC(), audit.Entry{Operator: "bench"}
	_, _, err = s.catalog.Create(ctx, sale.Activity{ID: id, Kind: sale.Deposit, Mode: sale.Live, Title: "Seats to measure",
		OpensAt: now.Add(-time.Hour), ClosesAt: now.Add(24 * time.Hour), PerUserLimit: 4, PayWindow: 15 * time.Minute, Currency: currency,
		Deposit: &sale.DepositPolicy{Ratio: &ratio, PenaltyRatio: decimal.RequireFromString("0.1"), ConfirmDeadline: now.Add(deadline),
			RemindAt: now.Add(deadline - time.Hour), Cancellation: sale.CancelFree, ClubID: "bench", OfferLead: sale.MinOfferLead},
		TicketTypes: []sale.TicketType{{ID: standard, Title: "Standard", Price: price, Capacity: capacity, Buckets: buckets}}}, operator)
	if err != nil {
		return nil, err
	}
	a, _, err := s.catalog.Transition(ctx, id, sale.Published, operator)
	return a, err
}

// topUp gives each of the first n users money for one deposit.
func (s *depositSales) topUp(ctx context.Context, n int) error {
	const page = 500
	amount, err := money.Parse("20.00", currency)
	if err != nil {
		return err
	}
	for first := 1; first <= n; first += page {
		var list []wallet.Movement
		for i := first; i < min(first+page, n+1); i++ {
			user := userID(i)
			list = append(list, wallet.Movement{Type: wallet.TopUp, Reference: fmt.Sprintf("%s-%d", user, time.Now().UnixNano()), UserID: user, Amount: amount})
		}
		err := s.db.Run(ctx, func(ctx context.Context, tx *sql.Tx) error { return wallet.Apply(ctx, tx, list, time.Now()) })
		if err != nil {
			return err
		}
	}
	return nil
}
