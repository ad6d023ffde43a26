package checkout

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"holdfast/shared/catalog"
	"holdfast/shared/notice"
	"holdfast/shared/order"
	"holdfast/shared/payment"
	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
	"holdfast/shared/stock"
	"holdfast/shared/waitlist"
	"holdfast/shared/wallet"
)

// repeatable runs a transaction that decides by the states that it finds, so that running it after itself changes nothing. When
// its COMMIT stays without answer it is simply run again: its locks wait for the first run to end, and it then finds out what that
// one did.
func (c *Checkout) repeatable(ctx context.Context, f func(ctx context.Context, tx *sql.Tx) error) error {
	err := c.db.Run(ctx, f)
	if errors.Is(err, sqltx.ErrCommitUnclear) {
		err = c.db.Run(ctx, f)
	}
	return err
}

// lockActivity locks a sale shared. It returns catalog.ErrNotFound when there is none.
func (c *Checkout) lockActivity(ctx context.Context, tx *sql.Tx, id string) (*sale.Activity, error) {
	locked, err := c.catalog.LockShared(ctx, tx, []string{id})
	if err != nil {
		return nil, err
	}
	if locked[id] == nil {
		return nil, catalog.ErrNotFound
	}
	return locked[id], nil
}

// lockSale locks the sale that an order's id belongs to, shared. It returns order.ErrNotFound when no sale has its number.
func (c *Checkout) lockSale(ctx context.Context, tx *sql.Tx, id sale.OrderID) (*sale.Activity, error) {
	a, err := c.catalog.LockSharedByNumber(ctx, tx, id.Number())
	return a, asOrderNotFound(err)
}

// cancelLocked cancels live orders that the transaction has locked, with all that belongs to them: payments that are still pending,
// offers of the waitlist, the limits of their users, the stock log, the units in their buckets, and the notices that tell of it. moves
// is the money that goes with it, which takes its place between limits and buckets in the order of locks; there are none of a TEST
// sale.
func cancelLocked(ctx context.Context, tx *sql.Tx, orders []order.Order, reason order.Reason, now time.Time, moves ...wallet.Movement) error {
	holdings, buckets := make(order.Holdings), make(stock.BucketChanges)
	var unpaid, offered []sale.OrderID
	for i := range orders {
		o := &orders[i]
		holdings.Add(o)
		if o.Status == order.Paid {
			buckets.Add(o.ActivityID, o.TicketType, o.Allocations, 0, -1)
		} else {
			buckets.Add(o.ActivityID, o.TicketType, o.Allocations, -1, 0)
			unpaid = append(unpaid, o.ID)
		}
		if o.Source == order.FromOffer {
			offered = append(offered, o.ID)
		}
	}
	if err := order.CancelAll(ctx, tx, orders, reason, now); err != nil {
		return err
	}
	if err := payment.GiveUp(ctx, tx, unpaid, now); err != nil {
		return err
	}
	if err := waitlist.Lapse(ctx, tx, offered, now); err != nil {
		return err
	}
	if err := order.GiveBack(ctx, tx, holdings, now); err != nil {
		return err
	}
	if err := wallet.Apply(ctx, tx, moves, now); err != nil {
		return err
	}
	if err := stock.ChangeBuckets(ctx, tx, buckets, now); err != nil {
		return err
	}
	if err := order.LogGivenBack(ctx, tx, orders, now); err != nil {
		return err
	}
	return notice.Add(ctx, tx, cancelledNotices(orders), now)
}

// cancelledNotices tells the buyers of orders that these are cancelled.
func cancelledNotices(orders []order.Order) []notice.Notice {
	list := make([]notice.Notice, len(orders))
	for i := range orders {
		list[i] = orderNotice(notice.OrderCancelled, &orders[i])
	}
	return list
}
