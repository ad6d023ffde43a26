package checkout

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"holdfast/shared/deposit"
	"holdfast/shared/notice"
	"holdfast/shared/order"
	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
	"holdfast/shared/stock"
	"holdfast/shared/wallet"
)

// errGate is what a batch on trust ends with when a gate of the database refuses.
var errGate = errors.New("checkout: a gate refused")

// CreateOrders makes orders of a batch of reservations, all in one transaction, and says what became of each. An id that is known
// already is reported as it stands; an id that is known for another wish is poison. Messages of a sale that was closed become
// CANCELLED orders, as do those that the database has no units for or whose user holds too many. It is safe to call it twice, and
// at once, with the same messages.
//
// Of a sale of deposit seats the deposit is frozen in the same transaction. A buyer who has too little money becomes CANCELLED
// INSUFFICIENT_BALANCE and keeps nobody else back; so near the deadline that nobody could confirm, nothing is sold any more.
//
// On an error nothing is known to have been done and all messages must be delivered again: sqltx.ErrUnavailable when the database
// could not be reached, sqltx.ErrCommitUnclear when a COMMIT stayed without answer and no row of it was found afterwards.
func (c *Checkout) CreateOrders(ctx context.Context, messages []Message) (Outcome, error) {
	b := newBatch(messages)
	if len(b.messages) == 0 {
		return Outcome{}, nil
	}
	out, err := c.createBatch(ctx, b, onTrust)
	if errors.Is(err, errGate) {
		out, err = c.createBatch(ctx, b, withCare)
	}
	if err != nil {
		return Outcome{}, err
	}
	c.afterBatch(ctx, out)
	return out, nil
}

// afterBatch follows the commit of a batch: workflows of deposits start, and whoever sends notices is woken.
func (c *Checkout) afterBatch(ctx context.Context, out Outcome) {
	c.startDeposits(ctx, out.frozen)
	c.afterDeposits(ctx, out.frozen)
	if len(out.frozen) == 0 && out.told {
		c.ring(ctx)
	}
}

// manner is how a batch is written: on trust that Redis gave away what there is, or with care after a gate refused.
type manner bool

const (
	onTrust  manner = false
	withCare manner = true
)

func (c *Checkout) createBatch(ctx context.Context, b *batch, how manner) (out Outcome, err error) {
	err = c.db.Run(ctx, func(ctx context.Context, tx *sql.Tx) error {
		out, err = c.writeBatch(ctx, tx, b, how)
		return err
	})
	if errors.Is(err, sqltx.ErrCommitUnclear) {
		return c.resolve(ctx, out, err)
	}
	return out, err
}

// writeBatch does the work of one batch inside a transaction.
func (c *Checkout) writeBatch(ctx context.Context, tx *sql.Tx, b *batch, how manner) (Outcome, error) {
	activities, err := c.catalog.LockShared(ctx, tx, b.activities())
	if err != nil {
		return Outcome{}, err
	}
	now, err := c.db.Now(ctx, tx)
	if err != nil {
		return Outcome{}, err
	}
	orders, fit, out := b.plan(activities, now)
	mine, known, err := order.Claim(ctx, tx, orders, newBatchID())
	if err != nil {
		return Outcome{}, err
	}
	fresh := slices.DeleteFunc(orders, func(o order.Order) bool { return !mine[o.ID] })
	out.report(fit, known)
	limits := limitsOf(activities)
	deposits := depositsOf(activities, fresh, now)
	if how == withCare {
		if err := judgeFresh(ctx, tx, fresh, deposits, limits, now); err != nil {
			return Outcome{}, err
		}
		deposits = depositsOf(activities, fresh, now)
	}
	for _, i := range slices.Sorted(maps.Keys(deposits)) {
		out.frozen = append(out.frozen, deposits[i])
	}
	if err := writeFresh(ctx, tx, fresh, limits, now, out.frozen...); err != nil {
		return Outcome{}, gate(err, how)
	}
	if err := notice.Add(ctx, tx, freshNotices(fresh), now); err != nil {
		return Outcome{}, err
	}
	out.add(fresh)
	out.told = len(fresh) > 0
	return out, nil
}

// depositsOf gives the deposits that the live ones of new orders need, by the place of the order; orders of other sales have none.
func depositsOf(activities map[string]*sale.Activity, fresh []order.Order, now time.Time) map[int]deposit.Record {
	out := make(map[int]deposit.Record)
	for i := range fresh {
		o := &fresh[i]
		if p := activities[o.ActivityID].Deposit; p != nil && o.Status.Live() {
			out[i] = newDeposit(p, o, now)
		}
	}
	return out
}

