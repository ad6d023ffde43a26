package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"holdfast/lua"
	"holdfast/shared/checkout"
	"holdfast/shared/order"
	"holdfast/shared/reconcile"
	"holdfast/shared/sale"
	"holdfast/shared/stock"
	"holdfast/shared/testenv"
	"holdfast/shared/waitlist"
)

// joined sells everything and puts a user on the waitlist.
func (w *world) joined(user string, quantity int) *waitlist.Entry {
	w.t.Helper()
	e, joined, err := w.checkout.JoinWaitlist(w.t.Context(), checkout.WaitlistWish{ActivityID: w.activity.ID, UserID: user,
		TicketType: ticket, Quantity: quantity})
	if err != nil || !joined {
		w.t.Fatalf("%s joins: %v, %v", user, joined, err)
	}
	return e
}

func (w *world) members() map[sale.EntryID]bool {
	w.t.Helper()
	page, err := w.stock.ScanWaiters(w.t.Context(), w.activity.ID, ticket, 0, 1000)
	if err != nil {
		w.t.Fatal(err)
	}
	out := make(map[sale.EntryID]bool)
	for _, id := range page.IDs {
		out[id] = true
	}
	return out
}

func (w *world) entry(id sale.EntryID) *waitlist.Entry {
	w.t.Helper()
	e, err := waitlist.Get(w.t.Context(), w.db, id)
	if err != nil {
		w.t.Fatal(err)
	}
	return e
}

func (w *world) minutePass() reconcile.CompensateSummary {
	w.t.Helper()
	sum, err := reconcile.NewCompensate(w.reconciler, reconcile.CompensateConfig{}).Run(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return sum
}

// soldOut makes a world whose units are each an order of their own.
func soldOut(t *testing.T, units int) (*world, []order.Order) {
	t.Helper()
	w := newWorld(t, plan{capacity: units, buckets: 1})
	var sold []order.Order
	for i := range units {
		out := w.commit(w.mustReserve(fmt.Sprint("b", i), "k", 1))
		if err := w.checkout.Settle(t.Context(), out); err != nil {
			t.Fatal(err)
		}
		sold = append(sold, out.Live...)
	}
	return w, sold
}

func TestMinutePassMakesTheSetWhatTheRowsSay(t *testing.T) {
	t.Parallel()
	w, _ := soldOut(t, 1)
	lost, kept := w.joined("lost", 1), w.joined("kept", 1)
	ghost := sale.NewEntryID()
	if _, err := w.stock.LeaveWaitlist(t.Context(), w.activity.ID, ticket, []sale.EntryID{lost.ID}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.stock.AddWaiters(t.Context(), w.activity.ID, ticket, []sale.EntryID{ghost}); err != nil {
		t.Fatal(err)
	}
	sum := w.minutePass()
	if sum.Waitlists.Added != 1 || sum.Waitlists.Removed != 1 {
		t.Errorf("%+v", sum.Waitlists)
	}
	if got := w.members(); len(got) != 2 || !got[lost.ID] || !got[kept.ID] {
		t.Errorf("the set has %v", got)
	}
}

// A member that no row answers for would shut the public out for ever.
func TestMinutePassLetsThePublicInWhenNobodyWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{capacity: 1, buckets: 1})
	if _, err := w.stock.AddWaiters(t.Context(), w.activity.ID, ticket, []sale.EntryID{sale.NewEntryID()}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.reserve("u", "k", 1); !errors.Is(err, stock.ErrInsufficient) {
		t.Fatal(err)
	}
	w.minutePass()
	w.mustReserve("u", "k", 1)
}

// atScript calls do once, just before a script is sent.
type atScript struct {
	script *lua.Script
	do     func()
	once   sync.Once
}

func (h *atScript) DialHook(next redis.DialHook) redis.DialHook { return next }
func (h *atScript) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (h *atScript) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if args := cmd.Args(); len(args) > 1 && args[1] == h.script.SHA {
			h.once.Do(h.do)
		}
		return next(ctx, cmd)
	}
}

