package stock

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"holdfast/lua"
	"holdfast/shared/testenv"
)

func TestRefusedConnectionMeansThatNothingHappened(t *testing.T) {
	t.Parallel()
	s := newSale(t, testenv.Redis(t), 1, 5)
	proxy := testenv.Proxy(t, testenv.RedisAddr(t))
	proxy.Down()
	s.store = New(testenv.RedisClient(t, proxy.Addr), nil)
	if _, err := s.reserve(s.wish("u1", "k", 1)); !errors.Is(err, ErrUnavailable) {
		t.Errorf("%v", err)
	}
	proxy.Up()
	s.take("u1", "k", 1)
}

func TestCallerWithoutTimeLeftSendsNothing(t *testing.T) {
	t.Parallel()
	s := newSale(t, testenv.Redis(t), 1, 5)
	before := s.dump()
	ctx, cancel := context.WithCancel(s.ctx())
	cancel()
	if _, err := s.store.Reserve(ctx, s.facts, s.wish("u1", "k", 1)); !errors.Is(err, ErrUnavailable) {
		t.Errorf("%v", err)
	}
	if got := s.store.Snapshots(ctx, nil); len(got) != 0 {
		t.Errorf("%v", got)
	}
	if _, err := s.store.Snapshot(ctx, s.facts); !errors.Is(err, ErrUnavailable) {
		t.Errorf("%v", err)
	}
	s.unchanged(before)
}

func TestSlowAnswerIsNoAnswerWithinTheCallersTimeAndResolvedLater(t *testing.T) {
	t.Parallel()
	s := newSale(t, testenv.Redis(t), 1, 5)
	direct := s.store
	proxy := testenv.Proxy(t, testenv.RedisAddr(t))
	slow := New(testenv.RedisClient(t, proxy.Addr), nil)
	s.must(slow.Probe(s.ctx()))
	s.must(func() error { _, err := direct.Reserve(s.ctx(), s.facts, s.wish("u0", "k", 1)); return err }())
	proxy.Delay(5 * time.Second)
	const budget = 300 * time.Millisecond
	ctx, cancel := context.WithTimeout(s.ctx(), budget)
	defer cancel()
	began := time.Now()
	if _, err := slow.Reserve(ctx, s.facts, s.wish("u1", "k", 1)); !errors.Is(err, ErrNoAnswer) {
		t.Errorf("%v", err)
	}
	if took := time.Since(began); took > 3*budget {
		t.Errorf("answered after %v, budget %v", took, budget)
	}
	got, err := direct.Reserve(s.ctx(), s.facts, s.wish("u1", "k", 1))
	if err != nil || got.Standing != Pending || s.left() != 3 {
		t.Errorf("%+v %v, %d left", got, err, s.left())
	}
	s.holds()
}

// The proxy swallows the answer of each third call; callers ask again until they hear something, and every id moves stock once.
func TestSwallowedAnswersAndRetriesHaveOneEffectPerId(t *testing.T) {
	t.Parallel()
	s := newSale(t, testenv.Redis(t), 1, 60, 60)
	direct := s.store
	proxy := testenv.Proxy(t, testenv.RedisAddr(t))
	s.store = New(testenv.RedisClient(t, proxy.Addr), nil)
	lost, calls := 0, 0
	proxy.CutAfter(func(chunk []byte) bool { // one caller, so one chunk at a time
		if bytes.Contains(chunk, []byte("evalsha")) {
			calls++
			return calls%3 == 0
		}
		return false
	})
	insist := func(call func() error) {
		for range 20 {
			err := call()
			if err == nil {
				return
			}
			if !errors.Is(err, ErrNoAnswer) {
				t.Fatal(err)
			}
			lost++
		}
		t.Fatal("no answer twenty times")
	}
	for i := range 60 {
		w := s.wish(fmt.Sprint("u", i), "k", 1)
		insist(func() error { _, err := s.reserve(w); return err })
		if i%2 == 0 {
			insist(func() error {
				_, err := s.store.Release(s.ctx(), s.id(), w.OrderID, w.UserID, "USER")
				return err
			})
		}
	}
	proxy.CutAfter(nil)
	s.store = direct
	if lost == 0 || s.left() != 120-30 || len(s.movements()) != 60+30 {
		t.Errorf("%d answers lost, %d left, %d movements", lost, s.left(), len(s.movements()))
	}
	s.holds()
}

