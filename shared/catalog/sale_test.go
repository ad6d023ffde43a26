package catalog_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"holdfast/shared/audit"
	"holdfast/shared/catalog"
	"holdfast/shared/money"
	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
	"holdfast/shared/testenv"
)

// shop is a catalog with a clock that the test moves.
type shop struct {
	*catalog.Catalog
	db     *sqltx.DB
	offset time.Duration
}

func newShop(t *testing.T) *shop {
	t.Helper()
	s := &shop{}
	s.db = sqltx.New(testenv.MySQL(t), func() time.Duration { return s.offset })
	s.Catalog = catalog.New(s.db)
	return s
}

var operator = audit.Entry{Operator: "op-1", RequestID: "r-1"}

func price(t *testing.T, amount, currency string) money.Amount {
	t.Helper()
	p, err := money.Parse(amount, currency)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// draft is a sale of two types that opens in an hour.
func draft(t *testing.T, id string) sale.Activity {
	t.Helper()
	opens := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	return sale.Activity{ID: id, Kind: sale.Ticket, Title: "夏天 🎵", OpensAt: opens, ClosesAt: opens.Add(2 * time.Hour), PerUserLimit: 2,
		PayWindow: 15 * time.Minute, Currency: "CNY", Metadata: json.RawMessage(`{"hall":"east"}`),
		TicketTypes: []sale.TicketType{
			{ID: "VIP", Title: "Front", Price: price(t, "199.99", "CNY"), Capacity: 10, Buckets: 4},
			{ID: "STANDARD", Title: "Rest", Price: price(t, "49.90", "CNY"), Capacity: 100, Buckets: 8},
		}}
}

func (s *shop) create(t *testing.T, id string) *sale.Activity {
	t.Helper()
	a, created, err := s.Create(t.Context(), draft(t, id), operator)
	if err != nil || !created {
		t.Fatalf("creating %s: created %v: %v", id, created, err)
	}
	return a
}

func (s *shop) move(t *testing.T, id string, path ...sale.Status) *sale.Activity {
	t.Helper()
	var a *sale.Activity
	for _, to := range path {
		var err error
		if a, _, err = s.Transition(t.Context(), id, to, operator); err != nil {
			t.Fatal(err)
		}
	}
	return a
}

func (s *shop) get(t *testing.T, id string) *sale.Activity {
	t.Helper()
	a, err := catalog.Get(t.Context(), s.db, id)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// buckets reads a column of the buckets of a type.
func (s *shop) buckets(t *testing.T, id, ticketType, column string) []int {
	t.Helper()
	return s.ints(t, `SELECT `+column+` FROM stock_bucket WHERE activity_id = ? AND ticket_type = ? ORDER BY bucket`, id, ticketType)
}

func (s *shop) ints(t *testing.T, query string, args ...any) (out []int) {
	t.Helper()
	rows, err := s.db.QueryContext(t.Context(), query, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var n int
		if err := rows.Scan(&n); err != nil {
			t.Fatal(err)
		}
		out = append(out, n)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// audited counts the audit rows of an action.
func (s *shop) audited(t *testing.T, action string) int {
	t.Helper()
	return s.ints(t, `SELECT COUNT(*) FROM audit_log WHERE action = ? AND operator = 'op-1' AND request_id = 'r-1'`, action)[0]
}

func (s *shop) exec(t *testing.T, statement string, args ...any) sql.Result {
	t.Helper()
	res, err := s.db.ExecContext(t.Context(), statement, args...)
	if err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	return res
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func each(n int, f func(i int) error) (errs []error) {
	ended := make(chan error, n)
	for i := range n {
		go func() {
			if err := f(i); err != nil {
				err = fmt.Errorf("%d: %w", i, err)
				ended <- err
				return
			}
			ended <- nil
		}()
	}
	for range n {
		if err := <-ended; err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}
