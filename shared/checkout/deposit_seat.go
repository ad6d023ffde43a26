package checkout

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"holdfast/shared/deposit"
	"holdfast/shared/metric"
	"holdfast/shared/notice"
	"holdfast/shared/order"
	"holdfast/shared/sale"
	"holdfast/shared/stock"
	"holdfast/shared/wallet"
)

// Refusals of what is asked about deposits. None of them changed anything.
var (
	ErrDepositNotFrozen      = errors.New("checkout: the order has no deposit that is frozen")
	ErrDepositDeadlinePassed = errors.New("checkout: the deadline for confirming has passed")
	ErrDepositStale          = errors.New("checkout: the deposit has changed since it was read")
	ErrDeadlineNotLater      = errors.New("checkout: the deadline would not be later than it is, or than now")
)

// seat is an order that a deposit holds, with its sale; the sale is locked shared, the rows for writing.
type seat struct {
	sale    *sale.Activity
	order   *order.Order
	deposit *deposit.Record
}

// lockSeat locks the sale, the order and its deposit, in the order that all edges keep. It returns order.ErrNotFound, and
// ErrDepositNotFrozen for an order without a deposit.
func (c *Checkout) lockSeat(ctx context.Context, tx *sql.Tx, id sale.OrderID) (s seat, err error) {
	if s.sale, err = c.lockSale(ctx, tx, id); err != nil {
		return s, err
	}
	if s.order, err = order.GetForUpdate(ctx, tx, id); err != nil {
		return s, err
	}
	s.deposit, err = deposit.Lock(ctx, tx, id)
	if errors.Is(err, deposit.ErrNotFound) {
		err = fmt.Errorf("%w: it has none", ErrDepositNotFrozen)
	}
	return s, err
}

// ending is a FROZEN deposit that is to end without being confirmed, and its order with it. Both are locked.
type ending struct {
	order    *order.Order
	deposit  *deposit.Record
	reason   order.Reason
	penalise bool // the club keeps the penalty that is due; otherwise everything goes back
}

// endDeposits ends deposits and cancels their orders, with all that belongs to them: the limits of their users, their money, the stock
// log, notices, the units in their buckets. States move first, each named as the one that is left; money follows them.
func endDeposits(ctx context.Context, tx *sql.Tx, list []ending, now time.Time) error {
	if err := endRows(ctx, tx, list, now); err != nil {
		return err
	}
	holdings, buckets := make(order.Holdings), make(stock.BucketChanges)
	orders := make([]order.Order, len(list))
	var moves []wallet.Movement
	var notices []notice.Notice
	for i := range list {
		o := list[i].order
		orders[i] = *o
		holdings.Add(o)
		buckets.Add(o.ActivityID, o.TicketType, o.Allocations, -1, 0)
		moves = append(moves, settledMoves(list[i].deposit)...)
		notices = append(notices, endNotice(&list[i]))
	}
	if err := order.GiveBack(ctx, tx, holdings, now); err != nil {
		return err
	}
	if err := wallet.Apply(ctx, tx, moves, now); err != nil {
		return fmt.Errorf("checkout: money of %d deposits: %w", len(list), err)
	}
	if err := order.LogGivenBack(ctx, tx, orders, now); err != nil {
		return err
	}
	if err := notice.Add(ctx, tx, notices, now); err != nil {
		return err
	}
	return stock.ChangeBuckets(ctx, tx, buckets, now)
}

