package money_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/shared/reconcile"
	"holdfast/shared/sale"
	"holdfast/shared/wallet"
)

func TestSoundMoneyGivesNoDifference(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.sound()
	sum := w.round()
	if got := w.differences(""); len(got) != 0 {
		t.Errorf("found %q", got)
	}
	if sum.Status != "SUCCEEDED" || sum.Orders != 8 || sum.Deposits != 4 || sum.Wallets != 4 || sum.Accounts < 7 || sum.Differences != 0 {
		t.Errorf("%+v", sum)
	}
	if w.printed.Len() > 0 {
		t.Errorf("counted %s", w.printed.String())
	}
}

func TestAnEmptyDatabaseIsSound(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if sum := w.round(); sum.Status != "SUCCEEDED" || sum.Differences != 0 {
		t.Errorf("%+v", sum)
	}
}

// plants holds one error each, and every difference that must be found then: no others.
var plants = map[string]struct {
	plant func(w *world, ids map[string]sale.OrderID)
	found func(ids map[string]sale.OrderID) []string
}{
	"parts of a settled deposit that do not add up": {
		func(w *world, ids map[string]sale.OrderID) {
			w.exec(`UPDATE deposit_record SET refunded = 29 WHERE order_id = ?`, idOf(ids["penalty"]))
		},
		func(ids map[string]sale.OrderID) []string {
			return []string{"DEPOSIT_DIFFERS a " + ids["penalty"].String()}
		}},
	"a penalty that the ledger has otherwise": {
		func(w *world, ids map[string]sale.OrderID) {
			w.exec(`UPDATE deposit_record SET penalty = 11, refunded = 29 WHERE order_id = ?`, idOf(ids["penalty"]))
		},
		func(ids map[string]sale.OrderID) []string {
			return []string{"ACCOUNT_DIFFERS  CLUB:club CNY", "DEPOSIT_DIFFERS a " + ids["penalty"].String()}
		}},
	"money that another user's wallet was frozen for": {
		func(w *world, ids map[string]sale.OrderID) {
			w.exec(`UPDATE deposit_record SET user_id = 'zoe' WHERE order_id = ?`, idOf(ids["frozen"]))
		},
		func(ids map[string]sale.OrderID) []string {
			return []string{"DEPOSIT_DIFFERS a " + ids["frozen"].String()}
		}},
	"a penalty for another club": {
		func(w *world, ids map[string]sale.OrderID) {
			w.exec(`UPDATE deposit_record SET club_id = 'other' WHERE order_id = ?`, idOf(ids["penalty"]))
		},
		func(ids map[string]sale.OrderID) []string {
			return []string{"ACCOUNT_DIFFERS  CLUB:club CNY", "ACCOUNT_DIFFERS  CLUB:other CNY", "DEPOSIT_DIFFERS a " + ids["penalty"].String()}
		}},
	"a deposit that is gone while its money is frozen": {
		func(w *world, ids map[string]sale.OrderID) {
			w.exec(`DELETE FROM deposit_record WHERE order_id = ?`, idOf(ids["frozen"]))
		},
		func(ids map[string]sale.OrderID) []string {
			return []string{"ACCOUNT_DIFFERS  FROZEN CNY", "DEPOSIT_DIFFERS  " + ids["frozen"].String()}
		}},
	"a rehearsal that moved money": {
		func(w *world, ids map[string]sale.OrderID) {
			w.move(movement(wallet.DepositFreeze, ids["rehearsal"], "ann", "40.00"))
		},
		func(ids map[string]sale.OrderID) []string {
			return []string{"ACCOUNT_DIFFERS  FROZEN CNY", "DEPOSIT_DIFFERS a " + ids["rehearsal"].String(), "ORDER_MONEY_DIFFERS a " + ids["rehearsal"].String()}
		}},
	"a refund in the order that the ledger does not have": {
		func(w *world, ids map[string]sale.OrderID) {
			w.exec(`UPDATE trade_order SET refunded = 1 WHERE id = ?`, idOf(ids["manual"]))
		},
		func(ids map[string]sale.OrderID) []string {
			return []string{"ACCOUNT_DIFFERS  HOUSE CNY", "ORDER_MONEY_DIFFERS a " + ids["manual"].String()}
		}},
	"an order that is gone while the house has its money": {
		func(w *world, ids map[string]sale.OrderID) {
			w.exec(`DELETE FROM trade_order WHERE id = ?`, idOf(ids["manual"]))
		},
		func(ids map[string]sale.OrderID) []string {
			return []string{"ACCOUNT_DIFFERS  HOUSE CNY", "ORDER_MONEY_DIFFERS  " + ids["manual"].String()}
		}},
	"a wallet with a cent more": {
		func(w *world, _ map[string]sale.OrderID) {
			w.exec(`UPDATE wallet SET available = available + 0.01 WHERE user_id = 'bob'`)
		},
		func(map[string]sale.OrderID) []string {
			return []string{"ACCOUNT_DIFFERS  ALL CNY", "ACCOUNT_DIFFERS  AVAIL CNY", "WALLET_DIFFERS  bob CNY"}
		}},
	"a wallet with a gap in its versions": {
		func(w *world, _ map[string]sale.OrderID) {
			w.exec(`UPDATE wallet_log SET version = version + 1 WHERE user_id = 'cat' ORDER BY version DESC LIMIT 1`)
			w.exec(`UPDATE wallet SET version = version + 1 WHERE user_id = 'cat'`)
		},
		func(map[string]sale.OrderID) []string { return []string{"WALLET_DIFFERS  cat CNY"} }},
	"a balance after the newest entry that is another": {
		func(w *world, _ map[string]sale.OrderID) {
			w.exec(`UPDATE wallet_log SET available_after = 1 WHERE user_id = 'cat' ORDER BY version DESC LIMIT 1`)
		},
		func(map[string]sale.OrderID) []string { return []string{"WALLET_DIFFERS  cat CNY"} }},
	"an account with a cent more": {
		func(w *world, _ map[string]sale.OrderID) {
			w.exec(`INSERT INTO account_inbox (account, currency, amount) VALUES ('OUTSIDE', 'CNY', 0.01)`)
		},
		func(map[string]sale.OrderID) []string {
			return []string{"ACCOUNT_DIFFERS  ALL CNY", "ACCOUNT_DIFFERS  OUTSIDE CNY"}
		}},
	"a success that is decided in its row alone": {
		func(w *world, _ map[string]sale.OrderID) {
			w.exec(`UPDATE payment SET disposition = 'REFUND' WHERE payment_id = 'p2'`)
		},
		func(map[string]sale.OrderID) []string { return []string{"ACCOUNT_DIFFERS  SUSPENSE CNY"} }},
	"a success that nobody booked": {
		func(w *world, ids map[string]sale.OrderID) { w.payment("p9", ids["provider"], "REFUND") },
		func(map[string]sale.OrderID) []string { return []string{"ACCOUNT_DIFFERS  PROVIDER CNY"} }},
	"a refund that failed in its row alone": {
		func(w *world, _ map[string]sale.OrderID) {
			w.exec(`UPDATE refund SET status = 'SENT', finished_at = NULL WHERE refund_id = 'r3'`)
		},
		func(map[string]sale.OrderID) []string {
			return []string{"ACCOUNT_DIFFERS  PROVIDER CNY", "ACCOUNT_DIFFERS  SUSPENSE CNY"}
		}},
}

