package stock_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"holdfast/shared/audit"
	"holdfast/shared/catalog"
	"holdfast/shared/money"
	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
	"holdfast/shared/stock"
	"holdfast/shared/testenv"
)

// rows is one test's own database with an activity of two types: A of 7 units in three buckets (3, 2, 2), B of 4 in two.
type rows struct {
	t  *testing.T
	db *sqltx.DB
	id string
}

func newRows(t *testing.T) *rows {
	t.Helper()
	db, err := sqltx.Open(testenv.MySQLDSN(t))
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(8)
	t.Cleanup(func() { _ = db.Close() })
	r := &rows{t: t, db: sqltx.New(db, nil), id: testenv.ActivityID(t)}
	price := money.Of(decimal.RequireFromString("1.00"), "CNY")
	_, _, err = catalog.New(r.db).Create(t.Context(), sale.Activity{ID: r.id, Kind: sale.Ticket, Mode: sale.Live, Title: "A concert",
		OpensAt: time.Now(), ClosesAt: time.Now().Add(time.Hour), PerUserLimit: 9, PayWindow: time.Minute, Currency: "CNY",
		TicketTypes: []sale.TicketType{
			{ID: "B", Title: "B", Price: price, Capacity: 4, Buckets: 2},
			{ID: "A", Title: "A", Price: price, Capacity: 7, Buckets: 3}}}, audit.Entry{Operator: "op", RequestID: "r"})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// change runs changes in a transaction: of each kind "type bucket frozen sold".
func (r *rows) change(list ...string) error {
	changes := make(stock.BucketChanges)
	for _, text := range list {
		var k stock.BucketKey
		var frozen, sold int
		if _, err := fmt.Sscan(text, &k.TicketType, &k.Bucket, &frozen, &sold); err != nil {
			r.t.Fatal(err)
		}
		k.ActivityID = r.id
		changes[k] = stock.BucketChange{Frozen: frozen, Sold: sold}
	}
	return r.db.Run(r.t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		return stock.ChangeBuckets(ctx, tx, changes, time.Now())
	})
}

// stand reads all buckets as "type:bucket free/frozen/sold".
func (r *rows) stand() string {
	r.t.Helper()
	found, err := stock.Buckets(r.t.Context(), r.db, r.id)
	if err != nil {
		r.t.Fatal(err)
	}
	text := ""
	for _, b := range found {
		text += fmt.Sprintf("%s%d %d/%d/%d ", b.TicketType, b.Bucket, b.Free(), b.Frozen, b.Sold)
	}
	return text
}

func TestBucketsChangeTogetherOrNotAtAll(t *testing.T) {
	t.Parallel()
	r := newRows(t)
	if err := r.change("A 0 2 0", "A 1 1 0", "B 1 0 2"); err != nil {
		t.Fatal(err)
	}
	stands := "A0 1/2/0 A1 1/1/0 A2 2/0/0 B0 2/0/0 B1 0/0/2 "
	if got := r.stand(); got != stands {
		t.Fatalf("got %s", got)
	}
	for name, changes := range map[string][]string{
		"more than a bucket holds":       {"A 0 1 0", "A 1 2 0"},
		"frozen and sold beyond it":      {"A 2 1 0", "A 0 1 1"},
		"another type is short":          {"A 0 1 0", "B 1 1 0"},
		"more given back than is frozen": {"A 0 1 0", "A 2 -1 0"},
		"more given back than is sold":   {"B 0 0 -1"},
		"a bucket that is not there":     {"A 0 1 0", "A 3 1 0"},
	} {
		if err := r.change(changes...); !errors.Is(err, stock.ErrBucketShort) {
			t.Errorf("%s: %v", name, err)
		}
		if got := r.stand(); got != stands {
			t.Errorf("%s: left %s", name, got)
		}
	}
}

func TestFrozenUnitsAreSoldAndSetFree(t *testing.T) {
	t.Parallel()
	r := newRows(t)
	for _, step := range []struct{ change, stands string }{
		{"A 0 3 0", "A0 0/3/0"},
		{"A 0 -2 2", "A0 0/1/2"},
		{"A 0 -1 0", "A0 1/0/2"},
		{"A 0 0 -2", "A0 3/0/0"},
	} {
		if err := r.change(step.change); err != nil {
			t.Fatalf("%s: %v", step.change, err)
		}
		if got := r.stand()[:len(step.stands)]; got != step.stands {
			t.Fatalf("%s: %s", step.change, got)
		}
	}
	if err := r.change("A 0 0 0"); err != nil {
		t.Errorf("no change at all: %v", err)
	}
}

func TestBucketsGiveOutExactlyWhatTheyHoldToManyAtOnce(t *testing.T) {
	t.Parallel()
	r := newRows(t)
	var group sync.WaitGroup
	var mu sync.Mutex
	given := 0
	for i := range 24 {
		group.Go(func() {
			err := r.change(fmt.Sprintf("A %d 1 0", i%3), fmt.Sprintf("B %d 1 0", i%2))
			if err != nil && !errors.Is(err, stock.ErrBucketShort) {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				given++
			}
		})
	}
	group.Wait()
	if given < 2 || given > 4 {
		t.Errorf("%d were given out", given)
	}
	if n := r.sum("A"); n != given || r.sum("B") != given {
		t.Errorf("%d and %d units are frozen for %d", n, r.sum("B"), given)
	}
}

func (r *rows) sum(ticketType string) (frozen int) {
	r.t.Helper()
	err := r.db.QueryRowContext(r.t.Context(), "SELECT SUM(frozen) FROM stock_bucket WHERE ticket_type = ?", ticketType).Scan(&frozen)
	if err != nil {
		r.t.Fatal(err)
	}
	return frozen
}

func TestLockedBucketsAreReadByTypeInOrder(t *testing.T) {
	t.Parallel()
	r := newRows(t)
	a, b := stock.TypeKey{ActivityID: r.id, TicketType: "A"}, stock.TypeKey{ActivityID: r.id, TicketType: "B"}
	err := r.db.Run(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		found, err := stock.LockBuckets(ctx, tx, []stock.TypeKey{b, a, b})
		if err != nil {
			return err
		}
		if len(found) != 2 || len(found[a]) != 3 || len(found[b]) != 2 || found[a][0].Free() != 3 || found[a][2].Bucket != 2 {
			t.Errorf("got %+v", found)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
