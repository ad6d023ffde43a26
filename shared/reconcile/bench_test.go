package reconcile_test

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/shared/reconcile"
)

// BenchmarkReconcileOfAMillionEntries reconciles a sale of a million orders, each of another buyer. It reports the seconds that the first
// run takes, which writes statuses too, and that a later one takes, and the megabytes of heap in use at most.
//
//	bin/holdfast servers -- go test ./shared/reconcile -run - -bench Million -benchtime 1x
func BenchmarkReconcileOfAMillionEntries(b *testing.B) {
	const entries = 1_000_000
	w := newWorld(b, plan{capacity: 2 * entries, buckets: 64})
	w.fill(entries)
	for b.Loop() {
		peak, stop := watchHeap()
		for _, name := range []string{"s/first", "s/later"} {
			began := time.Now()
			run := w.reconcileNow(reconcile.Repairing)
			b.ReportMetric(time.Since(began).Seconds(), name)
			if run.Checked != entries || run.Consistent != entries || run.Differences != 0 {
				b.Fatalf("%+v", run)
			}
		}
		stop()
		b.ReportMetric(float64(peak.Load())/(1<<20), "MB-heap")
	}
}

// watchHeap samples the heap in use until it is stopped.
func watchHeap() (peak *atomic.Uint64, stop func()) {
	peak = new(atomic.Uint64)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(50 * time.Millisecond):
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				peak.Store(max(peak.Load(), m.HeapInuse))
			}
		}
	}()
	return peak, func() { close(done) }
}

// fill makes so many unpaid orders of one unit in both stores, without going through the sale.
func (w *world) fill(n int) {
	w.t.Helper()
	const buckets = 64
	id := `UNHEX(CONCAT(LPAD(HEX(?), 12, '0'), '80008000', LPAD(HEX(seq), 12, '0')))`
	at, number := time.Now().UTC().Add(-time.Hour), w.activity.Number
	for first := 1; first <= n; first += 20_000 { // a statement of all would outlast the time-out of the connection
		from := fmt.Sprintf(` FROM seq_%d_to_%d`, first, first+20_000-1)
		w.exec(`INSERT INTO trade_order (id, activity_id, ticket_type, user_id, quantity, allocations, unit_price, amount, currency, mode, source,
			status, seq, reserved_at, created_at, updated_at) SELECT `+id+`, ?, ?, CONCAT('buyer-', seq), 1, CONCAT(seq % 64, ':1'), 1, 1, 'CNY',
			'LIVE', 'SALE', 'UNPAID', seq, ?, ?, ?`+from, number, w.activity.ID, ticket, at, at, at)
		w.exec(`INSERT INTO stock_log (order_id, direction, action, activity_id, ticket_type, user_id, allocations, change_quantity, business_type,
			created_at, updated_at) SELECT `+id+`, -1, 'FREEZE', ?, ?, CONCAT('buyer-', seq), CONCAT(seq % 64, ':1'), -1, 1, ?, ?`+from,
			number, w.activity.ID, ticket, at, at)
		w.exec(`INSERT INTO purchase_limit (activity_id, user_id, quantity, max_quantity, updated_at) SELECT ?, CONCAT('buyer-', seq), 1, 10, ?`+from,
			w.activity.ID, at)
	}
	var taken [buckets]int
	for first := 1; first <= n; first += 1000 {
		pipe := w.rdb.Pipeline()
		var log, marks []any
		for seq := first; seq < first+1000; seq++ {
			var key [16]byte
			binary.BigEndian.PutUint64(key[:8], uint64(number)<<16|0x8000)
			binary.BigEndian.PutUint64(key[8:], 0x8000<<48|uint64(seq))
			field := "t" + string(key[:])
			log = append(log, field, fmt.Sprintf("%d 1 -1 %s %d:1 ubuyer-%d", seq, ticket, seq%buckets, seq))
			marks = append(marks, fmt.Sprint("ubuyer-", seq), "1"+field)
			taken[seq%buckets]++
		}
		pipe.HSet(w.t.Context(), w.key("log"), log...)
		pipe.HSet(w.t.Context(), w.key("buyers"), marks...)
		if _, err := pipe.Exec(w.t.Context()); err != nil {
			w.t.Fatal(err)
		}
	}
	w.must(w.rdb.HIncrBy(w.t.Context(), w.key("rules"), "left:"+ticket, int64(-n)).Err())
	for bucket, units := range taken {
		w.must(w.rdb.HIncrBy(w.t.Context(), w.key("rules"), fmt.Sprint("left:", ticket, ":", bucket), int64(-units)).Err())
		w.exec("UPDATE stock_bucket SET frozen = ? WHERE bucket = ?", units, bucket)
	}
}
