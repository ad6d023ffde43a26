package invariant

import (
	"context"
	"errors"
	"fmt"
	"time"

	"holdfast/shared/catalog"
	"holdfast/shared/order"
	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
	"holdfast/shared/stock"
)

// Reading is one activity as both stores had it. It is for one goroutine at a time.
type Reading struct {
	activityID string
	rows       *rows
	cache      *cache
	again      map[sale.OrderID]pairing // of ids that seemed to contradict, read once more
	late       map[string]bool          // adjustments that Redis has by now and did not have at the seq
}

// How often a reading that Redis moved under is begun again, and the pause before it.
const (
	maxReadings = 3
	readAgain   = 200 * time.Millisecond
)

// Read reads both stores. It returns catalog.ErrNotFound for an unknown activity, ErrNotChecked while Redis has no whole set of it, or
// is loaded anew each time, and the stores' own errors.
func Read(ctx context.Context, db *sqltx.DB, st *stock.Store, activityID string) (*Reading, error) {
	for attempt := 1; ; attempt++ {
		r, err := read(ctx, db, st, activityID)
		switch {
		case errors.Is(err, errMoved) && attempt < maxReadings:
		case errors.Is(err, errMoved), errors.Is(err, stock.ErrNotLoaded):
			return nil, fmt.Errorf("%w: %w", ErrNotChecked, err)
		default:
			return r, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(readAgain):
		}
	}
}

// read makes one attempt. MySQL is read after Redis: whatever died up to the log's seq was CANCELLED before.
func read(ctx context.Context, db *sqltx.DB, st *stock.Store, activityID string) (*Reading, error) {
	activity, err := catalog.Get(ctx, db, activityID)
	if err != nil {
		return nil, err
	}
	facts := activity.Facts()
	r := &Reading{activityID: activityID}
	if r.cache, err = readCache(ctx, st, &facts); err != nil {
		return nil, err
	}
	if r.rows, err = readRows(ctx, db, activityID); err != nil {
		return nil, err
	}
	if r.again, err = readResidue(ctx, db, st, activityID, contradictions(r.rows, r.cache)); err != nil {
		return nil, err
	}
	r.late, err = st.AdjustmentsInForce(ctx, activityID, missingAdjustments(r.rows, r.cache))
	return r, err
}

// Check reads both stores and checks every equation for one activity. promises may be empty: then L says so by 0 = 0. It returns
// catalog.ErrNotFound for an unknown activity, ErrNotChecked while Redis is not loaded, and the stores' own errors.
func Check(ctx context.Context, db *sqltx.DB, st *stock.Store, activityID string, promises []Promise) (*Report, error) {
	r, err := Read(ctx, db, st, activityID)
	if err != nil {
		return nil, err
	}
	return r.Report(promises), nil
}

// Report checks every equation on the reading.
func (r *Reading) Report(promises []Promise) *Report {
	r.rows.sort()
	r.cache.sort()
	report := &Report{ActivityID: r.activityID, At: r.rows.now, Seq: r.cache.seq, Status: r.rows.status}
	stores, inFlight := ofStores(r)
	report.InFlight = inFlight
	var money, paid, deadlines []Equation
	if r.rows.money != nil {
		money, paid, deadlines = r.rows.money.equations()
	}
	for _, equations := range [][]Equation{ofStock(r.rows), ofPromises(r.rows, r.cache, promises), ofEffects(r.rows), paid, stores,
		ofStates(r.rows), deadlines, r.rows.wallets, money, ofWaiters(r), ofNotices(r.rows)} {
		report.Equations = append(report.Equations, equations...)
	}
	return report
}

// pairing is how the log and the row of one id go together.
type pairing int

const (
	alike pairing = iota
	onItsWay
	contradicting
)

// pair holds one id's entry against its row; either may be nil.
func pair(e *entry, o *orderRow) pairing {
	switch {
	case e == nil && (o == nil || !o.live()):
		return alike // an id that never was, or a tombstone of one that Redis has forgotten
	case e == nil:
		return contradicting // a live order that Redis does not know
	case e.dead && (o == nil || o.live()):
		return contradicting // no release without a committed CANCELLED row
	case e.dead:
		return alike
	case o == nil, !o.live():
		return onItsWay // to its row, or to its release
	case o.userID != e.userID, o.ticketType != e.ticketType, o.quantity != e.quantity, o.allocations.Compact() != e.allocations.Compact():
		return contradicting
	}
	return alike
}

// contradictions lists the ids that do not pair.
func contradictions(r *rows, c *cache) []sale.OrderID {
	var ids []sale.OrderID
	for id, e := range c.entries {
		if pair(e, r.orders[id]) == contradicting {
			ids = append(ids, id)
		}
	}
	for id, o := range r.orders {
		if c.entries[id] == nil && pair(nil, o) == contradicting {
			ids = append(ids, id)
		}
	}
	return ids
}

// maxResidue is how many contradictions are read again. More than this is no movement that was caught in the middle.
const maxResidue = 5000

// readResidue reads ids again, the log before the rows, and says how they pair by now. A reservation that waits for its
// acknowledgement may have been allocated otherwise by MySQL: that is on its way, too.
func readResidue(ctx context.Context, db *sqltx.DB, st *stock.Store, activityID string, ids []sale.OrderID) (map[sale.OrderID]pairing, error) {
	if len(ids) == 0 || len(ids) > maxResidue {
		return nil, nil
	}
	entries, err := st.Entries(ctx, activityID, ids)
	if err != nil {
		return nil, err
	}
	orders, err := order.GetMany(ctx, db, ids)
	if err != nil {
		return nil, err
	}
	again := make(map[sale.OrderID]pairing, len(ids))
	for i, id := range ids {
		var e *entry
		var o *orderRow
		if f := entries[i]; f.Found {
			e = &entry{userID: f.Reservation.UserID, ticketType: f.Reservation.TicketType, quantity: f.Reservation.Quantity,
				allocations: f.Reservation.Allocations, taken: f.HasTaken, dead: f.Standing == stock.Dead}
		}
		if row, found := orders[id]; found {
			o = &orderRow{userID: row.UserID, ticketType: row.TicketType, quantity: row.Quantity, allocations: row.Allocations,
				status: string(row.Status)}
		}
		again[id] = pair(e, o)
		if again[id] == contradicting && entries[i].Standing == stock.Pending && o != nil {
			e.allocations = o.allocations
			if pair(e, o) == alike {
				again[id] = onItsWay
			}
		}
	}
	return again, nil
}

// missingAdjustments lists those that MySQL has applied and the log, up to its seq, does not have.
func missingAdjustments(r *rows, c *cache) []string {
	var ids []string
	for id, a := range r.adjustments {
		if l := c.adjustments[id]; a.status == "APPLIED" && (l == nil || l.undone) {
			ids = append(ids, id)
		}
	}
	return ids
}
