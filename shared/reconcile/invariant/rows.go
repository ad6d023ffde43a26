package invariant

import (
	"context"
	"fmt"
	"time"

	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
)

// bucketKey names a bucket within the activity.
type bucketKey struct {
	ticketType string
	bucket     int
}

func (k bucketKey) String() string { return fmt.Sprintf("bucket %s:%d", k.ticketType, k.bucket) }

// bucketRow is one row of stock_bucket.
type bucketRow struct{ capacity, adjusted, frozen, sold int }

// orderRow is what the equations need of one order.
type orderRow struct {
	id          sale.OrderID
	userID      string
	ticketType  string
	quantity    int
	allocations sale.Allocations
	status      string
	deadline    *time.Time
	cancelledAt *time.Time
	releasedAt  *time.Time
}

func (o *orderRow) live() bool { return o.status != "CANCELLED" }

// movement is one row of stock_log.
type movement struct {
	action string
	change int
}

// rows is all that MySQL knows of one activity.
type rows struct {
	now       time.Time
	buckets   map[bucketKey]bucketRow
	orders    map[sale.OrderID]*orderRow
	routers   map[sale.OrderID]string // order -> user
	held      map[string]int          // purchase_limit: user -> quantity
	limit     int
	taken     map[sale.OrderID]movement
	givenBack map[sale.OrderID]movement
}

// readRows reads MySQL's side.
func readRows(ctx context.Context, db *sqltx.DB, activity *sale.Activity) (*rows, error) {
	now, err := db.Now(ctx, db)
	if err != nil {
		return nil, err
	}
	r := &rows{now: now, limit: activity.PerUserLimit,
		buckets: make(map[bucketKey]bucketRow), orders: make(map[sale.OrderID]*orderRow), routers: make(map[sale.OrderID]string),
		held: make(map[string]int), taken: make(map[sale.OrderID]movement), givenBack: make(map[sale.OrderID]movement)}
	for _, read := range []func(context.Context, *sqltx.DB, string) error{r.readBuckets, r.readOrders, r.readRouters, r.readLimits, r.readLog} {
		if err := read(ctx, db, activity.ID); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// each runs a query with the activity's id and hands every row to scan.
func each(ctx context.Context, db *sqltx.DB, query, activityID string, scan func(func(...any) error) error) error {
	result, err := db.QueryContext(ctx, query, activityID)
	if err != nil {
		return err
	}
	defer result.Close()
	for result.Next() {
		if err := scan(result.Scan); err != nil {
			return err
		}
	}
	return result.Err()
}

func (r *rows) readBuckets(ctx context.Context, db *sqltx.DB, activityID string) error {
	return each(ctx, db, `SELECT ticket_type, bucket, capacity, adjusted, frozen, sold FROM stock_bucket WHERE activity_id = ?`, activityID,
		func(scan func(...any) error) error {
			var key bucketKey
			var b bucketRow
			err := scan(&key.ticketType, &key.bucket, &b.capacity, &b.adjusted, &b.frozen, &b.sold)
			r.buckets[key] = b
			return err
		})
}

func (r *rows) readOrders(ctx context.Context, db *sqltx.DB, activityID string) error {
	return each(ctx, db, `SELECT id, user_id, ticket_type, quantity, allocations, status, pay_deadline, cancelled_at, released_at
		FROM trade_order WHERE activity_id = ?`, activityID,
		func(scan func(...any) error) error {
			var o orderRow
			var id []byte
			var allocations string
			err := scan(&id, &o.userID, &o.ticketType, &o.quantity, &allocations, &o.status, &o.deadline, &o.cancelledAt, &o.releasedAt)
			if err != nil {
				return err
			}
			if o.id, err = sale.OrderIDFromBytes(id); err != nil {
				return err
			}
			if o.allocations, err = sale.ParseAllocations(allocations); err != nil {
				return fmt.Errorf("order %s: %w", o.id, err)
			}
			r.orders[o.id] = &o
			return nil
		})
}

func (r *rows) readRouters(ctx context.Context, db *sqltx.DB, activityID string) error {
	return each(ctx, db, `SELECT order_id, user_id FROM order_router WHERE activity_id = ?`, activityID,
		func(scan func(...any) error) error {
			var id []byte
			var user string
			if err := scan(&id, &user); err != nil {
				return err
			}
			orderID, err := sale.OrderIDFromBytes(id)
			r.routers[orderID] = user
			return err
		})
}

func (r *rows) readLimits(ctx context.Context, db *sqltx.DB, activityID string) error {
	return each(ctx, db, `SELECT user_id, quantity FROM purchase_limit WHERE activity_id = ?`, activityID,
		func(scan func(...any) error) error {
			var user string
			var quantity int
			err := scan(&user, &quantity)
			r.held[user] = quantity
			return err
		})
}

func (r *rows) readLog(ctx context.Context, db *sqltx.DB, activityID string) error {
	return each(ctx, db, `SELECT order_id, direction, action, change_quantity FROM stock_log WHERE activity_id = ?`, activityID,
		func(scan func(...any) error) error {
			var id []byte
			var direction int
			var m movement
			if err := scan(&id, &direction, &m.action, &m.change); err != nil {
				return err
			}
			orderID, err := sale.OrderIDFromBytes(id)
			if direction < 0 {
				r.taken[orderID] = m
			} else {
				r.givenBack[orderID] = m
			}
			return err
		})
}
