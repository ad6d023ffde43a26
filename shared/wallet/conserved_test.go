package wallet_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"holdfast/shared/money"
	"holdfast/shared/wallet"
)

// Readings of the ledger while money moves, each from one snapshot.
const readEvery = 200 * time.Millisecond

var errGaveUp = errors.New("gave up before COMMIT")

// deposit is money that a mover has frozen and not yet settled.
type deposit struct {
	user, reference string
	amount          money.Amount
}

// mover makes random movements of some users, and keeps its own account of those that were committed.
type mover struct {
	w        *world
	rng      *rand.Rand
	name     string
	users    []string
	next     int
	deposits []deposit
	sums     map[string]decimal.Decimal // by account; CNY
	done     []wallet.Movement          // some of those committed, to be asked for again

	ops, short, gaveUp int
}

func (m *mover) amount() money.Amount {
	return money.Of(decimal.New(1+m.rng.Int64N(5000), -2), "CNY")
}

func (m *mover) user() string { return m.users[m.rng.IntN(len(m.users))] }

// one makes the movements of one operation; settled is the deposit that they settle, if they do.
func (m *mover) one() (list []wallet.Movement, settled int) {
	m.next++
	reference, user := fmt.Sprint(m.name, "/", m.next), m.user()
	a := m.amount()
	if len(m.deposits) > 0 && m.rng.IntN(3) == 0 {
		settled = m.rng.IntN(len(m.deposits))
		return settle(m.deposits[settled], a, m.rng.IntN(3)), settled
	}
	kinds := []wallet.Type{wallet.TopUp, wallet.Withdrawal, wallet.DepositFreeze, wallet.DepositFreeze, wallet.PaymentWallet, wallet.PaymentManual,
		wallet.PaymentReceived, wallet.Refund, wallet.SurplusRefund, wallet.RefundFailed, wallet.PenaltyReversal}
	next := move(kinds[m.rng.IntN(len(kinds))], reference, user, "0")
	next.Amount = a
	if next.Type == wallet.Refund {
		next.Target = []wallet.Target{wallet.ToWallet, wallet.ToProvider, wallet.ToOutside}[m.rng.IntN(3)]
	}
	list = append(list, next)
	if next.Type == wallet.PaymentReceived {
		applied := next
		applied.Type = wallet.PaymentApplied
		list = append(list, applied)
	}
	return list, -1
}

// settle gives a deposit to the house, to a club, or back, by parts that make up the whole.
func settle(d deposit, part money.Amount, how int) []wallet.Movement {
	part = part.Min(d.amount)
	make := func(kind wallet.Type, a money.Amount) wallet.Movement {
		m := move(kind, d.reference, d.user, "0")
		m.Amount = a
		return m
	}
	switch how {
	case 0:
		return []wallet.Movement{make(wallet.DepositConsume, part), make(wallet.DepositRefund, d.amount.Minus(part))}
	case 1:
		return []wallet.Movement{make(wallet.DepositPenalty, part), make(wallet.DepositRefund, d.amount.Minus(part))}
	}
	return []wallet.Movement{make(wallet.DepositConsume, d.amount), make(wallet.DepositSupplement, part)}
}

// step runs one transaction of a few operations, leaves out what is short as create-orders does, and gives up before COMMIT now and then.
func (m *mover) step(ctx context.Context) error {
	var list []wallet.Movement
	settled := map[int]bool{}
	for range 1 + m.rng.IntN(24) {
		more, which := m.one()
		if which >= 0 && settled[which] {
			continue
		}
		if which >= 0 {
			settled[which] = true
		}
		list = append(list, more...)
	}
	if len(m.done) > 0 && m.rng.IntN(4) == 0 {
		list = append(list, m.done[m.rng.IntN(len(m.done))]) // somebody repeats himself
	}
	giveUp := m.rng.IntN(20) == 0
	var kept []wallet.Movement
	err := m.w.db.Run(ctx, func(ctx context.Context, tx *sql.Tx) error {
		kept = list
		err := wallet.Apply(ctx, tx, list, time.Now())
		var short *wallet.ShortError
		if errors.As(err, &short) {
			kept = without(list, short.Indexes)
			err = wallet.Apply(ctx, tx, kept, time.Now())
		}
		if err == nil && giveUp {
			return errGaveUp
		}
		return err
	})
	m.ops += len(list)
	switch {
	case errors.Is(err, errGaveUp):
		m.gaveUp += len(list)
		return nil
	case err != nil:
		return err
	}
	m.short += len(list) - len(kept)
	m.note(kept)
	return nil
}

func without(list []wallet.Movement, indexes []int) (kept []wallet.Movement) {
	for i, m := range list {
		if len(indexes) > 0 && indexes[0] == i {
			indexes = indexes[1:]
			continue
		}
		kept = append(kept, m)
	}
	return kept
}

