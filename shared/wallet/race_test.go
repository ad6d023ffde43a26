package wallet_test

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"holdfast/shared/testenv"
	"holdfast/shared/wallet"
)

// atOnce runs n functions at the same time and counts how they ended.
func atOnce(n int, f func(i int) error) (ok, short int, others []error) {
	var wg sync.WaitGroup
	results, begin := make([]error, n), make(chan struct{})
	for i := range n {
		wg.Go(func() {
			<-begin
			results[i] = f(i)
		})
	}
	close(begin)
	wg.Wait()
	for _, err := range results {
		switch {
		case err == nil:
			ok++
		case errors.Is(err, wallet.ErrShort):
			short++
		default:
			others = append(others, err)
		}
	}
	return ok, short, others
}

func TestBalanceOfExactlyTheSumIsFrozenOnceByTwoAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for round := range 20 {
		user := fmt.Sprint("u", round)
		w.must(move(wallet.TopUp, user, user, "50.00"))
		ok, short, others := atOnce(2, func(i int) error {
			return w.apply(move(wallet.DepositFreeze, fmt.Sprint(user, "/", i), user, "50.00"))
		})
		if ok != 1 || short != 1 || len(others) > 0 {
			t.Errorf("round %d: %d ok, %d short, %v", round, ok, short, others)
		}
		w.holds(user, "0.00", "50.00", 2)
	}
	w.sound()
}

// The wallet changes under a transaction that began before: it waits and goes through, for there is enough for both.
func TestLostRaceIsNeverCalledShort(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.must(move(wallet.TopUp, "1", "u", "100.00"))
	for round := range 10 {
		ok, short, others := atOnce(16, func(i int) error {
			return w.apply(move(wallet.PaymentWallet, fmt.Sprint(round, "/", i), "u", "0.50"))
		})
		if ok != 16 || short != 0 || len(others) > 0 {
			t.Errorf("%d ok, %d short, %v", ok, short, others)
		}
	}
	w.holds("u", "20.00", "0.00", 161)
	w.sound()
}

func TestTransactionThatWaitedForAnotherReckonsWithWhatItLeft(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.must(move(wallet.TopUp, "1", "u", "50.00"))
	first, err := w.db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = first.Rollback() }()
	if err := wallet.Apply(t.Context(), first, []wallet.Movement{move(wallet.DepositFreeze, "a", "u", "50.00")}, noon); err != nil {
		t.Fatal(err)
	}
	second := make(chan error, 1)
	go func() { second <- w.apply(move(wallet.DepositFreeze, "b", "u", "50.00")) }()
	select {
	case err := <-second:
		t.Errorf("it did not wait for a movement that was not committed: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	if err := first.Rollback(); err != nil {
		t.Fatal(err)
	}
	// What the first was about to take is there after all: nothing is short.
	if err := <-second; err != nil {
		t.Errorf("the first was rolled back, and the second got %v", err)
	}
	w.holds("u", "0.00", "50.00", 2)
	w.sound()
}

func TestTwentyFreezesAtOnceNeverSpendABalanceTwice(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.must(move(wallet.TopUp, "1", "u", "100.00"))
	ok, short, others := atOnce(20, func(i int) error { return w.apply(move(wallet.DepositFreeze, fmt.Sprint(i), "u", "30.00")) })
	if ok != 3 || short != 17 || len(others) > 0 {
		t.Errorf("%d ok, %d short, %v; want 3 and 17", ok, short, others)
	}
	w.holds("u", "10.00", "90.00", 4)
	w.sound()
}

// Whoever freezes dies at some point before COMMIT: money and entry are gone together, and what gives the deposit back finds nothing
// frozen under its name, though another deposit holds enough.
func TestFreezeOfAKilledTransactionIsGoneWithItsEntryAndIsNeverGivenBack(t *testing.T) {
	t.Parallel()
	for _, statement := range []string{"INSERT INTO wallet_log", "INSERT INTO wallet (", "COMMIT"} {
		t.Run(statement, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.must(move(wallet.TopUp, "1", "u", "150.00"), move(wallet.DepositFreeze, "another", "u", "50.00"))
			proxy, dsn := testenv.ProxyMySQL(t, testenv.MySQLDSN(t))
			through := testenv.OpenMySQL(t, dsn)
			tx, err := through.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			proxy.CutBefore(contains(statement))
			err = wallet.Apply(t.Context(), tx, []wallet.Movement{move(wallet.DepositFreeze, "o", "u", "30.00")}, noon)
			if err == nil {
				err = tx.Commit()
			}
			if err == nil || proxy.Cuts() != 1 {
				t.Fatalf("the connection was not cut: %v", err)
			}
			if err := w.apply(move(wallet.DepositRefund, "o", "u", "30.00")); !errors.Is(err, wallet.ErrFrozen) {
				t.Errorf("money came back that was never taken: %v", err)
			}
			w.holds("u", "100.00", "50.00", 2)
			w.must(move(wallet.DepositFreeze, "o", "u", "30.00")) // whoever tries again
			w.holds("u", "70.00", "80.00", 3)
			w.sound()
		})
	}
}

