package stock

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
)

// ErrBucketShort is returned when a bucket row has not the units that a change takes from it. The transaction must be rolled
// back: other buckets of the same change may have been written.
var ErrBucketShort = errors.New("stock: a bucket is short in the database")

// BucketKey names one row of stock_bucket.
type BucketKey struct {
	ActivityID, TicketType string
	Bucket                 int
}

// TypeKey names the rows of one ticket type.
type TypeKey struct{ ActivityID, TicketType string }

// BucketChange is what happens to one bucket: units frozen for unpaid orders, units sold.
type BucketChange struct{ Frozen, Sold int }

// BucketChanges collects what a transaction does to buckets, so that each row is written once.
type BucketChanges map[BucketKey]BucketChange

// Add counts a change of as many units in each bucket as the allocations say, times the signs: (1, 0) freezes them, (-1, 1) sells
// what was frozen, (-1, 0) and (0, -1) set them free.
func (c BucketChanges) Add(activityID, ticketType string, allocations sale.Allocations, frozen, sold int) {
	for _, a := range allocations {
		k := BucketKey{activityID, ticketType, a.Bucket}
		old := c[k]
		c[k] = BucketChange{old.Frozen + frozen*a.Count, old.Sold + sold*a.Count}
	}
}

// BucketRow is one row of stock_bucket: units as first set, the sum of adjustments, units of unpaid and of paid orders.
type BucketRow struct {
	BucketKey
	Capacity, Adjusted, Frozen, Sold int
}

// Free is how many units of the bucket no order has.
func (b BucketRow) Free() int { return b.Capacity + b.Adjusted - b.Frozen - b.Sold }

// ChangeBuckets applies the changes in order of key, in one conditional statement per ticket type: a row that would hold more
// than its capacity, or less than nothing, is not written, and then ErrBucketShort is returned. All rows of a type are locked by
// one statement because the time between the first of these locks and the end of the transaction is what bounds the sale.
func ChangeBuckets(ctx context.Context, tx *sql.Tx, changes BucketChanges, now time.Time) error {
	for _, group := range changes.byType() {
		if err := changeType(ctx, tx, group, changes, now); err != nil {
			return err
		}
	}
	return nil
}

// byType gives the keys of real changes, sorted, one slice per ticket type.
func (c BucketChanges) byType() [][]BucketKey {
	keys := make([]BucketKey, 0, len(c))
	for k, change := range c {
		if change != (BucketChange{}) {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, compareBuckets)
	var out [][]BucketKey
	for len(keys) > 0 {
		n := 1
		for n < len(keys) && keys[n].ActivityID == keys[0].ActivityID && keys[n].TicketType == keys[0].TicketType {
			n++
		}
		out, keys = append(out, keys[:n]), keys[n:]
	}
	return out
}

func compareBuckets(a, b BucketKey) int {
	return cmp.Or(strings.Compare(a.ActivityID, b.ActivityID), strings.Compare(a.TicketType, b.TicketType), cmp.Compare(a.Bucket, b.Bucket))
}

func changeType(ctx context.Context, tx *sql.Tx, keys []BucketKey, changes BucketChanges, now time.Time) error {
	set, gate, total := "", "", "frozen + sold"
	add := func(column string, by func(BucketChange) int) {
		if text := perBucket(keys, changes, by); text != "" {
			set += column + " = " + column + " + " + text + ", "
			gate += " AND " + column + " + " + text + " >= 0"
			total += " + " + text
		}
	}
	add("frozen", func(c BucketChange) int { return c.Frozen })
	add("sold", func(c BucketChange) int { return c.Sold })
	numbers := make([]string, len(keys))
	for i, k := range keys {
		numbers[i] = strconv.Itoa(k.Bucket)
	}
	result, err := tx.ExecContext(ctx, `UPDATE stock_bucket SET `+set+`updated_at = ? WHERE activity_id = ? AND ticket_type = ?
 AND bucket IN (`+strings.Join(numbers, ",")+`) AND `+total+` <= capacity + adjusted`+gate, now, keys[0].ActivityID, keys[0].TicketType)
	return allRows(result, err, len(keys))
}

// perBucket writes what is added to a column in each bucket, as an expression; "" when it is nothing in all of them.
func perBucket(keys []BucketKey, changes BucketChanges, by func(BucketChange) int) string {
	text, some := "CASE bucket", false
	for _, k := range keys {
		n := by(changes[k])
		text += fmt.Sprintf(" WHEN %d THEN %d", k.Bucket, n)
		some = some || n != 0
	}
	if !some {
		return ""
	}
	return text + " END"
}

func allRows(result sql.Result, err error, want int) error {
	if err != nil {
		return fmt.Errorf("stock: change buckets: %w", err)
	}
	got, err := result.RowsAffected()
	if err != nil {
		return fmt.Errorf("stock: change buckets: %w", err)
	}
	if got != int64(want) {
		return fmt.Errorf("%w: %d of %d rows changed", ErrBucketShort, got, want)
	}
	return nil
}

const bucketColumns = `SELECT activity_id, ticket_type, bucket, capacity, adjusted, frozen, sold FROM stock_bucket`

// LockBuckets locks all bucket rows of these types, in order of key, and returns them by type.
func LockBuckets(ctx context.Context, tx *sql.Tx, types []TypeKey) (map[TypeKey][]BucketRow, error) {
	types = slices.Clone(types)
	slices.SortFunc(types, func(a, b TypeKey) int {
		return cmp.Or(strings.Compare(a.ActivityID, b.ActivityID), strings.Compare(a.TicketType, b.TicketType))
	})
	out := make(map[TypeKey][]BucketRow, len(types))
	for _, t := range slices.Compact(types) {
		found, err := queryBuckets(ctx, tx, bucketColumns+` WHERE activity_id = ? AND ticket_type = ? ORDER BY bucket FOR UPDATE`,
			t.ActivityID, t.TicketType)
		if err != nil {
			return nil, err
		}
		out[t] = found
	}
	return out, nil
}

// Buckets reads all bucket rows of an activity as last committed, by ticket type and bucket.
func Buckets(ctx context.Context, q sqltx.Querier, activityID string) ([]BucketRow, error) {
	return queryBuckets(ctx, q, bucketColumns+` WHERE activity_id = ? ORDER BY ticket_type, bucket`, activityID)
}

func queryBuckets(ctx context.Context, q sqltx.Querier, query string, args ...any) ([]BucketRow, error) {
	found, err := sqltx.Collect(ctx, q, scanBucket, query, args...)
	if err != nil {
		return nil, fmt.Errorf("stock: read buckets: %w", err)
	}
	return found, nil
}

func scanBucket(row sqltx.Scanner) (b BucketRow, err error) {
	err = row.Scan(&b.ActivityID, &b.TicketType, &b.Bucket, &b.Capacity, &b.Adjusted, &b.Frozen, &b.Sold)
	return b, err
}
