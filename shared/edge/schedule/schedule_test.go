package schedule_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/go-sql-driver/mysql"
	"github.com/redis/go-redis/v9"

	"holdfast/infra/local/s3"
	"holdfast/shared/audit"
	"holdfast/shared/checkout"
	"holdfast/shared/edge"
	"holdfast/shared/edge/boot"
	"holdfast/shared/edge/objects"
	"holdfast/shared/edge/schedule"
	"holdfast/shared/metric"
	"holdfast/shared/money"
	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
	"holdfast/shared/stock"
	"holdfast/shared/testenv"
)

// world is a sale of ten units on real stores, whose clocks can be moved.
type world struct {
	t       *testing.T
	d       edge.Deps
	a       *sale.Activity
	mysql   *testenv.TCPProxy
	advance time.Duration
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t}
	dsn, err := mysql.ParseDSN(testenv.MySQLDSN(t))
	if err != nil {
		t.Fatal(err)
	}
	w.mysql = testenv.Proxy(t, dsn.Addr)
	dsn.Addr = w.mysql.Addr
	db, err := sqltx.Open(dsn.FormatDSN())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	cache := redis.NewUniversalClient(boot.RedisOptions(testenv.RedisAddr(t)))
	t.Cleanup(func() { _ = cache.Close() })
	w.d = boot.Assemble(db, cache, nil, func() time.Duration { return w.advance }, slog.New(slog.DiscardHandler))
	price, err := money.Parse("12.50", "CNY")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	draft := sale.Activity{ID: testenv.ActivityID(t), Kind: sale.Ticket, Mode: sale.Live, Title: "A sale", OpensAt: now.Add(-time.Hour),
		ClosesAt: now.Add(time.Hour), PerUserLimit: 4, PayWindow: time.Minute, Currency: "CNY",
		TicketTypes: []sale.TicketType{{ID: "STANDARD", Title: "Standard", Price: price, Capacity: 10, Buckets: 2}}}
	by := audit.Entry{Operator: "op", RequestID: "r"}
	if _, _, err := w.d.Catalog.Create(t.Context(), draft, by); err != nil {
		t.Fatal(err)
	}
	if w.a, _, err = w.d.Catalog.Transition(t.Context(), draft.ID, sale.Published, by); err != nil {
		t.Fatal(err)
	}
	if err := w.d.Reconcile.Load(t.Context(), w.a.ID); err != nil {
		t.Fatal(err)
	}
	return w
}

// reserve takes a unit; the reservation is pending.
func (w *world) reserve(user string) sale.Reservation {
	w.t.Helper()
	f := w.a.Facts()
	got, err := w.d.Stock.Reserve(w.t.Context(), &f, stock.ReserveRequest{OrderID: f.OrderID(user, "k"), UserID: user, TicketType: "STANDARD", Quantity: 1})
	if err != nil {
		w.t.Fatal(err)
	}
	return got.Reservation
}

func (w *world) snapshot() stock.Snapshot {
	w.t.Helper()
	f := w.a.Facts()
	s, err := w.d.Stock.Snapshot(w.t.Context(), &f)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// run fires a schedule and returns its summary.
func (w *world) run(h lambda.Handler) map[string]any {
	w.t.Helper()
	answer, err := h.Invoke(context.Background(), []byte(`{"version":"0","detail-type":"Scheduled Event"}`))
	if err != nil {
		w.t.Fatal(err)
	}
	var summary map[string]any
	if err := json.Unmarshal(answer, &summary); err != nil {
		w.t.Fatalf("%s: %v", answer, err)
	}
	return summary
}

func TestExpireOrdersCancelsWhatIsPastItsDeadlineAndSaysHowMany(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	h := schedule.NewExpireOrders(w.d)
	out, err := w.d.Checkout.CreateOrders(t.Context(), []checkout.Message{{Reservation: w.reserve("u1"), MessageID: "m1"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.d.Checkout.Settle(t.Context(), out); err != nil {
		t.Fatal(err)
	}
	if summary := w.run(h); summary["expired"] != 0.0 {
		t.Errorf("in time: %v", summary)
	}
	w.advance = 2 * time.Minute
	if summary := w.run(h); summary["expired"] != 1.0 || w.snapshot().Types["STANDARD"].Left != 10 {
		t.Errorf("past the deadline: %v, %d left", summary, w.snapshot().Types["STANDARD"].Left)
	}
	if summary := w.run(h); summary["expired"] != 0.0 {
		t.Errorf("a second pass: %v", summary)
	}
}

func TestCompensateOrdersMakesOrdersOfWhatNoMessageBrought(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	h := schedule.NewCompensateOrders(w.d)
	w.reserve("u1")
	if w.run(h); w.snapshot().Pending != 1 {
		t.Error("a young reservation was taken up")
	}
	w.advance = 2 * time.Minute
	summary := w.run(h)
	var rows int
	if err := w.d.DB.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM trade_order WHERE status = 'UNPAID'").Scan(&rows); err != nil {
		t.Fatal(err)
	}
	if rows != 1 || w.snapshot().Pending != 0 || w.snapshot().Types["STANDARD"].Left != 9 {
		t.Errorf("%d rows, %+v; the pass said %v", rows, w.snapshot(), summary)
	}
}

func TestCompensateOrdersPrintsWhatItMendedAsAMetric(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var printed bytes.Buffer
	boot.Measure(&w.d, metric.New(&printed, time.Now))
	w.reserve("u1")
	w.reserve("u2")
	w.advance = 2 * time.Minute
	w.run(schedule.NewCompensateOrders(w.d))
	if !strings.Contains(printed.String(), `"stock_orphan_compensation_total":2`) {
		t.Errorf("printed %s", printed.String())
	}
}

func TestAPassWithoutTheDatabaseIsAnErrorOfTheFunction(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mysql.Down()
	for name, h := range map[string]lambda.Handler{"expire-orders": schedule.NewExpireOrders(w.d), "compensate-orders": schedule.NewCompensateOrders(w.d)} {
		if _, err := h.Invoke(context.Background(), []byte(`{}`)); err == nil || !strings.HasPrefix(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What a pass does after its main part may find the time used up: the next pass goes on, and nothing has failed.
func TestAPassWhoseTimeIsUsedUpIsNoErrorOfTheFunction(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := httptest.NewServer(s3.New(nil))
	t.Cleanup(server.Close)
	w.d.Exports = objects.New(boot.LocalConfig(server.URL), "files", time.Now)
	over, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	for name, h := range map[string]lambda.Handler{"compensate-orders": schedule.NewCompensateOrders(w.d), "reconcile-stock": schedule.NewReconcileStock(w.d)} {
		if answer, err := h.Invoke(over, []byte(`{}`)); err != nil {
			t.Errorf("%s: %s, %v", name, answer, err)
		}
	}
}
