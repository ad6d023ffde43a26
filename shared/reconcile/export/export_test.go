package export_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/infra/local/s3"
	"holdfast/shared/audit"
	"holdfast/shared/edge/boot"
	"holdfast/shared/edge/objects"
	"holdfast/shared/reconcile"
	"holdfast/shared/reconcile/export"
	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
	"holdfast/shared/testenv"
)

// world is one test's own database with rows to export, and an object store whose calls can be watched and fail.
type world struct {
	t     *testing.T
	db    *sqltx.DB
	store *watched
}

// watched is the store with a look at each part that is written.
type watched struct {
	*objects.Bucket
	before func(number int) error // nil: nothing
}

func (s *watched) Part(ctx context.Context, name, upload string, number int, body []byte) (string, error) {
	if s.before != nil {
		if err := s.before(number); err != nil {
			return "", err
		}
	}
	return s.Bucket.Part(ctx, name, upload, number, body)
}

func newWorld(t *testing.T) *world {
	t.Helper()
	db, err := sqltx.Open(testenv.MySQLDSN(t))
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(8)
	t.Cleanup(func() { _ = db.Close() })
	server := httptest.NewServer(s3.New(nil))
	t.Cleanup(server.Close)
	return &world{t: t, db: sqltx.New(db, nil), store: &watched{Bucket: objects.New(boot.LocalConfig(server.URL), "files", time.Now)}}
}

func (w *world) exec(statement string, args ...any) {
	w.t.Helper()
	if _, err := w.db.ExecContext(w.t.Context(), statement, args...); err != nil {
		w.t.Fatalf("%s: %v", statement, err)
	}
}

// order inserts an order of an activity, made at an hour of a day.
func (w *world) order(n, number byte, user, status, mode, reference string, quantity, hour int) sale.OrderID {
	w.t.Helper()
	id := sale.OrderID{0, 0, 0, 0, 0, number, 0x80, n, 0x80}
	at := time.Date(2031, 5, 1, hour, 0, 0, 0, time.UTC)
	paid := 0
	if status == "PAID" {
		paid = quantity * 100
	}
	w.exec(`INSERT INTO trade_order (id, reference, activity_id, ticket_type, user_id, quantity, allocations, unit_price, amount, paid, currency,
 mode, source, status, reserved_at, created_at, updated_at) VALUES (?, ?, ?, 'STANDARD', ?, ?, '0:1', 100, ?, ?, 'CNY', ?, 'SALE', ?, ?, ?, ?)`,
		id[:], reference, fmt.Sprint("a", number), user, quantity, quantity*100, paid, mode, status, at, at, at)
	return id
}

// activity inserts the activity that a number belongs to.
func (w *world) activity(number byte) {
	w.t.Helper()
	w.exec(`INSERT INTO activity (activity_id, number, salt, kind, mode, title, status, opens_at, closes_at, per_user_limit, pay_window_s, currency,
 created_hash, created_at, updated_at) VALUES (?, ?, REPEAT('s', 32), 'TICKET', 'LIVE', 'A sale', 'CLOSED', '2031-05-01', '2031-05-02', 4,
 60, 'CNY', REPEAT('c', 32), '2031-05-01', '2031-05-01')`, fmt.Sprint("a", number), number)
}

func (w *world) ask(wish export.Wish) *reconcile.Job {
	w.t.Helper()
	j, err := export.Request(w.t.Context(), w.db, wish, audit.Entry{Operator: "op", Action: "export.start", Subject: "s", RequestID: "r"})
	if err != nil {
		w.t.Fatal(err)
	}
	if j.Status != "QUEUED" || j.Kind != "EXPORT" {
		w.t.Fatalf("%+v", j)
	}
	return j
}

// file runs the exports and reads the file of a job: its lines, after the checks that hold for every file.
func (w *world) file(j *reconcile.Job) [][]string {
	w.t.Helper()
	sum, err := export.Run(w.t.Context(), w.db, w.store, time.Minute)
	if err != nil || sum.Failed > 0 {
		w.t.Fatalf("%+v, %v", sum, err)
	}
	result, text := w.result(j)
	hash := sha256.Sum256(text)
	if result.SHA256 != hex.EncodeToString(hash[:]) {
		w.t.Errorf("the hash is %s, the file's %x", result.SHA256, hash)
	}
	lines, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		w.t.Fatal(err)
	}
	if result.Rows != int64(len(lines)-1) {
		w.t.Errorf("%d rows are told, %d are there", result.Rows, len(lines)-1)
	}
	return lines
}

func (w *world) result(j *reconcile.Job) (r export.Result, text []byte) {
	w.t.Helper()
	j, err := reconcile.GetJob(w.t.Context(), w.db, j.ID)
	if err != nil || j.Status != "SUCCEEDED" || j.FinishedAt == nil {
		w.t.Fatalf("%+v, %v", j, err)
	}
	if err := json.Unmarshal(j.Result, &r); err != nil {
		w.t.Fatal(err)
	}
	answer, err := http.Get(r.URL)
	if err != nil {
		w.t.Fatal(err)
	}
	defer answer.Body.Close()
	if text, err = io.ReadAll(answer.Body); err != nil || answer.StatusCode != http.StatusOK {
		w.t.Fatalf("%d, %v", answer.StatusCode, err)
	}
	return r, text
}