func TestSameMovementAtOnceIsWrittenOnceAndConflictsAreTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for round := range 10 {
		// The wallet is made by the same movements.
		user, reference := fmt.Sprint("u", round), fmt.Sprint("r", round)
		ok, _, others := atOnce(8, func(int) error { return w.apply(move(wallet.TopUp, reference, user, "5.00")) })
		if ok != 8 {
			t.Errorf("the same eight times: %d ok, %v", ok, others)
		}
		w.holds(user, "5.00", "0.00", 1)
		// No wallet, and so no lock, holds these apart.
		ok, _, others = atOnce(8, func(int) error { return w.apply(move(wallet.PaymentReceived, reference, user, "5.00")) })
		if ok != 8 {
			t.Errorf("the same payment eight times: %d ok, %v", ok, others)
		}
		// One reference for two users: one of them is first.
		ok, _, others = atOnce(2, func(i int) error {
			return w.apply(move(wallet.Withdrawal, reference, fmt.Sprint("u", max(0, round-i)), "1.00"))
		})
		if round > 0 && (ok != 1 || len(others) != 1 || !errors.Is(others[0], wallet.ErrConflict)) {
			t.Errorf("one reference for two: %d ok, %v", ok, others)
		}
	}
	if got := w.account("SUSPENSE"); got != "50.00" {
		t.Errorf("ten payments of 5.00 brought %s", got)
	}
	w.sound()
}

func TestFirstMovementsOfAWalletAtOnceAllCount(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ok, _, others := atOnce(16, func(i int) error { return w.apply(move(wallet.TopUp, fmt.Sprint(i), "u", "1.00")) })
	if ok != 16 {
		t.Errorf("%d ok, %v", ok, others)
	}
	w.holds("u", "16.00", "0.00", 16)
	w.sound()
}

// Whatever the code reckons, the database does not take a wallet below zero, nor a second movement of one version.
func TestDatabaseIsTheLastGate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.must(move(wallet.TopUp, "1", "u", "1.00"))
	for _, statement := range []string{`UPDATE wallet SET available = available - 1.01`, `UPDATE wallet SET frozen = frozen - 0.01`} {
		if _, err := w.db.ExecContext(t.Context(), statement); err == nil {
			t.Errorf("%s was taken", statement)
		}
	}
	// A wallet that was set back by a foreign hand: its next version has been written before.
	w.must(move(wallet.TopUp, "2", "u", "1.00"))
	if _, err := w.db.ExecContext(t.Context(), `UPDATE wallet SET available = 1.00, version = 1`); err != nil {
		t.Fatal(err)
	}
	before := w.written()
	if err := w.apply(move(wallet.PaymentWallet, "o", "u", "1.00")); err == nil || errors.Is(err, wallet.ErrShort) {
		t.Errorf("a version was written twice: %v", err)
	}
	if w.written() != before {
		t.Error("something was written")
	}
}

// Batches that touch the same wallets in other orders wait for each other and never meet in a deadlock.
func TestBatchesLockWalletsInOneOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const users, batches = 12, 60
	var tops []wallet.Movement
	for u := range users {
		tops = append(tops, move(wallet.TopUp, fmt.Sprint(u), fmt.Sprint("u", u), "1000.00"))
	}
	w.must(tops...)
	ok, short, others := atOnce(batches, func(i int) error {
		var list []wallet.Movement
		for j := range users {
			u := (j*5 + i*7) % users // another order in each batch, and all users
			list = append(list, move(wallet.PaymentWallet, fmt.Sprint(i, "/", u), fmt.Sprint("u", u), "1.00"))
		}
		tx, err := w.db.BeginTx(t.Context(), nil) // once: nothing is tried again
		if err != nil {
			return err
		}
		if err := wallet.Apply(t.Context(), tx, list, noon); err != nil {
			return errors.Join(err, tx.Rollback())
		}
		return tx.Commit()
	})
	if ok != batches || short != 0 {
		t.Errorf("%d ok, %d short, %v", ok, short, others)
	}
	for u := range users {
		w.holds(fmt.Sprint("u", u), "940.00", "0.00", batches+1)
	}
	w.sound()
}

func contains(text string) func([]byte) bool {
	return func(chunk []byte) bool { return bytes.Contains(chunk, []byte(text)) }
}
