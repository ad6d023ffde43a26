package checkout_test

import (
	"context"
	"errors"
	"io"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"holdfast/lua"
	"holdfast/shared/catalog"
	"holdfast/shared/checkout"
	"holdfast/shared/sale"
	"holdfast/shared/stock"
	"holdfast/shared/testenv"
	"holdfast/shared/waitlist"
)

// stopped calls before once, just before a script is sent. If lost, the script's answer does not come back.
type stopped struct {
	script *lua.Script
	before func()
	lost   bool
	once   sync.Once
}

func (s *stopped) DialHook(next redis.DialHook) redis.DialHook { return next }
func (s *stopped) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (s *stopped) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		args := cmd.Args()
		if len(args) < 2 || args[1] != s.script.SHA {
			return next(ctx, cmd)
		}
		s.once.Do(s.before)
		err := next(ctx, cmd)
		if s.lost {
			err = io.EOF
			cmd.SetErr(err)
		}
		return err
	}
}

// beside is a process that is stopped as s says.
func (w *world) beside(s *stopped) *checkout.Checkout {
	client := testenv.RedisClient(w.t, testenv.RedisAddr(w.t))
	client.AddHook(s)
	return checkout.New(w.db, stock.New(client, nil), w.catalog, nil)
}

func (w *world) leave(user string) {
	w.t.Helper()
	if err := w.checkout.LeaveWaitlist(w.t.Context(), w.activity.ID, user); err != nil {
		w.t.Fatal(err)
	}
}

// Whoever adds to the set may do so after the entry has ended, and nobody but the minute pass would take it out again.
func TestEntryThatEndedBeforeItWasAddedIsInNoSet(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		taps int // how often the user tapped before
		at   *lua.Script
		lost bool
	}{
		"left between its row and the gate":           {at: lua.GateWaitlist},
		"left before a second tap adds it":            {taps: 1, at: lua.AddWaiters},
		"left, and the answer of the gate is lost":    {at: lua.GateWaitlist, lost: true},
		"left, and the second tap's answer is lost":   {taps: 1, at: lua.AddWaiters, lost: true},
		"left again, after it had joined once before": {taps: 2, at: lua.AddWaiters},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, plan{capacity: 1})
			sold := w.buy("owner", "k", 1)
			for range c.taps {
				w.leave("u")
				w.join("u", 1)
			}
			slow := w.beside(&stopped{script: c.at, lost: c.lost, before: func() { w.leave("u") }})
			if _, _, err := slow.JoinWaitlist(t.Context(), w.wants("u", 1)); err != nil {
				t.Fatal(err)
			}
			w.wantCount(0, "SELECT COUNT(*) FROM waitlist_entry WHERE status = 'WAITING'")
			w.setIsExact()
			w.cancel(sold)
			w.publicHears(nil)
		})
	}
}

// The second tap finds the row that the first one wrote, and comes to the set when the first was told to buy. Both are.
func TestTwoTapsOfOneWhoCanBuyShutNobodyOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{capacity: 3})
	var second error
	var group sync.WaitGroup
	reached, goOn := make(chan struct{}), make(chan struct{})
	two := w.beside(&stopped{script: lua.AddWaiters, before: func() { close(reached); <-goOn }})
	one := w.beside(&stopped{script: lua.GateWaitlist, before: func() {
		group.Go(func() { _, _, second = two.JoinWaitlist(t.Context(), w.wants("u", 1)) })
		<-reached
	}})
	_, _, first := one.JoinWaitlist(t.Context(), w.wants("u", 1))
	close(goOn)
	group.Wait()
	if !errors.Is(first, checkout.ErrNotSoldOut) || !errors.Is(second, checkout.ErrNotSoldOut) {
		t.Errorf("the first tap hears %v, the second %v", first, second)
	}
	w.setIsExact()
	w.publicHears(nil)
}

