package reconcile

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/shared/sqltx"
	"holdfast/shared/testenv"
)

func TestLeaseIsGivenToOneAtATime(t *testing.T) {
	t.Parallel()
	pool, err := sqltx.Open(testenv.MySQLDSN(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pool.Close() })
	var offset atomic.Int64
	db := sqltx.New(pool, func() time.Duration { return time.Duration(offset.Load()) })
	one, other := New(db, nil, nil, nil, nil, nil), New(db, nil, nil, nil, nil, nil)
	const name, length = "set:a", time.Minute
	first, err := one.acquire(t.Context(), name, length)
	if err != nil {
		t.Fatal(err)
	}
	for who, r := range map[string]*Reconciler{"another process": other, "the same process": one} {
		if _, err := r.acquire(t.Context(), name, length); !errors.Is(err, errLeased) {
			t.Errorf("%s, while it is held: %v", who, err)
		}
	}
	offset.Store(int64(length))
	second, err := other.acquire(t.Context(), name, length)
	if err != nil {
		t.Fatalf("at the instant at which it expires: %v", err)
	}
	if err := first.renew(t.Context()); !errors.Is(err, errLeased) {
		t.Errorf("the first holder renews what he has lost: %v", err)
	}
	first.release(t.Context()) // he may not give away what is another's now
	if _, err := one.acquire(t.Context(), name, length); !errors.Is(err, errLeased) {
		t.Errorf("after the first holder's late release: %v", err)
	}
	offset.Store(int64(length + length/2))
	if err := second.renew(t.Context()); err != nil {
		t.Errorf("the second holder renews: %v", err)
	}
	offset.Store(int64(2*length + length/4))
	if _, err := one.acquire(t.Context(), name, length); !errors.Is(err, errLeased) {
		t.Errorf("after it was renewed: %v", err)
	}
	second.release(t.Context())
	if _, err := one.acquire(t.Context(), name, length); err != nil {
		t.Errorf("after it was given back: %v", err)
	}
}
