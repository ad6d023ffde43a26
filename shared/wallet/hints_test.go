package wallet_test

import (
	"fmt"
	"testing"
	"time"

	"holdfast/shared/testenv"
	"holdfast/shared/wallet"
)

func TestHintIsKeptForSecondsAndDroppedHintsStayDroppedForReadersOfBefore(t *testing.T) {
	t.Parallel()
	rdb := testenv.Redis(t)
	h := wallet.New(rdb)
	user := fmt.Sprint("hinted ", time.Now().UnixNano(), " }{")
	k, name := key(user), "wallet:balance:{"+user+"}"
	t.Cleanup(func() { rdb.Del(t.Context(), name) })
	old := wallet.Balance{Available: yuan("12.50"), Frozen: yuan("0.10"), Version: 3}
	expect := func(when string, want *wallet.Balance) {
		t.Helper()
		b, found, err := h.Get(t.Context(), k)
		if err != nil || found != (want != nil) {
			t.Fatalf("%s: found %v, %v", when, found, err)
		}
		if found && (b.Available.Cmp(want.Available) != 0 || b.Frozen.Cmp(want.Frozen) != 0 || b.Version != want.Version) {
			t.Errorf("%s: %+v", when, b)
		}
	}
	expect("at first", nil)
	if err := h.Put(t.Context(), k, old); err != nil {
		t.Fatal(err)
	}
	expect("kept", &old)
	if ttl := rdb.PTTL(t.Context(), name).Val(); ttl <= 0 || ttl > 5*time.Second {
		t.Errorf("it lives for %v", ttl)
	}
	if _, found, err := h.Get(t.Context(), wallet.Key{UserID: user, Currency: "EUR"}); found || err != nil {
		t.Errorf("a hint of another currency was taken: %v", err)
	}
	if err := h.Drop(t.Context(), []wallet.Key{k, k, {UserID: user, Currency: "EUR"}}); err != nil {
		t.Fatal(err)
	}
	expect("dropped", nil)
	// Somebody read the balance before the movement and puts it down after the drop.
	if err := h.Put(t.Context(), k, old); err != nil {
		t.Fatal(err)
	}
	expect("put by a slow reader", nil)
	if ttl := rdb.PTTL(t.Context(), name).Val(); ttl <= 0 || ttl > 5*time.Second {
		t.Errorf("the drop lives for %v", ttl)
	}
	// A foreign hand's value is no hint.
	for _, text := range []string{"", "3", "3 12.5 0.10 CNY", "x 12.50 0.10 CNY", "3 12.50 0.10 CNY more", "3 1e2 0.10 CNY"} {
		rdb.Set(t.Context(), name, text, time.Second)
		expect(text, nil)
	}
	if err := h.Drop(t.Context(), nil); err != nil {
		t.Error(err)
	}
}
