package wallet_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"holdfast/shared/money"
	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
	"holdfast/shared/testenv"
	"holdfast/shared/wallet"
)

// chart is the table of the package comment, once more.
var chart = []struct {
	kind     wallet.Type
	target   wallet.Target
	from, to string
}{
	{wallet.TopUp, "", "OUTSIDE", "AVAIL"},
	{wallet.Withdrawal, "", "AVAIL", "OUTSIDE"},
	{wallet.DepositFreeze, "", "AVAIL", "FROZEN"},
	{wallet.DepositConsume, "", "FROZEN", "HOUSE"},
	{wallet.DepositSupplement, "", "AVAIL", "HOUSE"},
	{wallet.DepositPenalty, "", "FROZEN", "CLUB:c1"},
	{wallet.DepositRefund, "", "FROZEN", "AVAIL"},
	{wallet.PaymentWallet, "", "AVAIL", "HOUSE"},
	{wallet.PaymentManual, "", "OUTSIDE", "HOUSE"},
	{wallet.PaymentReceived, "", "PROVIDER", "SUSPENSE"},
	{wallet.PaymentApplied, "", "SUSPENSE", "HOUSE"},
	{wallet.Refund, wallet.ToWallet, "HOUSE", "AVAIL"},
	{wallet.Refund, wallet.ToProvider, "HOUSE", "PROVIDER"},
	{wallet.Refund, wallet.ToOutside, "HOUSE", "OUTSIDE"},
	{wallet.SurplusRefund, "", "SUSPENSE", "PROVIDER"},
	{wallet.RefundFailed, "", "PROVIDER", "SUSPENSE"},
	{wallet.PenaltyReversal, "", "CLUB:c1", "AVAIL"},
}

func TestEveryMovementTakesFromOneAccountAndBringsToTheOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.must(move(wallet.TopUp, "seed", "u", "100.00"), move(wallet.DepositFreeze, "seed", "u", "40.00"))
	want := map[string]decimal.Decimal{"OUTSIDE": decimal.NewFromInt(-100), "AVAIL": decimal.NewFromInt(60), "FROZEN": decimal.NewFromInt(40)}
	id := sale.NewOrderID(1, []byte("salt"), "u", "k")
	for i, c := range chart {
		m := move(c.kind, fmt.Sprint("r", i), "u", "7.01")
		m.Target, m.OrderID = c.target, id
		if c.from == "FROZEN" {
			m.Reference = "seed"
		}
		w.must(m)
		want[c.from], want[c.to] = want[c.from].Sub(m.Amount.Value), want[c.to].Add(m.Amount.Value)
		for account, value := range want {
			if got := w.account(account); got != value.StringFixed(2) {
				t.Errorf("after %s %s: %s holds %s, want %s", c.kind, c.target, account, got, value.StringFixed(2))
			}
		}
		if n := w.count(`SELECT COUNT(*) FROM wallet_log WHERE type = ? AND reference = ? AND from_account = ? AND to_account = ? AND order_id = ?
			AND amount = 7.01 AND user_id = 'u'`, c.kind, m.Reference, c.from, c.to, id[:]); n != 1 {
			t.Errorf("%s %s was written %d times as it is", c.kind, c.target, n)
		}
	}
	w.sound()
}

func TestMovementIsWrittenOnceHoweverOftenItIsAskedFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	top, freeze := move(wallet.TopUp, "r", "u", "50.00"), move(wallet.DepositFreeze, "o", "u", "20.00")
	received := move(wallet.PaymentReceived, "p", "u", "9.00")
	w.must(top, top, freeze, received)
	before := w.written()
	for range 3 {
		w.must(freeze, received, top, freeze, received)
	}
	w.holds("u", "30.00", "20.00", 2)
	if w.written() != before || w.account("SUSPENSE") != "9.00" {
		t.Errorf("%d rows became %d, SUSPENSE holds %s", before, w.written(), w.account("SUSPENSE"))
	}
	// A freeze that was covered once stays written when the rest is spent, and another one is short.
	w.must(move(wallet.PaymentWallet, "o2", "u", "30.00"))
	if err := w.apply(freeze, move(wallet.DepositFreeze, "o3", "u", "0.01")); !errors.Is(err, wallet.ErrShort) {
		t.Errorf("a wallet with nothing left: %v", err)
	}
	w.sound()
}

