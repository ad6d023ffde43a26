package api

import (
	"testing"
	"time"

	"holdfast/shared/reconcile"
)

// A set with a key of another type sells nothing. Whoever wants to buy has it loaded anew, and the minute pass finds it by itself.
func TestASaleWithAKeyOfAnotherTypeSellsAgainAfterTheNextPass(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"rules", "buyers", "log", "pending", "facts", "waiters:STANDARD"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			a := w.sale()
			w.expect(w.call(NewReserveTicket(w.d), wish(a, "u0", "k0", one)), 202, "")
			w.consume()
			key := "hf:{" + a.ID + "}:" + name
			if err := w.sure.Del(t.Context(), key).Err(); err != nil {
				t.Fatal(err)
			}
			if err := w.sure.RPush(t.Context(), key, "x").Err(); err != nil {
				t.Fatal(err)
			}
			w.expect(w.call(NewReserveTicket(w.d), wish(a, "u1", "k1", one)), 503, "SALE_NOT_READY")
			if name == "buyers" { // the pass needs nobody to ask for it
				if _, err := w.d.DB.ExecContext(t.Context(), "DELETE FROM job"); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := reconcile.NewCompensate(w.d.Reconcile, reconcile.CompensateConfig{Budget: 30 * time.Second}).Run(t.Context()); err != nil {
				t.Error(err)
			}
			w.expect(w.call(NewReserveTicket(w.d), wish(a, "u1", "k1", one)), 202, "")
			if w.left(a) != 8 {
				t.Errorf("%d left", w.left(a))
			}
		})
	}
}
