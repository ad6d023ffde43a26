package catalog_test

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/shared/catalog"
	"holdfast/shared/fault"
	"holdfast/shared/sale"
)

func TestTransitionsFollowTheDiagramAndNothingElse(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	paths := map[sale.Status][]sale.Status{
		sale.Draft: nil, sale.Published: {sale.Published}, sale.Suspended: {sale.Published, sale.Suspended}, sale.Closed: {sale.Published, sale.Closed},
	}
	legal := map[sale.Status][]sale.Status{sale.Draft: {sale.Published}, sale.Published: {sale.Suspended, sale.Closed}, sale.Suspended: {sale.Published, sale.Closed}}
	for from, path := range paths {
		for _, to := range []sale.Status{sale.Draft, sale.Published, sale.Suspended, sale.Closed, sale.Cancelled} {
			id := string(from) + "-" + string(to)
			s.create(t, id)
			s.move(t, id, path...)
			before := s.get(t, id)
			after, changed, err := s.Transition(t.Context(), id, to, operator)
			switch {
			case from == to:
				if err != nil || changed || asJSON(t, after) != asJSON(t, before) {
					t.Errorf("%s, already in effect: changed %v: %v", id, changed, err)
				}
			case slices.Contains(legal[from], to):
				if err != nil || !changed || after.Status != to || after.RulesVersion != before.RulesVersion+1 || after.Revision != before.Revision+1 {
					t.Errorf("%s: %+v, changed %v: %v", id, after, changed, err)
				}
			default:
				var f *fault.Error
				if !errors.As(err, &f) || f.Code != fault.IllegalTransition || !errors.Is(err, catalog.ErrIllegalTransition) || f.Members["status"] != from {
					t.Errorf("%s: %v", id, err)
				}
				if now := s.get(t, id); asJSON(t, now) != asJSON(t, before) {
					t.Errorf("%s: a refused transition left %+v", id, now)
				}
			}
		}
	}
}

func TestResumptionDoesNotPublishADraftAndPublicationDoesNotResume(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.create(t, "A")
	if _, _, err := s.Transition(t.Context(), "A", sale.Published, operator, sale.Suspended); !errors.Is(err, catalog.ErrIllegalTransition) {
		t.Errorf("a draft was resumed: %v", err)
	}
	if _, changed, err := s.Transition(t.Context(), "A", sale.Published, operator, sale.Draft); err != nil || !changed {
		t.Errorf("a draft was not published: %v", err)
	}
	if _, changed, err := s.Transition(t.Context(), "A", sale.Published, operator, sale.Draft); err != nil || changed {
		t.Errorf("published again: changed %v: %v", changed, err)
	}
	s.move(t, "A", sale.Suspended)
	if _, _, err := s.Transition(t.Context(), "A", sale.Published, operator, sale.Draft); !errors.Is(err, catalog.ErrIllegalTransition) {
		t.Errorf("a suspended sale was published: %v", err)
	}
}

func TestTransitionManyTimesAtOnceIsOneTransition(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.create(t, "A")
	var moved atomic.Int32
	for _, err := range each(10, func(int) error {
		_, changed, err := s.Transition(t.Context(), "A", sale.Published, operator)
		if changed {
			moved.Add(1)
		}
		return err
	}) {
		t.Error(err)
	}
	if a := s.get(t, "A"); moved.Load() != 1 || s.audited(t, "activity.transition") != 1 || a.Revision != 2 {
		t.Errorf("%d moves, %d audit rows, %+v", moved.Load(), s.audited(t, "activity.transition"), a)
	}
}

func TestClosingWaitsForTransactionsThatHoldTheActivity(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.create(t, "A")
	s.create(t, "B")
	s.move(t, "A", sale.Published)
	held, release, ended := make(chan struct{}), make(chan struct{}), make(chan error, 2)
	batch := func(ctx context.Context, tx *sql.Tx) error {
		locked, err := s.LockShared(ctx, tx, []string{"B", "A", "A", "unknown"})
		if err != nil || len(locked) != 2 || locked["A"].Status != sale.Published || len(locked["B"].TicketTypes) != 2 {
			t.Errorf("locked %+v: %v", locked, err)
		}
		held <- struct{}{}
		<-release
		again, err := catalog.Get(ctx, tx, "A")
		if err == nil && again.Status != sale.Published {
			err = errors.New("the status changed under a shared lock")
		}
		return err
	}
	for range 2 { // Two batches hold it side by side.
		go func() { ended <- s.db.Run(t.Context(), batch) }()
	}
	<-held
	<-held
	closed := make(chan error, 1)
	go func() { _, _, err := s.Transition(t.Context(), "A", sale.Closed, operator); closed <- err }()
	select {
	case err := <-closed:
		t.Errorf("the sale was closed while orders were being written: %v", err)
	case <-time.After(200 * time.Millisecond):
	}
	close(release)
	for range 2 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	if err := <-closed; err != nil || s.get(t, "A").Status != sale.Closed {
		t.Errorf("closing after the batches: %v", err)
	}
}

func TestEpochRisesOnceForOneOfManyLoaders(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	before := s.create(t, "A")
	var won atomic.Int32
	for _, err := range each(10, func(int) error {
		epoch, err := s.NextEpoch(t.Context(), "A", 0)
		if err == nil {
			won.Add(1)
			if epoch != 1 {
				t.Errorf("epoch %d after 0", epoch)
			}
		}
		if errors.Is(err, catalog.ErrEpoch) {
			return nil
		}
		return err
	}) {
		t.Error(err)
	}
	after := s.get(t, "A")
	if won.Load() != 1 || after.Epoch != 1 || after.Revision != before.Revision {
		t.Errorf("%d winners, epoch %d, revision %d", won.Load(), after.Epoch, after.Revision)
	}
	if _, err := s.NextEpoch(t.Context(), "B", 0); !errors.Is(err, catalog.ErrNotFound) {
		t.Errorf("an unknown activity: %v", err)
	}
}