func TestSameReferenceWithOtherParticularsIsAConflictAndWritesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.must(move(wallet.TopUp, "r", "u", "50.00"), move(wallet.PaymentReceived, "p", "u", "9.00"))
	before := w.written()
	amount, user := move(wallet.TopUp, "r", "u", "50.01"), move(wallet.TopUp, "r", "other", "50.00")
	order := move(wallet.TopUp, "r", "u", "50.00")
	order.OrderID = sale.NewOrderID(1, nil, "u", "k")
	currency := move(wallet.TopUp, "r", "u", "50.00")
	currency.Amount.Currency = "EUR"
	fresh := move(wallet.TopUp, "fresh", "u", "1.00")
	for name, m := range map[string]wallet.Movement{"amount": amount, "user": user, "order": order, "currency": currency,
		"no wallet": move(wallet.PaymentReceived, "p", "u", "9.01")} {
		if err := w.apply(fresh, m); !errors.Is(err, wallet.ErrConflict) {
			t.Errorf("another %s: %v", name, err)
		}
	}
	if err := w.apply(fresh, move(wallet.TopUp, "fresh", "u", "2.00")); !errors.Is(err, wallet.ErrConflict) {
		t.Errorf("two in one list: %v", err)
	}
	if w.written() != before {
		t.Errorf("%d rows became %d", before, w.written())
	}
	// The same reference under another type is another movement.
	w.must(move(wallet.Withdrawal, "r", "u", "50.00"))
	w.holds("u", "0.00", "0.00", 2)
	w.sound()
}