// plan makes an order of every id whose first fit message can become one: PAID when nothing is owed, UNPAID without a deadline when a
// deposit is to hold it, else UNPAID with one; CANCELLED when the sale is closed, or it is too late for a deposit. It gives all fit
// messages too; the rest is poison.
func (b *batch) plan(activities map[string]*sale.Activity, now time.Time) (orders []order.Order, fit []Message, out Outcome) {
	orders = make([]order.Order, 0, len(b.messages))
	for _, m := range b.messages {
		a := activities[m.ActivityID]
		if reason := unfit(m, a); reason != "" {
			out.Poison = append(out.Poison, Poison{m, reason})
			continue
		}
		fit = append(fit, m)
		if isRival(fit, len(fit)-1) {
			continue
		}
		o := newOrder(a, m, now)
		switch {
		case a.Status == sale.Closed, a.Status == sale.Cancelled, a.CancelledAt != nil:
			o.Cancel(order.SaleClosed, now)
		case a.Deposit != nil && !a.Deposit.FreezesAt(now):
			o.Cancel(order.SaleClosed, now)
		case a.Deposit != nil: // the deposit's own deadline holds
		case o.Amount.IsZero():
			o.Fulfil()
		default:
			o.Await(now.Add(a.PayWindow))
		}
		orders = append(orders, o)
	}
	return orders, fit, out
}

// isRival says whether a message uses the id of the one before it for another wish.
func isRival(fit []Message, i int) bool { return i > 0 && fit[i-1].OrderID == fit[i].OrderID }

func newOrder(a *sale.Activity, m Message, now time.Time) order.Order {
	t, _ := a.Type(m.TicketType)
	source := order.FromSale
	if m.MessageID == "" {
		source = order.FromSweep
	}
	return order.New(a, t, m.Reservation, source, m.MessageID, now)
}

// report sorts the orders that were there before by their state. The row decides which message is genuine: those that use its id for
// another wish are poison. Without a row the first message is, and its rivals are poison.
func (out *Outcome) report(fit []Message, known map[sale.OrderID]order.Order) {
	for i, m := range fit {
		o, found := known[m.OrderID]
		switch {
		case found && o.SameWish(m.ActivityID, m.UserID, m.TicketType, m.Quantity):
			out.add([]order.Order{o})
		case found || isRival(fit, i):
			out.Poison = append(out.Poison, Poison{m, poisonForeign})
		}
	}
}

func (out *Outcome) add(orders []order.Order) {
	out.Live = slices.Grow(out.Live, len(orders))
	for _, o := range orders {
		if o.Status.Live() {
			out.Live = append(out.Live, o)
		} else {
			out.Cancelled = append(out.Cancelled, o)
		}
	}
}

// writeFresh writes everything that goes with claimed orders, their deposits among it, and the buckets last. All deposits of a batch are
// frozen by one statement per table.
func writeFresh(ctx context.Context, tx *sql.Tx, fresh []order.Order, limits map[string]int, now time.Time, deposits ...deposit.Record) error {
	holdings, buckets := make(order.Holdings), make(stock.BucketChanges)
	var dead []order.Order
	for i := range fresh {
		switch o := &fresh[i]; o.Status {
		case order.Unpaid:
			holdings.Add(o)
			buckets.Add(o.ActivityID, o.TicketType, o.Allocations, 1, 0)
		case order.Paid:
			holdings.Add(o)
			buckets.Add(o.ActivityID, o.TicketType, o.Allocations, 0, 1)
		default:
			dead = append(dead, *o)
		}
	}
	if err := order.Hold(ctx, tx, holdings, limits, now); err != nil {
		return err
	}
	if err := wallet.Apply(ctx, tx, freezeMoves(deposits), now); err != nil {
		return err
	}
	if err := deposit.Insert(ctx, tx, deposits); err != nil {
		return err
	}
	if err := order.Route(ctx, tx, fresh); err != nil {
		return err
	}
	if err := order.LogTaken(ctx, tx, fresh); err != nil {
		return err
	}
	if err := order.LogGivenBack(ctx, tx, dead, now); err != nil {
		return err
	}
	return stock.ChangeBuckets(ctx, tx, buckets, now)
}

// gate tells a refusal that a second run with care can settle from a failure. With care nothing is refused any more, since all was
// decided on locked rows: then it is an error.
func gate(err error, how manner) error {
	if how == onTrust && (sqltx.CheckViolated(err) || errors.Is(err, stock.ErrBucketShort) || errors.Is(err, wallet.ErrShort)) {
		return fmt.Errorf("%w: %w", errGate, err)
	}
	return err
}

func limitsOf(activities map[string]*sale.Activity) map[string]int {
	limits := make(map[string]int, len(activities))
	for id, a := range activities {
		limits[id] = a.PerUserLimit
	}
	return limits
}

func newBatchID() order.BatchID {
	var id order.BatchID
	_, _ = rand.Read(id[:]) // never fails
	return id
}
