package checkout_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"holdfast/shared/checkout"
	"holdfast/shared/testenv"
)

// BenchmarkCreateOrders compares orders per second of batches of 100 with one transaction per order that writes the same rows, on
// a MariaDB that flushes at every commit: eight buckets, the same number of writers.
func BenchmarkCreateOrders(b *testing.B) {
	server := testenv.OwnMariaDB(b)
	for _, size := range []int{1, 100} {
		for _, writers := range []int{1, 4} {
			b.Run(fmt.Sprintf("batch=%d/writers=%d", size, writers), func(b *testing.B) {
				w := newWorld(b, plan{capacity: 1_000_000, buckets: 8, dsn: server.DSN, unloaded: true})
				work := make(chan []checkout.Message, 10000)
				orders := 0
				for i := range b.N {
					var batch []checkout.Message
					for j := range size {
						batch = append(batch, w.message(fmt.Sprintf("user-%d-%d", i, j), "k", 1))
						orders++
					}
					work <- batch
				}
				close(work)
				b.ResetTimer()
				began := time.Now()
				var group sync.WaitGroup
				for range writers {
					group.Go(func() {
						for batch := range work {
							out, err := w.checkout.CreateOrders(b.Context(), batch)
							if err != nil || len(out.Live) != len(batch) {
								b.Errorf("%d live of %d: %v", len(out.Live), len(batch), err)
							}
						}
					})
				}
				group.Wait()
				b.ReportMetric(float64(orders)/time.Since(began).Seconds(), "orders/s")
			})
		}
	}
}