// Whoever fills a set has read the rows before, and an entry may have ended since.
func TestSetIsFilledWithNobodyWhoHasLeftMeanwhile(t *testing.T) {
	t.Parallel()
	for name, fill := range map[string]func(w *world, r *reconcile.Reconciler) error{
		"by the minute pass": func(w *world, r *reconcile.Reconciler) error {
			_, err := reconcile.NewCompensate(r, reconcile.CompensateConfig{}).Run(w.t.Context())
			return err
		},
		"by a load": func(w *world, r *reconcile.Reconciler) error {
			w.forget()
			return r.Load(w.t.Context(), w.activity.ID)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, sold := soldOut(t, 1)
			kept, left := w.joined("kept", 2), w.joined("left", 1)
			client := testenv.RedisClient(t, testenv.RedisAddr(t))
			client.AddHook(&atScript{script: lua.AddWaiters, do: func() {
				if err := w.checkout.LeaveWaitlist(t.Context(), w.activity.ID, "left"); err != nil {
					t.Error(err)
				}
			}})
			through := stock.New(client, nil)
			if err := fill(w, reconcile.New(w.db, through, w.catalog, checkout.New(w.db, through, w.catalog, nil), nil, nil)); err != nil {
				t.Fatal(err)
			}
			if got := w.members(); len(got) != 1 || !got[kept.ID] {
				t.Errorf("the set has %v; %s waits, %s has left", got, kept.ID, left.ID)
			}
			if err := w.checkout.LeaveWaitlist(t.Context(), w.activity.ID, "kept"); err != nil {
				t.Fatal(err)
			}
			w.cancel(sold[0])
			w.mustReserve("public", "k", 1)
		})
	}
}

func TestMinutePassOffersWhatNobodyOffered(t *testing.T) {
	t.Parallel()
	w, sold := soldOut(t, 1)
	e := w.joined("a", 1)
	// Whoever cancelled died before it could tell Redis.
	w.cancelUnheard(sold[0])
	w.clock.Add(int64(time.Minute))
	if sum := w.minutePass(); sum.Waitlists.Offered != 1 {
		t.Errorf("%+v", sum.Waitlists)
	}
	if got := w.entry(e.ID); got.Status != waitlist.Offered {
		t.Errorf("the entry is %s", got.Status)
	}
}

func TestLoadShutsThePublicOutFromItsFirstMoment(t *testing.T) {
	t.Parallel()
	w, _ := soldOut(t, 1)
	e := w.joined("a", 2) // more than there will be
	w.forget()
	if err := w.reconciler.Load(t.Context(), w.activity.ID); err != nil {
		t.Fatal(err)
	}
	if !w.members()[e.ID] {
		t.Error("the set lacks who waits")
	}
}

func TestEntryJoinsWhileNothingIsLoadedAndIsServedAfterwards(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{capacity: 1, buckets: 1})
	w.forget()
	e := w.joined("a", 1)
	if got := w.entry(e.ID); got.Status != waitlist.Waiting {
		t.Fatalf("the entry is %s", got.Status)
	}
	w.minutePass()
	if got := w.entry(e.ID); got.Status != waitlist.Offered {
		t.Errorf("the entry is %s", got.Status)
	}
}

func TestMinutePassClosesWhatIsOverAlsoWithoutASet(t *testing.T) {
	t.Parallel()
	w, _ := soldOut(t, 1)
	e := w.joined("a", 1)
	if _, _, err := w.catalog.Transition(t.Context(), w.activity.ID, sale.Closed, operator("activity.close")); err != nil {
		t.Fatal(err)
	}
	w.forget()
	w.minutePass()
	if got := w.entry(e.ID); got.Status != waitlist.Closed || got.Reason != waitlist.SaleClosed {
		t.Errorf("the entry is %s %s", got.Status, got.Reason)
	}
}
