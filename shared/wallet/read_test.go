package wallet_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"holdfast/shared/money"
	"holdfast/shared/sale"
	"holdfast/shared/wallet"
)

func TestBalanceAtAnyPastInstantIsThatAfterTheLastMovementUntilThen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	steps := []struct {
		m                 wallet.Movement
		available, frozen string
	}{
		{move(wallet.TopUp, "1", "u", "100.00"), "100.00", "0.00"},
		{move(wallet.DepositFreeze, "o", "u", "40.00"), "60.00", "40.00"},
		{move(wallet.DepositPenalty, "o", "u", "15.50"), "60.00", "24.50"},
		{move(wallet.DepositRefund, "o", "u", "24.50"), "84.50", "0.00"},
	}
	for i, s := range steps {
		if err := w.applyAt(noon.Add(time.Duration(i)*time.Hour), s.m, move(wallet.PaymentManual, fmt.Sprint(i), "u", "1.00")); err != nil {
			t.Fatal(err)
		}
	}
	at := func(instant time.Time, available, frozen string, version int64) {
		t.Helper()
		b, err := wallet.At(t.Context(), w.db, key("u"), instant)
		if err != nil || b.Available.String() != available || b.Frozen.String() != frozen || b.Version != version {
			t.Errorf("at %v: %s, %s, %d, %v; want %s, %s, %d", instant, b.Available, b.Frozen, b.Version, err, available, frozen, version)
		}
	}
	at(noon.Add(-time.Millisecond), "0.00", "0.00", 0)
	for i, s := range steps {
		instant := noon.Add(time.Duration(i) * time.Hour)
		at(instant, s.available, s.frozen, int64(i+1))
		at(instant.Add(time.Hour-time.Millisecond), s.available, s.frozen, int64(i+1))
	}
	at(noon.AddDate(100, 0, 0), "84.50", "0.00", 4)
	if b, err := wallet.At(t.Context(), w.db, wallet.Key{UserID: "u", Currency: "EUR"}, noon); err != nil || b.Version != 0 {
		t.Errorf("a wallet that never was: %+v, %v", b, err)
	}
}

func TestEntriesAreListedNewestFirstInPagesAndThoseOfTheOwnerAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := sale.NewOrderID(1, nil, "u", "k")
	freeze := move(wallet.DepositFreeze, id.String(), "u", "4.00")
	freeze.OrderID = id
	yen := move(wallet.TopUp, "y", "u", "0")
	yen.Amount = money.Of(decimal.NewFromInt(1250), "JPY")
	penalty := move(wallet.DepositPenalty, id.String(), "u", "1.00")
	penalty.OrderID = id
	w.must(move(wallet.TopUp, "1", "u", "10.00"), move(wallet.TopUp, "2", "U", "7.00"), freeze, move(wallet.PaymentReceived, "p", "u", "3.00"), yen, penalty)
	type line struct {
		kind                     wallet.Type
		available, frozen, after string
		order                    sale.OrderID
	}
	want := []line{{wallet.DepositPenalty, "0.00", "-1.00", "6.00", id}, {wallet.TopUp, "1250", "0", "1250", sale.OrderID{}},
		{wallet.DepositFreeze, "-4.00", "4.00", "6.00", id}, {wallet.TopUp, "10.00", "0.00", "10.00", sale.OrderID{}}}
	var got []line
	for before := int64(1 << 62); ; {
		page, err := wallet.List(t.Context(), w.db, "u", before, 3)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		for _, e := range page {
			got = append(got, line{e.Type, e.AvailableDelta.String(), e.FrozenDelta.String(), e.After.Available.String(), e.OrderID})
			if !e.At.Equal(noon) {
				t.Errorf("%s is of %v", e.Type, e.At)
			}
			before = e.ID
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	currencies, err := wallet.Currencies(t.Context(), w.db, "u")
	if err != nil || !slices.Equal(currencies, []string{"CNY", "JPY"}) {
		t.Errorf("currencies %v, %v", currencies, err)
	}
}
