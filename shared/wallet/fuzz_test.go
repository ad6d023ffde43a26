package wallet_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/shopspring/decimal"

	"holdfast/shared/money"
	"holdfast/shared/wallet"
)

// bytesPerMovement is how much of the input makes one movement.
const bytesPerMovement = 4

// movements reads lists of movements from bytes: of few users, references and amounts, so that they meet. tag sets the run's users and
// references apart from those of the runs before it.
func movements(data []byte, tag string) (lists [][]wallet.Movement) {
	var list []wallet.Movement
	for len(data) >= bytesPerMovement {
		c := chart[int(data[0])%len(chart)]
		m := wallet.Movement{Type: c.kind, Target: c.target, UserID: fmt.Sprint(tag, "u", data[1]%3), Reference: fmt.Sprint(tag, "r", data[1]/3%8)}
		m.Amount = money.Of(decimal.New(int64(data[2]%8)*50, -2), "CNY")
		if data[2]&0x80 != 0 {
			m.Amount = money.Of(decimal.NewFromInt(int64(data[2]%8)), "JPY")
		}
		if c.kind == wallet.DepositPenalty || c.kind == wallet.PenaltyReversal {
			m.ClubID = "c1"
		}
		list = append(list, m)
		if data[3]%4 == 0 {
			lists, list = append(lists, list), nil
		}
		data = data[bytesPerMovement:]
	}
	if len(list) > 0 {
		lists = append(lists, list)
	}
	return lists
}

// runs numbers the inputs of a process, which share a database.
var runs atomic.Int64

func FuzzApplyIsTheSimplestLedger(f *testing.F) {
	f.Add([]byte{0, 0, 7, 1, 2, 0, 3, 1, 3, 0, 3, 0})
	rng := rand.New(rand.NewPCG(7, 7))
	for range 25 {
		seed := make([]byte, bytesPerMovement*(10+rng.IntN(60)))
		for i := range seed {
			seed[i] = byte(rng.Uint32())
		}
		for i := 0; i < len(seed); i += 3 * bytesPerMovement {
			seed[i] = byte(len(chart)) * (seed[i] % 4) // every third one is a top-up, else little would be covered
		}
		f.Add(seed)
	}
	w := newWorld(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		data = data[:min(len(data), 100*bytesPerMovement)] // more would only take longer
		w := &world{t, w.db}
		tag := fmt.Sprint(runs.Add(1), "/")
		model, accounts := newBook(), func() map[[2]string]int64 { return w.accounts() }
		before := accounts()
		for n, list := range movements(data, tag) {
			want := model.apply(list)
			got, err := judge(w.apply(list...))
			if err != nil || !got.equal(want) {
				t.Fatalf("list %d: %v, want %v (%v): %+v", n, got, want, err, list)
			}
		}
		for k, p := range model.wallets {
			b, err := wallet.Get(t.Context(), w.db, k)
			if err != nil || hundredths(b.Available) != p.available || hundredths(b.Frozen) != p.frozen || b.Version != p.version {
				t.Errorf("%v: %+v, want %+v: %v", k, b, p, err)
			}
		}
		if n := w.count(`SELECT COUNT(*) FROM wallet WHERE user_id LIKE ?`, tag+"%"); n != len(model.wallets) {
			t.Errorf("%d wallets, want %d", n, len(model.wallets))
		}
		if n := w.count(`SELECT COUNT(*) FROM wallet_log WHERE user_id LIKE ?`, tag+"%"); n != len(model.written) {
			t.Errorf("%d entries, want %d", n, len(model.written))
		}
		for k, after := range accounts() {
			if after-before[k] != model.accounts[k] {
				t.Errorf("%v changed by %d, want %d", k, after-before[k], model.accounts[k])
			}
		}
	})
}

func judge(err error) (verdict, error) {
	var short *wallet.ShortError
	switch {
	case err == nil:
		return verdict{word: "ok"}, nil
	case errors.As(err, &short):
		return verdict{"short", short.Indexes}, nil
	case errors.Is(err, wallet.ErrFrozen):
		return verdict{word: "frozen"}, nil
	case errors.Is(err, wallet.ErrConflict):
		return verdict{word: "conflict"}, nil
	}
	return verdict{}, err
}

func hundredths(a money.Amount) int64 { return a.Value.Shift(2).IntPart() }

// accounts reads all accounts that are no wallets, in hundredths.
func (w *world) accounts() map[[2]string]int64 {
	w.t.Helper()
	out := map[[2]string]int64{}
	for _, account := range []string{"HOUSE", "PROVIDER", "SUSPENSE", "OUTSIDE", "CLUB:c1"} {
		for _, currency := range []string{"CNY", "JPY"} {
			a, err := wallet.AccountBalance(w.t.Context(), w.db, account, currency)
			if err != nil {
				w.t.Fatal(err)
			}
			out[[2]string{account, currency}] = hundredths(a)
		}
	}
	return out
}
