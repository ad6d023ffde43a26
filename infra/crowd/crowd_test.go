package crowd

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"holdfast/infra/local"
	"holdfast/shared/sqltx"
)

// small is a crowd that is over in seconds and larger than what is on sale.
func small(t *testing.T, stack *local.Stack, out io.Writer) Options {
	t.Helper()
	return Options{Addresses: stack.Addresses, Dir: t.TempDir(), ActivityID: "crowd-test", Users: 300, Rate: 200, Capacity: 200, Buckets: 4,
		Limit: 3, Seed: 7, Patience: time.Minute, Out: out}
}

func TestACrowdPassesAndSeesWhatIsChangedByHand(t *testing.T) {
	stack, err := local.Up(t.Context(), local.Options{DataDir: t.TempDir(), Out: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	defer stack.Close()
	var out bytes.Buffer
	o := small(t, stack, &out)
	if err := Run(t.Context(), o); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, words := range []string{"Nothing was oversold", "p99", "INSUFFICIENT_STOCK", "GUEST", "UNPAID", "PASS  L1", "PASS  C4"} {
		if !strings.Contains(out.String(), words) {
			t.Errorf("the crowd does not say %q:\n%s", words, out.String())
		}
	}
	promises, err := ReadJournal(JournalPath(o.Dir, o.ActivityID))
	if err != nil || len(promises) < 60 {
		t.Fatalf("%d promises in the journal, %v", len(promises), err)
	}
	verdict := func() map[string]bool {
		t.Helper()
		report, err := Prove(t.Context(), stack.Addresses, o.ActivityID, promises, 0)
		if err != nil {
			t.Fatal(err)
		}
		failed := make(map[string]bool)
		for _, e := range report.Equations {
			if !e.Pass {
				failed[e.ID] = true
			}
		}
		return failed
	}
	if failed := verdict(); len(failed) > 0 {
		t.Fatalf("before anything is changed: %v", failed)
	}

	db, err := sqltx.Open(stack.Addresses.MySQL)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	change := func(query string) {
		t.Helper()
		result, err := db.ExecContext(t.Context(), query, o.ActivityID)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := result.RowsAffected(); err != nil || n != 1 {
			t.Fatalf("%d rows changed, %v", n, err)
		}
	}
	change("UPDATE stock_bucket SET sold = sold - 1 WHERE activity_id = ? AND sold > 0 ORDER BY ticket_type, bucket LIMIT 1")
	if failed := verdict(); !failed["D5"] {
		t.Errorf("a bucket changed by hand in MariaDB goes unseen: %v", failed)
	}
	change("UPDATE stock_bucket SET sold = sold + 1 WHERE activity_id = ? AND sold > 0 ORDER BY ticket_type, bucket LIMIT 1")

	cache := redis.NewClient(&redis.Options{Addr: stack.Addresses.Redis})
	defer cache.Close()
	counter := func(by int64) {
		t.Helper()
		if err := cache.HIncrBy(t.Context(), "hf:{"+o.ActivityID+"}:rules", "left:STANDARD:0", by).Err(); err != nil {
			t.Fatal(err)
		}
	}
	counter(1)
	if failed := verdict(); !failed["C1"] || !failed["C4"] {
		t.Errorf("a counter changed by hand in Redis goes unseen: %v", failed)
	}
	var broken *ErrBroken
	if err := Verify(t.Context(), stack.Addresses, o.ActivityID, promises, 0, io.Discard); !errors.As(err, &broken) {
		t.Errorf("it is seen, and verified all the same: %v", err)
	}
	counter(-1)
	if err := Verify(t.Context(), stack.Addresses, o.ActivityID, promises, 0, io.Discard); err != nil {
		t.Errorf("all is as it was: %v", err)
	}

	// A promise that no store knows is what only the journal can tell.
	lost := promises[0]
	lost.OrderID[15] ^= 0xff
	promises = append(promises, lost)
	if failed := verdict(); !failed["L1"] {
		t.Errorf("a lost promise goes unseen: %v", failed)
	}
}

func TestTheLifeOfDepositsEndsInAProof(t *testing.T) {
	stack, err := local.Up(t.Context(), local.Options{DataDir: t.TempDir(), Out: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	defer stack.Close()
	var out bytes.Buffer
	if err := RunDeposits(t.Context(), small(t, stack, &out)); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	// Who confirmed has paid 200.00 of 300.00, whose deadline passed has lost 30.00, and so has who cancelled; the poor one has what he had.
	for _, words := range []string{punctual + "  available  100.00  frozen   0.00", absent + "    available  270.00  frozen   0.00",
		patient + "   available  270.00  frozen   0.00", "PASS  M1", "Every cent is accounted for."} {
		if !strings.Contains(out.String(), words) {
			t.Errorf("it does not say %q:\n%s", words, out.String())
		}
	}
}

func TestACrowdWithoutAStackSaysSo(t *testing.T) {
	o := Options{Addresses: local.Addresses{API: "http://127.0.0.1:1"}, Users: 1, Rate: 1, Capacity: 1, Buckets: 1, Limit: 1, Out: io.Discard}
	err := Run(t.Context(), o)
	var broken *ErrBroken
	if err == nil || errors.As(err, &broken) || !strings.Contains(err.Error(), "is the stack up?") {
		t.Errorf("error %v", err)
	}
}

func TestACrowdOfImpossibleSizeIsRefusedByTheFlagsThatSetIt(t *testing.T) {
	err := Run(t.Context(), Options{Users: -5, Rate: 0, Capacity: 10, Buckets: 65, Limit: 0, Out: io.Discard})
	if err == nil {
		t.Fatal("it came")
	}
	for _, words := range []string{"--users is -5", "--rate is 0", "--buckets is 65", "--limit is 0"} {
		if !strings.Contains(err.Error(), words) {
			t.Errorf("the error lacks %q: %v", words, err)
		}
	}
	if strings.Contains(err.Error(), "--capacity") {
		t.Errorf("the error blames what is fine: %v", err)
	}
}