// endRows moves orders and deposits to their last states, in the rows and in memory.
func endRows(ctx context.Context, tx *sql.Tx, list []ending, now time.Time) error {
	byReason := make(map[order.Reason][]int)
	var penalised, free []int
	for i := range list {
		byReason[list[i].reason] = append(byReason[list[i].reason], i)
		if list[i].penalise {
			penalised = append(penalised, i)
		} else {
			free = append(free, i)
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(byReason)) {
		at := byReason[reason]
		orders := make([]order.Order, len(at))
		for n, i := range at {
			orders[n] = *list[i].order
		}
		if err := order.CancelAll(ctx, tx, orders, reason, now); err != nil {
			return err
		}
		for n, i := range at {
			*list[i].order = orders[n]
		}
	}
	end := func(at []int, change func(context.Context, *sql.Tx, []deposit.Record, time.Time) error) error {
		records := make([]deposit.Record, len(at))
		for n, i := range at {
			records[n] = *list[i].deposit
		}
		if err := change(ctx, tx, records, now); err != nil {
			return err
		}
		for n, i := range at {
			*list[i].deposit = records[n]
		}
		return nil
	}
	if err := end(penalised, deposit.Penalise); err != nil {
		return err
	}
	return end(free, deposit.GiveBack)
}

// settledMoves is the money that follows a deposit out of FROZEN. A TEST deposit moves none.
func settledMoves(r *deposit.Record) []wallet.Movement {
	if r.Mode == sale.Test {
		return nil
	}
	m := wallet.Movement{Reference: r.OrderID.String(), UserID: r.UserID, OrderID: r.OrderID}
	consume, supplement, penalty, refund := m, m, m, m
	consume.Type, consume.Amount = wallet.DepositConsume, r.Consumed
	supplement.Type, supplement.Amount = wallet.DepositSupplement, r.Supplement
	penalty.Type, penalty.Amount, penalty.ClubID = wallet.DepositPenalty, r.Penalty, r.ClubID
	refund.Type, refund.Amount = wallet.DepositRefund, r.Refunded
	return []wallet.Movement{consume, penalty, refund, supplement} // what comes back may pay for what is added
}

func freezeMove(r *deposit.Record) wallet.Movement {
	return wallet.Movement{Type: wallet.DepositFreeze, Reference: r.OrderID.String(), UserID: r.UserID, OrderID: r.OrderID, Amount: r.Deposit}
}

// freezeMoves is the money that deposits freeze, in the order of the list. TEST deposits freeze none.
func freezeMoves(list []deposit.Record) []wallet.Movement {
	moves := make([]wallet.Movement, 0, len(list))
	for i := range list {
		if list[i].Mode != sale.Test {
			moves = append(moves, freezeMove(&list[i]))
		}
	}
	return moves
}

// afterDeposits follows a commit that moved deposits: hints about the wallets go, the sender of notices is woken, and what happened is
// counted.
func (c *Checkout) afterDeposits(ctx context.Context, list []deposit.Record) {
	if len(list) == 0 {
		return
	}
	var keys []wallet.Key
	for i := range list {
		if r := &list[i]; r.Mode != sale.Test {
			keys = append(keys, payerOf(r))
		}
	}
	c.DropHints(ctx, keys)
	c.countDeposits(list)
	c.ring(ctx)
}

// countDeposits counts what deposits have just become. Those of TEST sales are left out.
func (c *Checkout) countDeposits(list []deposit.Record) {
	type figure struct{ name, activityID string }
	counts := make(map[figure]int)
	for i := range list {
		switch r := &list[i]; {
		case r.Mode == sale.Test:
		case r.Status == deposit.Frozen:
			counts[figure{metric.DepositFreeze, r.ActivityID}]++
		case r.Status == deposit.Deducted:
			counts[figure{metric.DepositConfirm, r.ActivityID}]++
		case !r.Penalty.IsZero():
			counts[figure{metric.DepositPenalty, r.ActivityID}]++
		}
	}
	for f, n := range counts {
		c.metrics.CountOf(f.name, f.activityID, n)
	}
}

// StartBy has start start the workflows of deposits after the commits that froze them, best effort: what is not started is reminded and
// settled by the minute pass. It is called before the first use, if at all.
func (c *Checkout) StartBy(start func(ctx context.Context, list []deposit.Execution) error) {
	c.start = start
}

// startDeposits starts the workflows of deposits that were frozen by a commit, and notes that they are. It returns nothing: the rows are
// the record.
func (c *Checkout) startDeposits(ctx context.Context, list []deposit.Record) {
	if c.start == nil || len(list) == 0 {
		return
	}
	executions, ids := make([]deposit.Execution, len(list)), make([]sale.OrderID, len(list))
	for i := range list {
		executions[i], ids[i] = list[i].Execution(), list[i].OrderID
	}
	err := c.start(ctx, executions)
	if err == nil {
		var now time.Time
		if now, err = c.db.Now(ctx, c.db); err == nil {
			err = deposit.MarkStarted(ctx, c.db, ids, now)
		}
	}
	if err != nil {
		c.log.Warn("deposits without a workflow of their own are left to the minute pass", "deposits", len(list), "error", err)
	}
}
