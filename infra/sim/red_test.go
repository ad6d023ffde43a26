package sim

import (
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"holdfast/infra/local/server"
	"holdfast/shared/money"
	"holdfast/shared/payment"
	"holdfast/shared/reconcile/invariant"
)

// chargeUnheard has the provider take money that it says nothing of.
func (r *run) chargeUnheard() {
	r.outside.charges = append(r.outside.charges, &charge{Charge: payment.Charge{PaymentID: "p", Amount: money.Of(decimal.NewFromInt(1), "CNY")},
		succeeded: true, at: r.clock.now()})
}

// TestADefectPlantedAfterwardsIsFound proves that the verdict can be a bad one, for a loss, for stores that differ, for money, and for a
// life after death.
func TestADefectPlantedAfterwardsIsFound(t *testing.T) {
	dir, release, err := server.Scratch()
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	w, err := newWorld(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	for _, c := range []struct {
		name, wrong string
		plant       func(r *run)
	}{
		{"nothing", "", func(*run) {}},
		{"a row is lost", "lost: ", func(r *run) {
			_, err := r.plain.ExecContext(r.ctx, `DELETE FROM trade_order WHERE user_id = 'a'`)
			r.check(err)
			r.check(r.cache.server().HDel(r.ctx, keyOf(r.activity.ID, "log"), "t"+string(r.journal[0].id[:])).Err())
		}},
		{"a counter is overwritten", "C1 ", func(r *run) {
			r.check(r.cache.server().HIncrBy(r.ctx, keyOf(r.activity.ID, "rules"), "left:"+ticket+":0", 1).Err())
		}},
		{"a cent goes back that nobody moved", "M4 ", func(r *run) {
			_, err := r.plain.ExecContext(r.ctx, `UPDATE trade_order SET refunded = 0.01 WHERE paid > 0`)
			r.check(err)
		}},
		{"the provider took money that nobody heard of", "the provider holds", func(r *run) { r.chargeUnheard() }},
		{"the daily round asks for it", "differ about payment p", func(r *run) { r.chargeUnheard() }},
		{"somebody was told of what was rolled back", "rolled back", func(r *run) { r.outside.published["999999"]++ }},
		{"a cancelled order lives again", "CANCELLED and then UNPAID", func(r *run) {
			r.look()
			_, err := r.plain.ExecContext(r.ctx, `UPDATE trade_order SET status = 'UNPAID', reason = NULL, cancelled_at = NULL, released_at = NULL,
 pay_deadline = '2031-05-17 12:00:00' WHERE status = 'CANCELLED'`)
			r.check(err)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := w.newRun(t.Context(), 1, new(scenario).plan)
			if err != nil {
				t.Fatal(err)
			}
			r.complete(r.pay(r.process[0], r.ordered("a", 1)))
			r.complete(r.cancel(r.ordered("b", 1)))
			if err := r.settle(); err != nil {
				t.Fatal(err)
			}
			c.plant(r)
			wrong, err := r.verdict(invariant.NewBranches())
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(wrong, c.wrong) || (wrong == "") != (c.wrong == "") {
				t.Errorf("the verdict is %q", wrong)
			}
		})
	}
}
