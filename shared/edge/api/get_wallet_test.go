package api

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"holdfast/shared/money"
	"holdfast/shared/sale"
	"holdfast/shared/wallet"
)

// move brings movements of "alice" into the ledger of a world.
func (w *world) move(list ...wallet.Movement) {
	w.t.Helper()
	err := w.d.DB.Run(w.t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		now, err := w.d.DB.Now(ctx, tx)
		if err != nil {
			return err
		}
		return wallet.Apply(ctx, tx, list, now)
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

func movement(kind wallet.Type, reference, user, amount, currency string) wallet.Movement {
	return wallet.Movement{Type: kind, Reference: reference, UserID: user, Amount: money.Of(decimal.RequireFromString(amount), currency)}
}

// seekWallet is a GET of the wallet.
func seekWallet(user, query string) ask {
	return ask{user: user, method: "GET", path: "/v1/wallet", query: query}
}

// holding writes amounts as the contract does, for comparing.
func holding(available, frozen, currency string) string {
	return fmt.Sprintf(`{"available":{"amount":%q,"currency":%q},"frozen":{"amount":%q,"currency":%q},"now":`, available, currency, frozen, currency)
}

func (w *world) holds(user, currency, available, frozen string) {
	w.t.Helper()
	got := w.call(NewGetWallet(w.d), seekWallet(user, "currency="+currency))
	w.expect(got, 200, "")
	now, err := time.Parse(time.RFC3339, got.str("now"))
	if err != nil || time.Since(now).Abs() > time.Minute {
		w.t.Errorf("now is %q", got.str("now"))
	}
	if want := holding(available, frozen, currency); len(got.text) < len(want) || got.text[:len(want)] != want {
		w.t.Errorf("%s, want %s…", got.text, want)
	}
}

func TestWalletIsReadAsCommittedAndByItsOwnerAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.holds("alice", "CNY", "0.00", "0.00")
	w.move(movement(wallet.TopUp, "1", "alice", "100.00", "CNY"), movement(wallet.DepositFreeze, "o", "alice", "40.10", "CNY"),
		movement(wallet.TopUp, "2", "alice", "1250", "JPY"), movement(wallet.TopUp, "3", "Alice", "7.00", "CNY"))
	w.holds("alice", "CNY", "59.90", "40.10")
	w.holds("alice", "JPY", "1250", "0")
	w.holds("alice", "EUR", "0.00", "0.00")
	w.holds("Alice", "CNY", "7.00", "0.00")
	w.move(movement(wallet.PaymentWallet, "o2", "alice", "59.90", "CNY"))
	w.holds("alice", "CNY", "0.00", "40.10")
	if w.rows("wallet") != 3 {
		t.Error("reading a wallet made one")
	}
	w.expect(w.call(NewGetWallet(w.d), seekWallet("", "currency=CNY")), 401, "UNAUTHENTICATED")
}

func TestWalletWantsExactlyOneCurrencyThatThereIs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for query, want := range map[string]struct {
		status int
		code   string
	}{
		"": {400, "REQUIRED"}, "currency=": {400, "REQUIRED"}, "currency=CNY&currency=EUR": {400, "DUPLICATE_FIELD"},
		"currency=cny": {422, "BAD_CURRENCY"}, "currency=XYZ": {422, "BAD_CURRENCY"}, "currency=KWD": {422, "BAD_CURRENCY"},
	} {
		got := w.call(NewGetWallet(w.d), seekWallet("alice", query))
		w.expect(got, want.status, "VALIDATION_FAILED")
		list, _ := got.body["errors"].([]any)
		if len(list) != 1 || list[0].(map[string]any)["pointer"] != "?currency" || list[0].(map[string]any)["code"] != want.code {
			t.Errorf("%q: %s", query, got.text)
		}
	}
}

func TestWalletAnswers503WithoutItsDatabase(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mysql.Down()
	w.expect(w.call(NewGetWallet(w.d), seekWallet("alice", "currency=CNY")), 503, "ORDER_STORE_UNAVAILABLE")
	w.expect(w.call(NewListWalletEntries(w.d), ask{user: "alice", method: "GET", path: "/v1/wallet/entries"}), 503, "ORDER_STORE_UNAVAILABLE")
}

func TestWalletEntriesGoFromNewToOldInPagesAndAddUpToTheBalance(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := sale.NewOrderID(1, nil, "alice", "k")
	freeze := movement(wallet.DepositFreeze, id.String(), "alice", "40.00", "CNY")
	freeze.OrderID = id
	w.move(movement(wallet.TopUp, "1", "alice", "100.00", "CNY"), movement(wallet.TopUp, "2", "bob", "5.00", "CNY"), freeze,
		movement(wallet.PaymentReceived, "p", "alice", "3.00", "CNY"), movement(wallet.Withdrawal, "3", "alice", "10.00", "CNY"))
	read := func(user, query string) answer {
		got := w.call(NewListWalletEntries(w.d), ask{user: user, method: "GET", path: "/v1/wallet/entries", query: query})
		w.expect(got, 200, "")
		return got
	}
	var kinds []string
	available, frozen := decimal.Zero, decimal.Zero
	for cursor, pages := "", 0; pages == 0 || cursor != ""; pages++ {
		got := read("alice", "limit=2&cursor="+cursor)
		cursor = got.str("nextCursor")
		for _, one := range got.body["items"].([]any) {
			e := one.(map[string]any)
			kinds = append(kinds, e["type"].(string))
			delta := func(name string) decimal.Decimal {
				return decimal.RequireFromString(e[name].(map[string]any)["amount"].(string))
			}
			available, frozen = available.Add(delta("availableDelta")), frozen.Add(delta("frozenDelta"))
			if orderID, named := e["orderId"]; named != (e["type"] == "DEPOSIT_FREEZE") || named && orderID != id.String() {
				t.Errorf("%v names order %v", e["type"], orderID)
			}
			if e["entryId"] == "" || e["at"] == "" {
				t.Errorf("%v", e)
			}
		}
		if pages > 2 {
			t.Fatal("the pages do not end")
		}
	}
	if !slices.Equal(kinds, []string{"WITHDRAWAL", "DEPOSIT_FREEZE", "TOP_UP"}) || available.StringFixed(2) != "50.00" || frozen.StringFixed(2) != "40.00" {
		t.Errorf("%v add up to %s and %s", kinds, available, frozen)
	}
	if got := read("carol", ""); got.text != `{"items":[]}` {
		t.Errorf("nobody's entries: %s", got.text)
	}
	for _, query := range []string{"cursor=x!", "limit=0", "limit=101"} {
		w.expect(w.call(NewListWalletEntries(w.d), ask{user: "alice", method: "GET", path: "/v1/wallet/entries", query: query}), 422, "VALIDATION_FAILED")
	}
	w.expect(w.call(NewListWalletEntries(w.d), ask{method: "GET", path: "/v1/wallet/entries"}), 401, "UNAUTHENTICATED")
}