// inADeadlock runs do while it and another transaction want the rows of a user's entry in opposite orders, and the server breaks do's
// off. ready, if it is not nil, is closed once the entry is there and do is about to change it; then goOn is closed.
func (w *world) inADeadlock(user string, ready <-chan struct{}, goOn chan<- struct{}, do func() error) error {
	w.t.Helper()
	ended := make(chan error, 1)
	start := func() { go func() { ended <- do() }() }
	if ready != nil {
		start()
		<-ready
	}
	tx, err := w.db.BeginTx(w.t.Context(), nil)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	run := func(query string, args ...any) {
		if _, err := tx.ExecContext(w.t.Context(), query, args...); err != nil {
			w.t.Fatal(err)
		}
	}
	for i := range 50 { // of two, the one that has changed less is broken off
		run(`INSERT INTO alert (kind, subject, detail, first_at, last_at) VALUES ('X', ?, '{}', UTC_TIMESTAMP(), UTC_TIMESTAMP())`, i)
	}
	run(`DO (SELECT active FROM waitlist_entry FORCE INDEX (waitlist_active) WHERE activity_id = ? AND user_id = ? AND active = 1
 LOCK IN SHARE MODE)`, w.activity.ID, user)
	if ready == nil {
		start()
	} else {
		close(goOn)
	}
	w.waiting(1)
	e, err := waitlist.Latest(w.t.Context(), tx, w.activity.ID, user)
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := waitlist.Lock(w.t.Context(), tx, e.ID); err != nil {
		w.t.Fatalf("the other transaction was broken off: %v", err)
	}
	if err := tx.Rollback(); err != nil {
		w.t.Fatal(err)
	}
	return <-ended
}

func TestWhatEndsAnEntryIsDoneAgainAfterADeadlock(t *testing.T) {
	t.Parallel()
	status := func(w *world) waitlist.Status {
		e, err := waitlist.Latest(w.t.Context(), w.db, w.activity.ID, "u")
		if err != nil {
			w.t.Fatal(err)
		}
		w.setIsExact()
		return e.Status
	}
	t.Run("leaving", func(t *testing.T) {
		t.Parallel()
		w, _ := soldOut(t, 1)
		w.join("u", 1)
		err := w.inADeadlock("u", nil, nil, func() error { return w.checkout.LeaveWaitlist(t.Context(), w.activity.ID, "u") })
		if got := status(w); err != nil || got != waitlist.Left {
			t.Errorf("the entry is %s, its user hears %v", got, err)
		}
	})
	t.Run("being sent to buy", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, plan{capacity: 1})
		ready, goOn := make(chan struct{}), make(chan struct{})
		slow := w.beside(&stopped{script: lua.GateWaitlist, before: func() { close(ready); <-goOn }})
		err := w.inADeadlock("u", ready, goOn, func() error {
			_, _, err := slow.JoinWaitlist(t.Context(), w.wants("u", 1))
			return err
		})
		if got := status(w); !errors.Is(err, checkout.ErrNotSoldOut) || got != waitlist.Closed {
			t.Errorf("the entry is %s, its user hears %v", got, err)
		}
	})
	t.Run("the end of the sale", func(t *testing.T) {
		t.Parallel()
		w, _ := soldOut(t, 1)
		w.join("u", 1)
		if _, _, err := w.catalog.Transition(t.Context(), w.activity.ID, sale.Closed, operator("activity.close")); err != nil {
			t.Fatal(err)
		}
		err := w.inADeadlock("u", nil, nil, func() error {
			_, err := w.checkout.FillWaitlist(t.Context(), w.activity.ID)
			return err
		})
		if got := status(w); err != nil || got != waitlist.Closed {
			t.Errorf("the entry is %s, the filler ends with %v", got, err)
		}
	})
}

// The answer to the COMMIT is lost: the state is known by looking, and the set follows it.
func TestLeavingWithoutAnAnswerToCommitLeavesTheSetToo(t *testing.T) {
	t.Parallel()
	w, _ := soldOut(t, 1)
	w.join("u", 1)
	proxy, dsn := testenv.ProxyMySQL(t, w.dsn)
	db := w.open(dsn)
	cutNextCommit(proxy)
	through := checkout.New(db, w.stock, catalog.New(db), nil)
	if err := through.LeaveWaitlist(t.Context(), w.activity.ID, "u"); err != nil {
		t.Fatal(err)
	}
	if proxy.Cuts() != 1 {
		t.Errorf("%d cuts", proxy.Cuts())
	}
	w.wantCount(1, "SELECT COUNT(*) FROM waitlist_entry WHERE status = 'LEFT'")
	w.setIsExact()
}
