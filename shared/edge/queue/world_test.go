package queue_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/go-sql-driver/mysql"
	"github.com/redis/go-redis/v9"

	"holdfast/infra/local/sqs"
	"holdfast/shared/audit"
	"holdfast/shared/edge"
	"holdfast/shared/edge/boot"
	"holdfast/shared/edge/queue"
	"holdfast/shared/money"
	"holdfast/shared/order"
	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
	"holdfast/shared/stock"
	"holdfast/shared/testenv"
)

// world is a sale on real stores with real queues, each of which can fail.
type world struct {
	t       *testing.T
	d       edge.Deps
	orders  *sqs.Queue
	letters *sqs.Queue
	fault   atomic.Value // sqs.Mode of every send
	later   atomic.Int64 // how far the clock of the queues is ahead
	mysql   *testenv.TCPProxy
}

// Next implements sqs.Faults.
func (w *world) Next(point string) sqs.Mode {
	mode, _ := w.fault.Load().(sqs.Mode)
	if point != sqs.PointSend {
		return sqs.None
	}
	return mode
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t}
	server, err := sqs.Start(sqs.Options{Faults: w, Now: func() time.Time { return time.Now().Add(time.Duration(w.later.Load())) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	if w.letters, err = server.CreateQueue("letters", nil); err != nil {
		t.Fatal(err)
	}
	if w.orders, err = server.CreateQueue("orders", map[string]string{"VisibilityTimeout": "30"}); err != nil {
		t.Fatal(err)
	}
	dsn, err := mysql.ParseDSN(testenv.MySQLDSN(t))
	if err != nil {
		t.Fatal(err)
	}
	w.mysql = testenv.Proxy(t, dsn.Addr)
	dsn.Addr = w.mysql.Addr
	dsn.Timeout, dsn.ReadTimeout, dsn.WriteTimeout = 0, 0, 0 // those of production
	db, err := sqltx.Open(dsn.FormatDSN())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	cache := redis.NewUniversalClient(boot.RedisOptions(testenv.RedisAddr(t)))
	t.Cleanup(func() { _ = cache.Close() })
	carrier := queue.NewSQS(boot.LocalSQS(server.Endpoint()), w.orders.URL(), w.letters.URL())
	w.d = boot.Assemble(db, cache, carrier, nil, slog.New(slog.DiscardHandler))
	return w
}

// sale makes a loaded activity of ten units.
func (w *world) sale() *sale.Activity {
	w.t.Helper()
	price, err := money.Parse("12.50", "CNY")
	if err != nil {
		w.t.Fatal(err)
	}
	now := time.Now()
	draft := sale.Activity{ID: testenv.ActivityID(w.t), Kind: sale.Ticket, Mode: sale.Live, Title: "A sale", OpensAt: now.Add(-time.Hour),
		ClosesAt: now.Add(time.Hour), PerUserLimit: 4, PayWindow: 15 * time.Minute, Currency: "CNY",
		TicketTypes: []sale.TicketType{{ID: "STANDARD", Title: "Standard", Price: price, Capacity: 20, Buckets: 2}}}
	by := audit.Entry{Operator: "op", RequestID: "r"}
	if _, _, err := w.d.Catalog.Create(w.t.Context(), draft, by); err != nil {
		w.t.Fatal(err)
	}
	a, _, err := w.d.Catalog.Transition(w.t.Context(), draft.ID, sale.Published, by)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := w.d.Reconcile.Load(w.t.Context(), a.ID); err != nil {
		w.t.Fatal(err)
	}
	return a
}

// reserve takes one unit for each of n users: reservations whose messages are still to be sent.
func (w *world) reserve(a *sale.Activity, n int) []sale.Reservation {
	w.t.Helper()
	f := a.Facts()
	taken := make([]sale.Reservation, n)
	for i := range taken {
		user := fmt.Sprint("u", i)
		got, err := w.d.Stock.Reserve(w.t.Context(), &f, stock.ReserveRequest{OrderID: f.OrderID(user, "k"), UserID: user,
			TicketType: "STANDARD", Quantity: 1})
		if err != nil {
			w.t.Fatal(err)
		}
		taken[i] = got.Reservation
	}
	return taken
}

// batch writes messages as the event source does.
func (w *world) batch(bodies ...string) []events.SQSMessage {
	out := make([]events.SQSMessage, len(bodies))
	for i, body := range bodies {
		out[i] = events.SQSMessage{MessageId: fmt.Sprint("m", i), Body: body, EventSource: "aws:sqs", EventSourceARN: w.orders.ARN(),
			Attributes: map[string]string{"ApproximateReceiveCount": "1"}}
	}
	return out
}

func (w *world) bodies(taken []sale.Reservation) []string {
	w.t.Helper()
	out := make([]string, len(taken))
	for i, r := range taken {
		body, err := queue.Encode(r)
		if err != nil {
			w.t.Fatal(err)
		}
		out[i] = string(body)
	}
	return out
}

// run gives the handler a batch and returns its answer.
func (w *world) run(h lambda.Handler, records []events.SQSMessage) string {
	w.t.Helper()
	payload, err := json.Marshal(events.SQSEvent{Records: records})
	if err != nil {
		w.t.Fatal(err)
	}
	answer, err := h.Invoke(context.Background(), payload)
	if err != nil {
		w.t.Fatal(err)
	}
	return string(answer)
}

// received takes what lies in a queue now, for good, with what SQS would tell a consumer of it.
func (w *world) received(q *sqs.Queue) []events.SQSMessage {
	w.t.Helper()
	var out []events.SQSMessage
	for {
		got, err := q.Receive(w.t.Context(), 10, 0)
		if err != nil {
			w.t.Fatal(err)
		}
		if len(got) == 0 {
			return out
		}
		for i := range got {
			record := events.SQSMessage{MessageId: got[i].ID, Body: got[i].Body, Attributes: got[i].SystemAttributes(),
				EventSourceARN: q.ARN(), MessageAttributes: map[string]events.SQSMessageAttribute{}}
			for name, value := range got[i].Attributes {
				record.MessageAttributes[name] = events.SQSMessageAttribute{DataType: value.DataType, StringValue: value.StringValue}
			}
			if err := q.Delete(w.t.Context(), got[i].Receipt); err != nil {
				w.t.Fatal(err)
			}
			out = append(out, record)
		}
	}
}

// made is the orders that have a row, by status.
func (w *world) made() map[order.Status]int {
	w.t.Helper()
	rows, err := w.d.DB.QueryContext(w.t.Context(), "SELECT status, COUNT(*) FROM trade_order GROUP BY status")
	if err != nil {
		w.t.Fatal(err)
	}
	defer rows.Close()
	out := make(map[order.Status]int)
	for rows.Next() {
		var status order.Status
		var n int
		if err := rows.Scan(&status, &n); err != nil {
			w.t.Fatal(err)
		}
		out[status] = n
	}
	if err := rows.Err(); err != nil {
		w.t.Fatal(err)
	}
	return out
}

// pending is how many reservations Redis waits to hear about.
func (w *world) pending(a *sale.Activity) int {
	w.t.Helper()
	f := a.Facts()
	s, err := w.d.Stock.Snapshot(w.t.Context(), &f)
	if err != nil {
		w.t.Fatal(err)
	}
	return s.Pending
}
