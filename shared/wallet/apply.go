package wallet

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"holdfast/shared/money"
	"holdfast/shared/sqltx"
)

// Refusals of Apply. None of them has written anything.
var (
	ErrShort    = errors.New("wallet: too little is available")
	ErrConflict = errors.New("wallet: the movement was written with other particulars")
	ErrFrozen   = errors.New("wallet: less is frozen under the reference than is to be taken from it")
	ErrFull     = errors.New("wallet: the wallet would hold more than it can")
)

// ShortError is the ErrShort of Apply, which tells what could not be covered.
type ShortError struct {
	Indexes []int // of the list that Apply was given, ascending
}

// Error names how many.
func (e *ShortError) Error() string {
	return fmt.Sprintf("%v for %d movements", ErrShort, len(e.Indexes))
}

// Is makes it an ErrShort.
func (e *ShortError) Is(target error) bool { return target == ErrShort }

// rounds bounds how often Apply begins again because somebody wrote the same movement, or made the same wallet, at the same time.
const rounds = 4

// step is a movement that is not left out, with its place in the caller's list.
type step struct {
	Movement
	index    int
	from, to string
}

func (s *step) key() Key        { return Key{s.UserID, s.Amount.Currency} }
func (s *step) hasWallet() bool { return ofWallet(s.from) || ofWallet(s.to) }

// held is a locked wallet, or one that has no row yet.
type held struct {
	Balance
	at     time.Time // of its last movement
	exists bool
	moved  bool
}

// entry is a step as it is written, with the wallet afterwards; that is nil when no wallet moves.
type entry struct {
	*step
	after *Balance
	at    time.Time
}

// Apply writes movements in the transaction tx: it locks their wallets in the order of their keys, reckons in the order of the list, and
// writes entries, wallets and account_inbox in few statements. Movements of nothing are left out, and so are those that were written
// before, or stand in the list before, with the same particulars. An entry's instant is now, or that of the wallet's last movement when
// that is later.
//
// When wallets have too little available it writes nothing and returns a *ShortError (ErrShort) with those movements that cannot be
// covered when all are taken in order and these are skipped; called again in the same transaction without them it succeeds, for the
// wallets stay locked. It returns ErrConflict for a movement that was written with other particulars; ErrFrozen when more is to be taken
// from what is frozen than entries of the same reference have left there, which means that rows disagree; ErrFull when a wallet would
// outgrow its column; ErrMalformed; and the errors of the driver, after which tx must be rolled back.
func Apply(ctx context.Context, tx *sql.Tx, list []Movement, now time.Time) error {
	_, err := apply(ctx, tx, list, now)
	return err
}

// apply is Apply that says how many movements it wrote.
func apply(ctx context.Context, tx *sql.Tx, list []Movement, now time.Time) (written int, err error) {
	steps, err := plan(list)
	if err != nil || len(steps) == 0 {
		return 0, err
	}
	for round := 1; ; round++ {
		written, again, err := applyOnce(ctx, tx, steps, now)
		if !again || round == rounds {
			return written, err
		}
	}
}

// applyOnce says again when somebody else wrote the same at the same time and nothing of ours stands, so that what they wrote is there
// to be read now.
func applyOnce(ctx context.Context, tx *sql.Tx, steps []*step, now time.Time) (written int, again bool, err error) {
	wallets, err := lockWallets(ctx, tx, walletsOf(steps))
	if err != nil {
		return 0, false, err
	}
	before, err := readWritten(ctx, tx, steps)
	if err != nil {
		return 0, false, err
	}
	fresh, err := unwritten(steps, before)
	if err != nil {
		return 0, false, err
	}
	entries, err := reckon(wallets, depositsOf(before), fresh, now)
	if err != nil {
		return 0, false, err
	}
	if stand, err := writeLog(ctx, tx, entries); err != nil {
		_, raced := sqltx.DuplicateKey(err)
		return 0, raced && stand == 0, err
	}
	if err := writeWallets(ctx, tx, wallets); err != nil {
		return 0, false, err
	}
	return len(entries), false, writeInbox(ctx, tx, entries)
}

// name is what a movement is known by.
type name struct {
	kind      Type
	reference string
}