// A cluster client repeats commands by itself after a lost answer, unless told not to; that would be a hidden second attempt.
func TestClusterClientSendsNoSecondTimeAfterALostAnswer(t *testing.T) {
	t.Parallel()
	s := newSale(t, testenv.Redis(t), 1, 5)
	proxy := testenv.Proxy(t, testenv.RedisAddr(t))
	_, port, err := net.SplitHostPort(proxy.Addr)
	s.must(err)
	through := redis.NewClusterClient(&redis.ClusterOptions{
		MaxRetries: -1, MaxRedirects: 3, DialerRetries: 1, ContextTimeoutEnabled: true, ReadTimeout: 5 * time.Second,
		ClusterSlots: func(context.Context) ([]redis.ClusterSlot, error) {
			return []redis.ClusterSlot{{Start: 0, End: 16383, Nodes: []redis.ClusterNode{{Addr: net.JoinHostPort("127.0.0.1", port)}}}}, nil
		}})
	t.Cleanup(func() { _ = through.Close() })
	st := New(through, nil)
	_, err = st.Reserve(s.ctx(), s.facts, s.wish("warm", "k", 1))
	s.must(err)
	proxy.DropReplies(1)
	if _, err := st.Reserve(s.ctx(), s.facts, s.wish("u1", "k", 1)); !errors.Is(err, ErrNoAnswer) {
		t.Errorf("%v", err)
	}
	if proxy.Cuts() != 1 {
		t.Errorf("%d calls were answered, want one", proxy.Cuts())
	}
	proxy.DropReplies(0)
	if got, err := st.Reserve(s.ctx(), s.facts, s.wish("u1", "k", 1)); err != nil || got.Standing != Pending {
		t.Errorf("%+v %v", got, err)
	}
}

func TestReplicaRefusesAndTheSameStoreWorksWhenItIsPrimaryAgain(t *testing.T) {
	t.Parallel()
	own := testenv.RedisClient(t, testenv.OwnRedis(t).Addr)
	s := newSale(t, own, 1, 50)
	s.take("u1", "k", 1)
	before := s.dump()
	port, err := freePort()
	s.must(err)
	s.must(own.SlaveOf(s.ctx(), "127.0.0.1", port).Err()) // a primary that does not answer: data stays as it is
	for i := range 5 {
		if _, err := s.reserve(s.wish(fmt.Sprint("r", i), "k", 1)); !errors.Is(err, ErrUnavailable) {
			t.Errorf("reserve on a replica: %v", err)
		}
		if err := s.store.Probe(s.ctx()); !errors.Is(err, ErrUnavailable) {
			t.Errorf("probe of a replica: %v", err)
		}
	}
	s.unchanged(before)
	s.must(own.SlaveOf(s.ctx(), "NO", "ONE").Err())
	s.take("u2", "k", 1)
	s.must(s.store.Probe(s.ctx()))
	s.holds()
}

func freePort() (string, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, err
}

func TestFailuresAreToldApartByWhetherAnythingMayHaveRun(t *testing.T) {
	t.Parallel()
	rdb := redis.NewClient(&redis.Options{Addr: testenv.RedisAddr(t)})
	words := rdb.Do(t.Context(), "no-such-command").Err()
	list := testenv.ActivityID(t)
	if err := rdb.RPush(t.Context(), list, "x").Err(); err != nil {
		t.Fatal(err)
	}
	wrongType := rdb.HGet(t.Context(), list, "x").Err()
	inScript := rdb.Eval(t.Context(), "return redis.call('HGET', KEYS[1], 'x')", []string{list}).Err()
	for _, c := range []struct {
		err, want error
	}{
		{words, ErrUnavailable},
		{fmt.Errorf("reading: %w", words), ErrUnavailable},
		{wrongType, ErrNotLoaded},
		{inScript, ErrNotLoaded},
		{&net.OpError{Op: "dial", Err: errors.New("connection refused")}, ErrUnavailable},
		{&net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}, ErrUnavailable},
		{redis.ErrPoolTimeout, ErrUnavailable},
		{redis.ErrClosed, ErrUnavailable},
		{&net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}, ErrNoAnswer},
		{&net.OpError{Op: "write", Err: errors.New("broken pipe")}, ErrNoAnswer},
		{io.EOF, ErrNoAnswer},
		{context.DeadlineExceeded, ErrNoAnswer},
	} {
		if got := classify(c.err); !errors.Is(got, c.want) || !errors.Is(got, c.err) {
			t.Errorf("%v became %v, want %v", c.err, got, c.want)
		}
	}
	if classify(nil) != nil {
		t.Error("no error became one")
	}
}

// Raw calls, as a caller with a fault would make them: quantities that are none move nothing.
func TestScriptItselfRefusesWhatIsNoQuantity(t *testing.T) {
	t.Parallel()
	s := newSale(t, testenv.Redis(t), 9, 5, 5)
	k, id := keysOf(s.id()), s.facts.OrderID("u1", "k")
	before := s.dump()
	for _, quantity := range []string{"0", "-1", "1.5", "", "two", "2147483648", "nan", "-nan", "inf", "-inf"} {
		reply, err := s.store.run(s.ctx(), lua.Reserve, []string{k.rules(), k.buyers(), k.log(), k.pending(), k.waiters(standard)},
			[]any{entryField(id), userField("u1"), counterField(standard), quantity, 0, 2, "0", "0"})
		_, short := reply.(int64)
		text, _ := reply.(string)
		if err == nil && !short && text != "BAD_QUANTITY" && !strings.HasPrefix(text, "LIMIT ") {
			t.Errorf("quantity %q: %v %v", quantity, reply, err)
		}
		s.unchanged(before)
	}
}
