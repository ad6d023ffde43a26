package checkout_test

import (
	"fmt"
	"sync"
	"testing"

	"holdfast/shared/checkout"
	"holdfast/shared/sqltx"
	"holdfast/shared/testenv"
)

// RDS Proxy pins a session on any statement above 16 KB.
func TestNoStatementOfALargeBatchIsLongerThanFifteenKilobytes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{capacity: 100_000, buckets: 64, unloaded: true})
	proxy, dsn := testenv.ProxyMySQL(t, w.dsn)
	through := checkout.New(w.open(dsn), w.stock, w.catalog, nil)
	var mu sync.Mutex
	longest := 0
	proxy.CutBefore(func(chunk []byte) bool {
		mu.Lock()
		defer mu.Unlock()
		if len(chunk) > 5 && chunk[3] == 0 && chunk[4] == 3 { // the first packet of a query; its length comes first
			longest = max(longest, int(chunk[0])|int(chunk[1])<<8|int(chunk[2])<<16)
		}
		return false
	})
	var batch []checkout.Message
	for i := range 300 {
		batch = append(batch, w.messageFrom(fmt.Sprintf("%0100d'\"\\\n", i), "k", 1, i%64))
	}
	if out, err := through.CreateOrders(t.Context(), batch); err != nil || len(out.Live) != 300 {
		t.Fatalf("%d live, %v", len(out.Live), err)
	}
	short := w.activity.ID
	if _, err := w.db.ExecContext(t.Context(), "UPDATE stock_bucket SET adjusted = frozen + 10 - capacity WHERE activity_id = ? AND bucket < 10", short); err != nil {
		t.Fatal(err)
	}
	batch = batch[:0]
	for i := range 300 { // short buckets: the batch is judged, and most of it moved
		batch = append(batch, w.messageFrom(fmt.Sprintf("%0100d'\"\\\n", i), "again", 1, i%10))
	}
	if out, err := through.CreateOrders(t.Context(), batch); err != nil || len(out.Live) != 300 {
		t.Fatalf("%d live, %v", len(out.Live), err)
	}
	mu.Lock()
	defer mu.Unlock()
	if longest > sqltx.MaxStatement || longest < sqltx.MaxStatement/2 {
		t.Errorf("the longest statement has %d bytes", longest)
	}
	w.agreeInMySQL()
}