func TestEveryPlantedErrorIsFoundAndNothingElse(t *testing.T) {
	t.Parallel()
	for name, p := range plants {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			ids := w.sound()
			p.plant(w, ids)
			sum := w.round()
			want := p.found(ids)
			if got := w.differences(reconcile.DifferenceOpen); !slices.Equal(got, want) {
				t.Errorf("found %q\nwant  %q", got, want)
			}
			ofRehearsals := 0
			if strings.Contains(name, "rehearsal") {
				ofRehearsals = 2
			}
			if sum.Differences != len(want)-ofRehearsals {
				t.Errorf("counted %d", sum.Differences)
			}
			if line := fmt.Sprintf(`"deposit_reconciliation_diff_total":%d`, sum.Differences); !strings.Contains(w.printed.String(), line) {
				t.Errorf("printed %q, want %s", w.printed.String(), line)
			}
		})
	}
}

func TestADepositIsStaleFortyEightHoursAfterItsDeadline(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ids := w.sound()
	w.advance = time.Hour + 48*time.Hour - time.Minute
	if w.round(); len(w.differences("")) != 0 {
		t.Errorf("too early: %q", w.differences(""))
	}
	w.advance += 2 * time.Minute
	sum := w.round()
	want := []string{"DEPOSIT_STALE a " + ids["frozen"].String(), "DEPOSIT_STALE a " + ids["rehearsal"].String()}
	if got := w.differences(reconcile.DifferenceOpen); !slices.Equal(got, want) {
		t.Errorf("found %q", got)
	}
	if sum.Stale != 1 || !strings.Contains(w.printed.String(), `"deposit_stale_frozen_count":1`) {
		t.Errorf("%+v, printed %s: a rehearsal is no figure", sum, w.printed.String())
	}
}