// note keeps account of what was committed.
func (m *mover) note(kept []wallet.Movement) {
	seen := map[[2]string]bool{}
	for _, old := range m.done {
		seen[[2]string{string(old.Type), old.Reference}] = true
	}
	for _, one := range kept {
		name := [2]string{string(one.Type), one.Reference}
		if seen[name] || one.Amount.IsZero() {
			continue
		}
		seen[name] = true
		way := ways[string(one.Type)+string(one.Target)]
		m.sums[way[0]], m.sums[way[1]] = m.sums[way[0]].Sub(one.Amount.Value), m.sums[way[1]].Add(one.Amount.Value)
		switch one.Type {
		case wallet.DepositFreeze:
			m.deposits = append(m.deposits, deposit{one.UserID, one.Reference, one.Amount})
		case wallet.DepositConsume, wallet.DepositPenalty, wallet.DepositRefund:
			for i, d := range m.deposits {
				if d.reference == one.Reference {
					m.deposits = append(m.deposits[:i], m.deposits[i+1:]...)
					break
				}
			}
		}
		m.done = append(m.done, one)
	}
	if len(m.done) > 40 {
		m.done = m.done[len(m.done)-20:]
	}
}

// Many hands move the money of 200 wallets, some give up half-way, roll-ups run beside them, and every reading of the whole ledger finds
// it to the cent: wallets are what their entries say, accounts are what their entries say, all together are zero, none is below zero.
func TestEveryReadingFindsEveryCentWhileManyHandsMoveMoney(t *testing.T) {
	t.Parallel()
	operations, hands := 100_000, 12
	if testing.Short() {
		operations = 4_000
	}
	w := newWorld(t)
	users := make([]string, 200)
	var tops []wallet.Movement
	for i := range users {
		users[i] = fmt.Sprintf("user %03d", i)
		tops = append(tops, move(wallet.TopUp, users[i], users[i], "20.00"))
	}
	w.must(tops...)
	var left atomic.Int64
	left.Store(int64(operations))
	movers := make([]*mover, hands)
	var moving, beside sync.WaitGroup
	ended := make(chan struct{})
	for i := range movers {
		movers[i] = &mover{w: w, rng: rand.New(rand.NewPCG(uint64(i), 1)), name: fmt.Sprint(i), users: users, sums: map[string]decimal.Decimal{}}
		moving.Go(func() {
			for left.Load() > 0 {
				before := movers[i].ops
				if err := movers[i].step(t.Context()); err != nil {
					t.Error(err)
					left.Store(0)
				}
				left.Add(int64(before - movers[i].ops))
			}
		})
	}
	rolled, readings := 0, 0
	beside.Go(func() { rolled = rollUpUntil(t, w, ended) })
	beside.Go(func() { readings = readUntil(t, w, ended) })
	moving.Wait()
	close(ended)
	beside.Wait()
	w.sound()

	ops, short, gaveUp := 0, 0, 0
	want := map[string]decimal.Decimal{"OUTSIDE": decimal.NewFromInt(-200 * 20), "AVAIL": decimal.NewFromInt(200 * 20)}
	for _, m := range movers {
		ops, short, gaveUp = ops+m.ops, short+m.short, gaveUp+m.gaveUp
		for account, sum := range m.sums {
			want[account] = want[account].Add(sum)
		}
	}
	for account, sum := range want {
		if got := w.account(account); got != sum.StringFixed(2) {
			t.Errorf("%s holds %s, and what was committed comes to %s", account, got, sum.StringFixed(2))
		}
	}
	if ops < operations || readings < 2 || short == 0 || gaveUp == 0 || rolled == 0 {
		t.Errorf("too little happened: %d operations, %d readings, %d short, %d given up, %d rolled up", ops, readings, short, gaveUp, rolled)
	}
	t.Logf("%d operations on %d wallets by %d hands (%d short of money, %d given up before COMMIT), %d rows rolled up, %d readings: 0 cents off",
		ops, len(users), hands, short, gaveUp, rolled, readings)
}

func rollUpUntil(t *testing.T, w *world, ended <-chan struct{}) (rows int) {
	for {
		n, err := wallet.RollUp(t.Context(), w.db, 500)
		if err != nil {
			t.Error(err)
			return rows
		}
		rows += n
		select {
		case <-ended:
			return rows
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func readUntil(t *testing.T, w *world, ended <-chan struct{}) int {
	ticker := time.NewTicker(readEvery)
	defer ticker.Stop()
	r := newReader()
	for {
		select {
		case <-ended:
			return r.readings
		case <-ticker.C:
		}
		if what, err := r.read(t.Context(), w.db.DB); err != nil || what != "" {
			t.Errorf("reading %d: %s %v", r.readings, what, err)
			return r.readings
		}
	}
}