// plan checks the movements and leaves out those of nothing and repeated ones.
func plan(list []Movement) ([]*step, error) {
	steps, seen := make([]*step, 0, len(list)), make(map[name]*step, len(list))
	for i, m := range list {
		from, to, err := m.Accounts()
		if err == nil {
			err = m.check()
		}
		if err != nil {
			return nil, fmt.Errorf("movement %d: %w", i, err)
		}
		if m.Amount.IsZero() {
			continue
		}
		s := &step{m, i, from, to}
		if first, repeated := seen[name{m.Type, m.Reference}]; repeated {
			if !first.same(s) {
				return nil, fmt.Errorf("movement %d: %w", i, ErrConflict)
			}
			continue
		}
		seen[name{m.Type, m.Reference}] = s
		steps = append(steps, s)
	}
	return steps, nil
}

func (s *step) same(o *step) bool {
	return s.Type == o.Type && s.Reference == o.Reference && s.UserID == o.UserID && s.OrderID == o.OrderID && s.from == o.from &&
		s.to == o.to && s.Amount.Currency == o.Amount.Currency && s.Amount.Value.Equal(o.Amount.Value)
}

// unwritten leaves out the steps that have an entry. It returns ErrConflict when the entry has other particulars.
func unwritten(steps []*step, before map[name]*step) ([]*step, error) {
	fresh := make([]*step, 0, len(steps))
	for _, s := range steps {
		switch there := before[name{s.Type, s.Reference}]; {
		case there == nil:
			fresh = append(fresh, s)
		case !there.same(s):
			return nil, fmt.Errorf("movement %d, a %s: %w", s.index, s.Type, ErrConflict)
		}
	}
	return fresh, nil
}

// deposit names what one reference holds of a wallet.
type deposit struct {
	Key
	reference string
}

func (s *step) deposit() deposit { return deposit{s.key(), s.Reference} }

// depositsOf is what is still frozen under each reference by the entries.
func depositsOf(before map[name]*step) map[deposit]decimal.Decimal {
	held := make(map[deposit]decimal.Decimal)
	for _, s := range before {
		held[s.deposit()] = held[s.deposit()].Add(s.delta(Frozen).Value)
	}
	return held
}

// reckon moves the balances in memory, in order, and gives the entries. It returns a *ShortError, ErrFrozen or ErrFull.
func reckon(wallets map[Key]*held, deposits map[deposit]decimal.Decimal, steps []*step, now time.Time) ([]entry, error) {
	entries, short := make([]entry, 0, len(steps)), []int(nil)
	now = now.UTC().Truncate(time.Millisecond)
	for _, s := range steps {
		if !s.hasWallet() {
			entries = append(entries, entry{s, nil, now})
			continue
		}
		w := wallets[s.key()]
		available, frozen := w.Available.Plus(s.delta(Available)), w.Frozen.Plus(s.delta(Frozen))
		switch {
		case available.IsNegative():
			short = append(short, s.index)
			continue
		case frozen.IsNegative() || deposits[s.deposit()].Add(s.delta(Frozen).Value).IsNegative():
			return nil, fmt.Errorf("movement %d, a %s: %w", s.index, s.Type, ErrFrozen)
		case available.Value.GreaterThanOrEqual(outgrows) || frozen.Value.GreaterThanOrEqual(outgrows):
			return nil, fmt.Errorf("movement %d, a %s: %w", s.index, s.Type, ErrFull)
		}
		deposits[s.deposit()] = deposits[s.deposit()].Add(s.delta(Frozen).Value)
		w.Balance, w.moved = Balance{available, frozen, w.Version + 1}, true
		if w.at.Before(now) {
			w.at = now
		}
		after := w.Balance
		entries = append(entries, entry{s, &after, w.at})
	}
	if len(short) > 0 {
		return nil, &ShortError{Indexes: short}
	}
	return entries, nil
}

// walletsOf are the wallets that the steps move, some perhaps more than once.
func walletsOf(steps []*step) []Key {
	keys := make([]Key, 0, len(steps))
	for _, s := range steps {
		if s.hasWallet() {
			keys = append(keys, s.key())
		}
	}
	return keys
}

// delta is what the step changes an account by.
func (s *step) delta(account string) money.Amount {
	switch account {
	case s.from:
		return s.Amount.Negated()
	case s.to:
		return s.Amount
	}
	return money.Zero(s.Amount.Currency)
}

// sortedKeys gives the keys of wallets in the order in which their rows are locked and written.
func sortedKeys[V any](wallets map[Key]V) []Key {
	return slices.SortedFunc(maps.Keys(wallets), func(a, b Key) int {
		return cmp.Or(strings.Compare(a.UserID, b.UserID), strings.Compare(a.Currency, b.Currency))
	})
}