func TestShortMovementsAreNamedAndTheRestGoesThroughWithoutThem(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.must(move(wallet.TopUp, "a", "a", "10.00"), move(wallet.TopUp, "b", "b", "5.00"))
	before := w.written()
	list := []wallet.Movement{
		move(wallet.DepositFreeze, "0", "a", "6.00"),
		move(wallet.DepositFreeze, "1", "a", "5.00"), // 4.00 left
		move(wallet.DepositFreeze, "2", "nobody", "0.01"),
		move(wallet.DepositFreeze, "3", "a", "4.00"),
		move(wallet.DepositFreeze, "4", "b", "5.01"),
		move(wallet.DepositFreeze, "5", "b", "5.00"),
		move(wallet.DepositFreeze, "6", "b", "0.00"), // of nothing
	}
	err := w.db.Run(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		err := wallet.Apply(ctx, tx, list, noon)
		var short *wallet.ShortError
		if !errors.Is(err, wallet.ErrShort) || !errors.As(err, &short) || !slices.Equal(short.Indexes, []int{1, 2, 4}) {
			return fmt.Errorf("got %v, want 1, 2 and 4", err)
		}
		var n int
		err = tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM wallet_log`).Scan(&n)
		if err != nil || n != 2 || w.count(`SELECT COUNT(*) FROM wallet WHERE user_id = 'nobody'`) != 0 {
			return fmt.Errorf("%d entries stand after a refusal: %w", n, err)
		}
		return wallet.Apply(ctx, tx, []wallet.Movement{list[0], list[3], list[5]}, noon)
	})
	if err != nil {
		t.Fatal(err)
	}
	w.holds("a", "0.00", "10.00", 3)
	w.holds("b", "0.00", "5.00", 2)
	w.holds("nobody", "0.00", "0.00", 0)
	if w.written() != before+3 {
		t.Errorf("%d rows became %d, want three more", before, w.written())
	}
	w.sound()
}

func TestListIsReckonedInItsOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	// What comes in first covers what goes out after it, and not the other way round.
	w.must(move(wallet.TopUp, "1", "u", "30.00"), move(wallet.DepositFreeze, "o", "u", "30.00"), move(wallet.DepositConsume, "o", "u", "20.00"),
		move(wallet.DepositRefund, "o", "u", "10.00"), move(wallet.PaymentWallet, "o2", "u", "10.00"))
	w.holds("u", "0.00", "0.00", 5)
	if err := w.apply(move(wallet.PaymentWallet, "o3", "u", "1.00"), move(wallet.TopUp, "2", "u", "1.00")); !errors.Is(err, wallet.ErrShort) {
		t.Errorf("money was spent before it came: %v", err)
	}
	w.sound()
}

func TestDepositThatIsNotFrozenIsNeverCalledShort(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.must(move(wallet.TopUp, "1", "u", "30.00"), move(wallet.DepositFreeze, "o", "u", "10.00"))
	for _, kind := range []wallet.Type{wallet.DepositConsume, wallet.DepositPenalty, wallet.DepositRefund} {
		if err := w.apply(move(kind, "o", "u", "10.01")); !errors.Is(err, wallet.ErrFrozen) || errors.Is(err, wallet.ErrShort) {
			t.Errorf("%s of more than is frozen: %v", kind, err)
		}
	}
	// Another order's deposit is no cover: what was never frozen is never given back.
	w.must(move(wallet.DepositFreeze, "o2", "u", "10.00"))
	for _, kind := range []wallet.Type{wallet.DepositConsume, wallet.DepositPenalty, wallet.DepositRefund} {
		if err := w.apply(move(kind, "never", "u", "0.01")); !errors.Is(err, wallet.ErrFrozen) {
			t.Errorf("%s of a deposit that was never taken: %v", kind, err)
		}
	}
	w.must(move(wallet.DepositPenalty, "o", "u", "4.00"))
	if err := w.apply(move(wallet.DepositRefund, "o", "u", "6.01")); !errors.Is(err, wallet.ErrFrozen) {
		t.Errorf("more came back than the penalty left: %v", err)
	}
	w.must(move(wallet.DepositRefund, "o", "u", "6.00"))
	w.holds("u", "16.00", "10.00", 5)
	w.sound()
}

func TestWalletNeverOutgrowsItsColumn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.must(move(wallet.TopUp, "1", "u", "9999999999999999.99"))
	if err := w.apply(move(wallet.TopUp, "2", "u", "0.01")); !errors.Is(err, wallet.ErrFull) {
		t.Errorf("a full wallet took more: %v", err)
	}
	w.holds("u", "9999999999999999.99", "0.00", 1)
	w.sound()
}

func TestMalformedMovementsAreRefusedBeforeAnythingIsWritten(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	good := move(wallet.TopUp, "good", "u", "1.00")
	for name, change := range map[string]func(m *wallet.Movement){
		"type":              func(m *wallet.Movement) { m.Type = "GIFT" },
		"no reference":      func(m *wallet.Movement) { m.Reference = "" },
		"long reference":    func(m *wallet.Movement) { m.Reference = strings.Repeat("r", 192) },
		"no user":           func(m *wallet.Movement) { m.UserID = "" },
		"long user":         func(m *wallet.Movement) { m.UserID = strings.Repeat("u", 129) },
		"negative":          func(m *wallet.Movement) { m.Amount = yuan("-1.00") },
		"three decimals":    func(m *wallet.Movement) { m.Amount = yuan("1.001") },
		"yen with decimals": func(m *wallet.Movement) { m.Amount = money.Of(decimal.RequireFromString("1.5"), "JPY") },
		"beyond the column": func(m *wallet.Movement) { m.Amount = yuan("10000000000000000.00") },
		"no currency":       func(m *wallet.Movement) { m.Amount.Currency = "" },
		"dinar":             func(m *wallet.Movement) { m.Amount.Currency = "KWD" },
		"club of none":      func(m *wallet.Movement) { m.ClubID = "c" },
		"target of none":    func(m *wallet.Movement) { m.Target = wallet.ToOutside },
		"no club":           func(m *wallet.Movement) { m.Type, m.ClubID = wallet.DepositPenalty, "" },
		"long club":         func(m *wallet.Movement) { m.Type, m.ClubID = wallet.DepositPenalty, strings.Repeat("c", 124) },
		"no target":         func(m *wallet.Movement) { m.Type = wallet.Refund },
	} {
		bad := move(wallet.TopUp, "bad", "u", "1.00")
		change(&bad)
		if err := w.apply(good, bad); !errors.Is(err, wallet.ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if w.written() != 0 || w.count(`SELECT COUNT(*) FROM wallet`) != 0 {
		t.Error("something was written")
	}
}

func TestWalletsOfSeveralCurrenciesAndSpellingsAreKeptApart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	yen := func(m wallet.Movement, amount string) wallet.Movement {
		m.Amount = money.Of(decimal.RequireFromString(amount), "JPY")
		return m
	}
	w.must(move(wallet.TopUp, "1", "aB3x", "1.00"), move(wallet.TopUp, "2", "Ab3X", "2.00"), move(wallet.TopUp, "3", "aB3x ", "3.00"),
		yen(move(wallet.TopUp, "4", "aB3x", "0"), "1250"), yen(move(wallet.TopUp, "R", "Ab3X", "0"), "7"), move(wallet.TopUp, "r", "aB3x", "0.50"))
	w.must(yen(move(wallet.PaymentWallet, "o", "aB3x", "0"), "250"), move(wallet.PaymentWallet, "o2", "aB3x", "1.00"))
	w.holds("aB3x", "0.50", "0.00", 3)
	w.holds("Ab3X", "2.00", "0.00", 1)
	w.holds("aB3x ", "3.00", "0.00", 1)
	b, err := wallet.Get(t.Context(), w.db, wallet.Key{UserID: "aB3x", Currency: "JPY"})
	if err != nil || b.Available.String() != "1000" || b.Version != 2 {
		t.Errorf("%s yen at version %d, %v", b.Available, b.Version, err)
	}
	w.sound()
}

func TestEntriesOfAWalletNeverGoBackInTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	// A transaction may read the clock before another and get the lock after it.
	for i, at := range []time.Duration{time.Second, 0, 500 * time.Millisecond, 2 * time.Second} {
		if err := w.applyAt(noon.Add(at), move(wallet.TopUp, fmt.Sprint(i), "u", "1.00")); err != nil {
			t.Fatal(err)
		}
	}
	for at, want := range map[time.Duration]string{-1: "0.00", 0: "0.00", 999 * time.Millisecond: "0.00", time.Second: "3.00", 2 * time.Second: "4.00"} {
		if b, err := wallet.At(t.Context(), w.db, key("u"), noon.Add(at)); err != nil || b.Available.String() != want {
			t.Errorf("at %v it held %s, want %s: %v", at, b.Available, want, err)
		}
	}
	w.sound()
}

// RDS Proxy pins a session on any statement above 16 KB, and every statement is a round trip.
func TestBatchOfHundredsTakesFewStatementsAndNoneIsLongerThanFifteenKilobytes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const n = 400
	var tops, freezes []wallet.Movement
	for i := range n {
		user := fmt.Sprintf("%0100d'\"\\\n", i)
		tops = append(tops, move(wallet.TopUp, fmt.Sprint("t", i), user, "10.00"))
		m := move(wallet.DepositFreeze, sale.NewOrderID(1, nil, user, "k").String(), user, "7.50")
		m.OrderID = sale.NewOrderID(1, nil, user, "k")
		freezes = append(freezes, m)
	}
	proxy, dsn := testenv.ProxyMySQL(t, testenv.MySQLDSN(t))
	through := sqltx.New(testenv.OpenMySQL(t, dsn), nil)
	var mu sync.Mutex
	longest, statements := 0, 0
	proxy.CutBefore(func(chunk []byte) bool {
		mu.Lock()
		defer mu.Unlock()
		if len(chunk) > 5 && chunk[3] == 0 && chunk[4] == 3 { // the first packet of a query; its length comes first
			longest = max(longest, int(chunk[0])|int(chunk[1])<<8|int(chunk[2])<<16)
			statements++
		}
		return false
	})
	for _, list := range [][]wallet.Movement{tops, freezes} {
		err := through.Run(t.Context(), func(ctx context.Context, tx *sql.Tx) error { return wallet.Apply(ctx, tx, list, noon) })
		if err != nil {
			t.Fatal(err)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if longest > sqltx.MaxStatement || longest < sqltx.MaxStatement/2 {
		t.Errorf("the longest statement has %d bytes", longest)
	}
	if statements > n/4 { // users of 104 bytes; two batches
		t.Errorf("%d statements for two batches of %d movements", statements, n)
	}
	if c := w.count(`SELECT COUNT(*) FROM wallet WHERE available = 2.50 AND frozen = 7.50 AND version = 2`); c != n {
		t.Errorf("%d wallets of %d hold what they should", c, n)
	}
	w.sound()
}

func TestLockingSomeWalletsNeverWaitsForOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var all []wallet.Movement
	for i := range 30 { // few enough for a server to prefer reading the table whole
		all = append(all, move(wallet.TopUp, fmt.Sprint(i), fmt.Sprintf("u%02d", i), "1.00"))
	}
	w.must(all...)
	tx, err := w.db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	if err := wallet.Apply(t.Context(), tx, []wallet.Movement{move(wallet.TopUp, "held", "u07", "1.00")}, noon); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	var others []wallet.Movement
	for i := range 30 {
		if i != 7 {
			others = append(others, move(wallet.PaymentWallet, fmt.Sprint(i), fmt.Sprintf("u%02d", i), "1.00"))
		}
	}
	err = w.db.Run(ctx, func(ctx context.Context, tx *sql.Tx) error { return wallet.Apply(ctx, tx, others, noon) })
	if err != nil {
		t.Errorf("29 wallets waited for the 30th: %v", err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	w.holds("u07", "2.00", "0.00", 2)
	w.sound()
}
