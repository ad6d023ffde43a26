package stock

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"holdfast/shared/testenv"
)

// An order changes without moving on its way too, when its deadline is moved for instance. Whoever writes last, readers must
// keep what is newest: by rank, and within a rank by the revision.
func TestCachedOrderNeverGoesBackToAnEarlierRevision(t *testing.T) {
	t.Parallel()
	s := draftSale(t, testenv.Redis(t), testenv.ActivityID(t), 1, 1)
	type version struct{ rank, revision int }
	// A reason in somebody's words may look like a revision.
	text := func(v version) string {
		return fmt.Sprintf(`{"id":"x","reference":"ABCDEFGHJK","revision":"%d","userId":"\"revision\":\"99\"","paidBy":"r%[1]d"}`, v.revision)
	}
	newest := []version{{1, 1}, {2, 2}, {2, 3}, {2, 9}, {2, 10}, {2, 100}, {3, 101}}
	for turn := range 20 {
		id := s.facts.OrderID("u", fmt.Sprint("k", turn))
		highest := -1
		for step, i := range rand.Perm(len(newest)) {
			s.must(s.store.CacheOrder(s.ctx(), s.id(), id, newest[i].rank, []byte(text(newest[i]))))
			highest = max(highest, i)
			got, found, err := s.store.CachedOrder(s.ctx(), s.id(), id)
			if want := text(newest[highest]); err != nil || !found || string(got) != want {
				t.Fatalf("step %d, after %+v: %s %v %v, want %s", step, newest[i], got, found, err, want)
			}
		}
	}
}

// What was kept before revisions were compared has the same form, so that it is compared too, and the functions that are still of that
// version can read what is kept now.
func TestEntriesOfTheOrderCacheHaveOneForm(t *testing.T) {
	t.Parallel()
	s := draftSale(t, testenv.Redis(t), testenv.ActivityID(t), 1, 1)
	id := s.facts.OrderID("u", "k")
	key := keysOf(s.id()).order(id)
	s.must(s.rdb.Set(s.ctx(), key, `2{"id":"x","revision":"7","status":"UNPAID"}`, 0).Err())
	s.must(s.store.CacheOrder(s.ctx(), s.id(), id, 2, []byte(`{"id":"x","revision":"6","status":"UNPAID"}`)))
	if got := s.rdb.Get(s.ctx(), key).Val(); got != `2{"id":"x","revision":"7","status":"UNPAID"}` {
		t.Errorf("revision 6 came after revision 7, and readers see %s", got)
	}
	s.must(s.store.CacheOrder(s.ctx(), s.id(), id, 2, []byte(`{"id":"x","revision":"8","status":"UNPAID"}`)))
	if got := s.rdb.Get(s.ctx(), key).Val(); got != `2{"id":"x","revision":"8","status":"UNPAID"}` {
		t.Errorf("revision 8 came after revision 7, and readers see %s", got)
	}
}