func flat(lines [][]string) (out []string) {
	for _, line := range lines {
		out = append(out, strings.Join(line, "|"))
	}
	return out
}

func (w *world) equal(got [][]string, want ...string) {
	w.t.Helper()
	if has := flat(got); strings.Join(has, "\n") != strings.Join(want, "\n") {
		w.t.Errorf("the file says\n%s\nwant\n%s", strings.Join(has, "\n"), strings.Join(want, "\n"))
	}
}

func TestOrdersAndUnitsOfAnActivityAndATimeAreWritten(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.activity(7)
	paid := w.order(1, 7, "ann", "PAID", "LIVE", "AAAAAAAAAA", 2, 10)
	open := w.order(2, 7, `=HYPERLINK("x")`, "UNPAID", "LIVE", "BBBBBBBBBB", 1, 11)
	w.order(3, 7, "cat", "PAID", "TEST", "CCCCCCCCCC", 1, 10) // a rehearsal
	w.order(4, 7, "dan", "PAID", "LIVE", "DDDDDDDDDD", 1, 12) // too late
	w.order(5, 7, "eve", "PAID", "LIVE", "EEEEEEEEEE", 1, 9)  // too early
	w.order(1, 8, "fay", "PAID", "LIVE", "FFFFFFFFFF", 1, 10) // of another sale
	from, to := time.Date(2031, 5, 1, 10, 0, 0, 0, time.UTC), time.Date(2031, 5, 1, 12, 0, 0, 0, time.UTC)
	wish := export.Wish{Kind: export.Orders, ActivityID: "a7", From: &from, To: &to}
	w.equal(w.file(w.ask(wish)),
		"orderId|reference|activityId|ticketType|userId|quantity|unitPrice|amount|paid|refunded|currency|status|reason|source|createdAt|payDeadline|cancelledAt",
		paid.String()+"|AAAAAAAAAA|a7|STANDARD|ann|2|100.00|200.00|200.00|0.00|CNY|PAID||SALE|2031-05-01T10:00:00.000Z||",
		open.String()+`|BBBBBBBBBB|a7|STANDARD|'=HYPERLINK("x")|1|100.00|100.00|0.00|0.00|CNY|UNPAID||SALE|2031-05-01T11:00:00.000Z||`)
	wish.Kind = export.Units
	w.equal(w.file(w.ask(wish)),
		"unitId|orderId|reference|activityId|ticketType|userId|unitPrice|currency|createdAt",
		paid.String()+"-1|"+paid.String()+"|AAAAAAAAAA|a7|STANDARD|ann|100.00|CNY|2031-05-01T10:00:00.000Z",
		paid.String()+"-2|"+paid.String()+"|AAAAAAAAAA|a7|STANDARD|ann|100.00|CNY|2031-05-01T10:00:00.000Z")
}

func TestLedgerDepositsAndDifferencesAreWrittenWithoutUserIDs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.activity(7)
	id, other := w.order(1, 7, "ann", "UNPAID", "LIVE", "AAAAAAAAAA", 1, 10), w.order(1, 8, "bob", "UNPAID", "LIVE", "BBBBBBBBBB", 1, 10)
	for n, order := range []sale.OrderID{id, other} {
		w.exec(`INSERT INTO wallet_log (entry_id, type, reference, user_id, currency, amount, from_account, to_account, order_id, version,
 available_after, frozen_after, at) VALUES (?, 'DEPOSIT_FREEZE', ?, ?, 'CNY', 40, 'AVAIL', 'FROZEN', ?, 1, 0, 40, '2031-05-01 10:00:00')`,
			n+1, order.String(), fmt.Sprint("u", n), order[:])
		w.exec(`INSERT INTO deposit_record (order_id, activity_id, user_id, currency, mode, status, deposit, penalty_due, confirm_deadline, remind_at,
 penalty_ratio, cancellation, club_id, policy_hash, created_at, updated_at) VALUES (?, ?, 'secret', 'CNY', 'LIVE', 'FROZEN', 40, 10,
 '2031-05-03', '2031-05-02', 0.25, 'FREE', '+club', REPEAT('h', 32), '2031-05-01 10:00:00', '2031-05-01 10:00:00')`, order[:], fmt.Sprint("a", 7+n))
	}
	w.exec(`INSERT INTO difference (difference_id, activity_id, kind, subject, status, digest, evidence, proposed_action, found_at, seen_at)
 VALUES (5, 'a7', 'DEPOSIT_DIFFERS', ?, 'OPEN', REPEAT('d', 32), '{"mysql":{}}', 'NONE', '2031-05-01', '2031-05-01')`, id.String())
	w.equal(w.file(w.ask(export.Wish{Kind: export.Ledger, ActivityID: "a7"})),
		"entryId|at|type|reference|orderId|amount|currency|from|to",
		"1|2031-05-01T10:00:00.000Z|DEPOSIT_FREEZE|"+id.String()+"|"+id.String()+"|40.00|CNY|AVAIL|FROZEN")
	if all := w.file(w.ask(export.Wish{Kind: export.Ledger})); len(all) != 3 {
		t.Errorf("of all: %q", flat(all))
	}
	w.equal(w.file(w.ask(export.Wish{Kind: export.Deposits, ActivityID: "a7"})),
		"orderId|activityId|status|deposit|consumed|supplement|penalty|refunded|penaltyReversed|currency|clubId|confirmDeadline|createdAt|settledAt",
		id.String()+"|a7|FROZEN|40.00|0.00|0.00|0.00|0.00|0.00|CNY|'+club|2031-05-03T00:00:00.000Z|2031-05-01T10:00:00.000Z|")
	w.equal(w.file(w.ask(export.Wish{Kind: export.Differences})),
		"differenceId|activityId|kind|subject|status|evidence|proposedAction|occurrences|action|note|foundAt|seenAt|resolvedAt",
		"5|a7|DEPOSIT_DIFFERS|"+id.String()+`|OPEN|{"mysql":{}}|NONE|1|||2031-05-01T00:00:00.000Z|2031-05-01T00:00:00.000Z|`)
}

