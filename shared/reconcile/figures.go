package reconcile

import (
	"context"
	"fmt"
	"time"

	"holdfast/shared/order"
	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
	"holdfast/shared/stock"
)

// Figures is one reading of an activity's stock from both stores. Both go on moving meanwhile, so a difference that the next
// reading does not show was a movement under way; only what stays is unexplained.
type Figures struct {
	Now   time.Time // the clock of Redis when its counters were read
	Types []TypeFigures
}

// TypeFigures is the stock of one ticket type, bucket by bucket.
type TypeFigures struct {
	TicketType string
	Buckets    []BucketFigures
}

// BucketFigures is one bucket in units.
type BucketFigures struct {
	Bucket    int
	Capacity  int // as first set, with adjustments
	Frozen    int // MySQL: of unpaid orders
	Sold      int // MySQL: of paid orders
	Available int // Redis: left
	Pending   int // taken in Redis and not counted in MySQL, or given back in MySQL and not in Redis yet
}

// Difference is what nothing explains: 0 when both stores agree.
func (b BucketFigures) Difference() int {
	return b.Available + b.Pending + b.Frozen + b.Sold - b.Capacity
}

// Sizes of one reading.
const (
	pendingPage = 500
	recent      = 5 * time.Second // how long a transaction that creates orders may have run before it shows
)

// bucketKey names a bucket of the activity that is read.
type bucketKey struct {
	ticketType string
	bucket     int
}

// ReadFigures reads an activity that has left DRAFT. Redis is read first: its log says at which sequence number, so that orders
// taken later can be told from those that its counters know. It returns stock.ErrNotLoaded while Redis has not all of the
// activity, and the errors of both stores.
func ReadFigures(ctx context.Context, db *sqltx.DB, st *stock.Store, a *sale.Activity) (Figures, error) {
	began, err := db.Now(ctx, db)
	if err != nil {
		return Figures{}, err
	}
	facts := a.Facts()
	snapshot, err := st.Snapshot(ctx, &facts)
	if err != nil {
		return Figures{}, fmt.Errorf("reading the counters: %w", err)
	}
	if snapshot.State != stock.Open {
		return Figures{}, stock.ErrNotLoaded
	}
	moving := make(map[bucketKey]int)
	if err := addPending(ctx, db, st, a.ID, snapshot.Seq, moving); err != nil {
		return Figures{}, err
	}
	if err := addRecent(ctx, db, st, a.ID, snapshot.Seq, began, moving); err != nil {
		return Figures{}, err
	}
	rows, err := stock.Buckets(ctx, db, a.ID)
	if err != nil {
		return Figures{}, err
	}
	return assemble(a, snapshot, rows, moving), nil
}

// addPending counts what Redis holds for orders that it does not know to be committed: all of it where there is no row, the
// difference between both allocations where the row is live.
func addPending(ctx context.Context, db *sqltx.DB, st *stock.Store, activityID string, seq int64, moving map[bucketKey]int) error {
	for cursor := (stock.PendingCursor{}); ; {
		ids, next, err := st.PendingBefore(ctx, activityID, 0, cursor, pendingPage)
		if err != nil {
			return fmt.Errorf("reading pending entries: %w", err)
		}
		if len(ids) == 0 {
			return nil
		}
		entries, err := st.Entries(ctx, activityID, ids)
		if err != nil {
			return fmt.Errorf("reading pending entries: %w", err)
		}
		orders, err := order.GetMany(ctx, db, ids)
		if err != nil {
			return err
		}
		for _, entry := range entries {
			r := entry.Reservation
			if !entry.Found || !entry.HasTaken || entry.Standing == stock.Dead || r.Seq > seq {
				continue
			}
			o, known := orders[r.OrderID]
			if known && !o.Status.Live() {
				continue // counted with the cancelled ones
			}
			add(moving, r.TicketType, r.Allocations, 1)
			if known {
				add(moving, o.TicketType, o.Allocations, -1)
			}
		}
		if len(ids) < pendingPage {
			return nil
		}
		cursor = next
	}
}

// addRecent counts orders of which MySQL is ahead: taken after the counters were read, or cancelled and not given back yet.
func addRecent(ctx context.Context, db *sqltx.DB, st *stock.Store, activityID string, seq int64, began time.Time, moving map[bucketKey]int) error {
	var cancelled []order.Order
	for cursor := (order.Cursor{}); ; {
		changed, next, err := order.ChangedSince(ctx, db, activityID, began.Add(-recent), cursor, pendingPage)
		if err != nil {
			return err
		}
		for _, o := range changed {
			switch {
			case o.Status.Live() && o.Seq > seq:
				add(moving, o.TicketType, o.Allocations, -1)
			case o.Status == order.Cancelled && o.ReleasedAt == nil && o.Seq <= seq:
				cancelled = append(cancelled, o)
			}
		}
		if len(changed) < pendingPage {
			break
		}
		cursor = next
	}
	older, err := order.Unreleased(ctx, db, sale.OrderID{}, began.Add(-recent), pendingPage)
	if err != nil {
		return err
	}
	for _, o := range older {
		if o.ActivityID == activityID && o.UpdatedAt.Before(began.Add(-recent)) {
			cancelled = append(cancelled, o)
		}
	}
	return addUnreleased(ctx, st, activityID, cancelled, moving)
}

// addUnreleased counts the cancelled orders that Redis still holds units for.
func addUnreleased(ctx context.Context, st *stock.Store, activityID string, cancelled []order.Order, moving map[bucketKey]int) error {
	for len(cancelled) > 0 {
		n := min(len(cancelled), pendingPage)
		ids := make([]sale.OrderID, n)
		for i, o := range cancelled[:n] {
			ids[i] = o.ID
		}
		entries, err := st.Entries(ctx, activityID, ids)
		if err != nil {
			return fmt.Errorf("reading unreleased entries: %w", err)
		}
		for _, entry := range entries {
			if entry.Found && entry.HasTaken && entry.Standing != stock.Dead {
				add(moving, entry.Reservation.TicketType, entry.Reservation.Allocations, 1)
			}
		}
		cancelled = cancelled[n:]
	}
	return nil
}

func add(moving map[bucketKey]int, ticketType string, allocations sale.Allocations, sign int) {
	for _, a := range allocations {
		moving[bucketKey{ticketType, a.Bucket}] += sign * a.Count
	}
}

// assemble puts the figures into the operator's order of types.
func assemble(a *sale.Activity, snapshot stock.Snapshot, rows []stock.BucketRow, moving map[bucketKey]int) Figures {
	byType := make(map[string][]BucketFigures)
	for _, row := range rows {
		b := BucketFigures{Bucket: row.Bucket, Capacity: row.Capacity + row.Adjusted, Frozen: row.Frozen, Sold: row.Sold,
			Pending: moving[bucketKey{row.TicketType, row.Bucket}]}
		if left := snapshot.Types[row.TicketType].Buckets; row.Bucket < len(left) {
			b.Available = left[row.Bucket]
		}
		byType[row.TicketType] = append(byType[row.TicketType], b)
	}
	out := Figures{Now: snapshot.Now}
	for _, t := range a.TicketTypes {
		out.Types = append(out.Types, TypeFigures{TicketType: t.ID, Buckets: byType[t.ID]})
	}
	return out
}