func TestADifferenceThatIsMendedIsGoneAndOneLeftAloneStaysSo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.sound()
	w.exec(`UPDATE wallet SET available = available + 0.01 WHERE user_id = 'bob'`)
	w.round()
	w.round()
	list, err := reconcile.ListDifferences(t.Context(), w.db, reconcile.DifferenceFilter{}, 1<<40, 10)
	if err != nil || len(list) != 3 || list[0].Occurrences != 2 || list[0].Revision != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	w.exec(`UPDATE difference SET status = 'RESOLVED', action = 'NONE', operator = 'op', resolved_at = '2031-01-01 10:00:00' WHERE kind = 'WALLET_DIFFERS'`)
	w.round()
	if got := w.differences(reconcile.DifferenceOpen); len(got) != 2 {
		t.Errorf("what a person left alone is open again: %q", got)
	}
	w.exec(`UPDATE wallet SET available = available + 0.01 WHERE user_id = 'bob'`)
	w.round()
	if got := w.differences(reconcile.DifferenceOpen); len(got) != 3 {
		t.Errorf("it says something else and is not open: %q", got)
	}
	w.exec(`UPDATE wallet SET available = available - 0.02 WHERE user_id = 'bob'`)
	w.round()
	if open, gone := w.differences(reconcile.DifferenceOpen), w.differences(reconcile.DifferenceGone); len(open) != 0 || len(gone) != 3 {
		t.Errorf("open %q, gone %q", open, gone)
	}
}

func TestWhatAPersonLeftAloneIsNotCountedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.sound()
	w.advance = 72 * time.Hour // so that the deposit that is FROZEN is stale
	w.exec(`UPDATE wallet SET available = available + 0.01 WHERE user_id = 'bob'`)
	if sum := w.round(); sum.Differences < 4 || sum.Stale != 1 {
		t.Fatalf("%+v", sum)
	}
	w.exec(`UPDATE difference SET status = 'RESOLVED', action = 'NONE', operator = 'op', resolved_at = '2031-01-01 10:00:00'
 WHERE kind <> 'ACCOUNT_DIFFERS'`)
	open := w.differences(reconcile.DifferenceOpen)
	w.printed.Reset()
	if sum := w.round(); sum.Differences != len(open) || sum.Stale != 0 {
		t.Errorf("open are %q, counted %+v", open, sum)
	}
	if line := fmt.Sprintf(`"deposit_reconciliation_diff_total":%d`, len(open)); !strings.Contains(w.printed.String(), line) ||
		strings.Contains(w.printed.String(), "stale") {
		t.Errorf("printed %q, want %s alone", w.printed.String(), line)
	}
}

func TestSalesThatGoOnAreNeverTakenForDifferences(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.sound()
	stop := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			default:
			}
			user := fmt.Sprint("u", n%3)
			w.move(wallet.Movement{Type: wallet.TopUp, Reference: fmt.Sprint("t", n), UserID: user, Amount: yuan("1.00")})
			if _, err := wallet.RollUp(context.Background(), w.db, 50); err != nil {
				t.Error(err)
			}
		}
	})
	for range 10 {
		w.round()
	}
	close(stop)
	group.Wait()
	if got := w.differences(""); len(got) != 0 {
		t.Errorf("found %q", got)
	}
}

func TestEveryDifferenceOfMoneyCanBeLeftAlone(t *testing.T) {
	t.Parallel()
	for _, kind := range reconcile.MoneyKinds() {
		if actions := reconcile.DifferenceKind(kind).Actions(); len(actions) == 0 || actions[len(actions)-1] != reconcile.ActNone {
			t.Errorf("%s can be answered by %v", kind, actions)
		}
	}
}