func TestEveryKindOfAnEmptyDatabaseHasItsFirstLineAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, kind := range export.Kinds() {
		if lines := w.file(w.ask(export.Wish{Kind: kind})); len(lines) != 1 || len(lines[0]) < 9 {
			t.Errorf("%s: %q", kind, flat(lines))
		}
	}
}

// fill writes so many entries of about 200 bytes.
func (w *world) fill(n int) {
	w.t.Helper()
	reference := strings.Repeat("r", 150)
	for start := 0; start < n; start += 60 {
		_, err := sqltx.WriteRows(w.t.Context(), w.db, `INSERT INTO wallet_log (type, reference, user_id, currency, amount, from_account, to_account, at) VALUES `,
			min(60, n-start), func(i int, r *sqltx.Row) {
				r.Text("PAYMENT_MANUAL")
				r.Text(fmt.Sprint(reference, start+i))
				r.Text("u")
				r.Text("CNY")
				r.Decimal("1.00")
				r.Text("OUTSIDE")
				r.Text("HOUSE")
				r.Instant(time.Date(2031, 5, 1, 10, 0, 0, 0, time.UTC))
			}, "")
		if err != nil {
			w.t.Fatal(err)
		}
	}
}

func TestAFileThatWasCutOffIsGoneOnWithAndHoldsEveryRowOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const rows = 70_000 // three parts
	w.fill(rows)
	j := w.ask(export.Wish{Kind: export.Ledger})
	tries := map[int]int{}
	w.store.before = func(number int) error {
		tries[number]++
		if number == 2 && tries[2] == 1 {
			return errors.New("the store is away")
		}
		return nil
	}
	if sum, err := export.Run(t.Context(), w.db, w.store, time.Minute); err == nil || sum.Waiting != 1 {
		t.Fatalf("%+v, %v", sum, err)
	}
	lines := w.file(j)
	seen := map[string]bool{}
	for _, line := range lines[1:] {
		seen[line[0]] = true
	}
	if len(lines) != rows+1 || len(seen) != rows {
		t.Errorf("%d lines, %d entries", len(lines), len(seen))
	}
	if tries[1] != 1 || tries[2] != 2 || tries[3] != 1 {
		t.Errorf("parts were written %v times", tries)
	}
}

func TestTwoRunsAtOnceWriteOneFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fill(100)
	j := w.ask(export.Wish{Kind: export.Ledger})
	var mu sync.Mutex
	written := 0
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			sum, err := export.Run(context.Background(), w.db, w.store, time.Minute)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			written += sum.Written
		})
	}
	group.Wait()
	if written != 1 {
		t.Errorf("written %d times", written)
	}
	if _, text := w.result(j); bytes.Count(text, []byte("\r\n")) != 101 {
		t.Errorf("%d lines", bytes.Count(text, []byte("\r\n")))
	}
}

func TestAnExportThatCannotBeWrittenFailsInTheEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.store.before = func(int) error { return errors.New("never") }
	j := w.ask(export.Wish{Kind: export.Orders})
	for range 10 {
		if _, err := export.Run(t.Context(), w.db, w.store, time.Minute); err == nil {
			t.Fatal("no error")
		}
	}
	if j, err := reconcile.GetJob(t.Context(), w.db, j.ID); err != nil || j.Status != "FAILED" || j.Problem == "" {
		t.Errorf("%+v, %v", j, err)
	}
	if sum, err := export.Run(t.Context(), w.db, w.store, time.Minute); err != nil || sum != (export.Summary{}) {
		t.Errorf("what has failed is tried again: %+v, %v", sum, err)
	}
}

func TestAnActivityThatThereIsNotIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := export.Request(t.Context(), w.db, export.Wish{Kind: export.Orders, ActivityID: "nobody"}, audit.Entry{Operator: "op"})
	if !errors.Is(err, export.ErrUnknownActivity) {
		t.Error(err)
	}
}
