package checkout_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"holdfast/shared/checkout"
	"holdfast/shared/notice"
	"holdfast/shared/order"
	"holdfast/shared/payment"
	"holdfast/shared/reconcile"
	"holdfast/shared/sale"
)

// accepting is a provider that opens every charge and says no more: the test brings its news.
type accepting struct{}

func (accepting) Begin(context.Context, payment.Charge) (payment.Action, error) {
	return payment.Action{Type: "SDK", ClientToken: "t"}, nil
}

func (accepting) Refund(context.Context, payment.RefundOrder) (payment.RefundState, error) {
	return payment.RefundState{Status: payment.RefundSucceeded}, nil
}

func (accepting) List(context.Context, payment.Listing) (payment.ListPage, error) {
	return payment.ListPage{}, payment.ErrNoProvider
}

// subscriber keeps what is published to it by id, as whoever drops repeats does, and fails as the test says.
type subscriber struct {
	fails  func(m notice.Message) error // nil: nothing does
	after  func()                       // runs after a publication, before it is answered
	bodies map[string][]string          // by id
	order  []string                     // types in the order of publication
}

func (s *subscriber) publish(_ context.Context, messages []notice.Message) []error {
	outcomes := make([]error, len(messages))
	for i, m := range messages {
		if s.fails != nil {
			if outcomes[i] = s.fails(m); outcomes[i] != nil {
				continue
			}
		}
		if s.bodies == nil {
			s.bodies = map[string][]string{}
		}
		s.bodies[m.ID] = append(s.bodies[m.ID], m.Body)
		s.order = append(s.order, m.Attributes["type"])
	}
	if s.after != nil {
		s.after()
	}
	return outcomes
}

func (w *world) send(s *subscriber) checkout.SentNotices {
	w.t.Helper()
	sum, err := w.checkout.SendNotices(w.t.Context(), s.publish, 10)
	if err != nil {
		w.t.Fatal(err)
	}
	return sum
}

// notices reads all as "KIND STATUS", in the order of writing.
func (w *world) notices() (out []string) {
	w.t.Helper()
	rows, err := w.db.QueryContext(w.t.Context(), "SELECT kind, status FROM notice ORDER BY notice_id")
	if err != nil {
		w.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var kind, status string
		if err := rows.Scan(&kind, &status); err != nil {
			w.t.Fatal(err)
		}
		out = append(out, kind+" "+status)
	}
	if err := rows.Err(); err != nil {
		w.t.Fatal(err)
	}
	return out
}

// payByProvider opens a payment of an order and gives its id.
func (w *world) payByProvider(o order.Order) string {
	w.t.Helper()
	_, p, err := w.checkout.PayByProvider(w.t.Context(), checkout.Paying{OrderID: o.ID, UserID: o.UserID, Key: "k"})
	if err != nil {
		w.t.Fatal(err)
	}
	return p.ID
}

func TestNewsOfAPaymentThreeTimesAndMessagesThreeTimesTellOnceThatAnOrderIsPaid(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{})
	w.checkout.ChargeBy(accepting{})
	m := w.message("ann", "k", 2) // Redis lost it, and nobody tells it of the order but the reconcile
	var o order.Order
	message := func() {
		t.Helper()
		out, err := w.checkout.CreateOrders(t.Context(), []checkout.Message{m})
		if err != nil || len(out.Live) != 1 {
			t.Fatalf("%+v, %v", out, err)
		}
		o = out.Live[0]
	}
	for range 3 { // the message comes three times
		message()
	}
	id := w.payByProvider(o)
	for n := range 3 { // and so does the news
		news := checkout.PaymentNews{PaymentID: id, Succeeded: true, Amount: o.Amount, Reference: "charge-1"}
		if err := w.checkout.LearnPayment(t.Context(), news); err != nil {
			t.Fatalf("news %d: %v", n, err)
		}
		message()
	}
	w.clock.Add(int64(2 * time.Minute))
	for n, of := range []string{w.activity.ID, ""} { // of this sale, and of all
		run, err := w.reconciler().Reconcile(t.Context(), reconcile.RunRequest{ActivityID: of, Mode: reconcile.Repairing, Cause: reconcile.ByOperator})
		if err != nil || run.Status != reconcile.StatusSucceeded || run.Activities != 1 || run.Repaired[reconcile.MendAdopt] != 1-n {
			t.Fatalf("reconcile %d: %+v, %v", n, run, err)
		}
	}
	if err := w.reconciler().Load(t.Context(), w.activity.ID); err != nil {
		t.Fatal(err)
	}
	if got := w.notices(); !slices.Equal(got, []string{"ORDER_CREATED WAITING", "ORDER_PAID WAITING"}) {
		t.Fatalf("written %q", got)
	}

	s := &subscriber{fails: func(m notice.Message) error { return errors.New("away") }}
	if sum := w.send(s); sum != (checkout.SentNotices{Failed: 2}) {
		t.Errorf("while nobody takes them: %+v", sum)
	}
	if sum := w.send(s); sum != (checkout.SentNotices{}) {
		t.Errorf("they are not due, and yet %+v", sum)
	}
	s.fails = nil
	w.clock.Add(int64(notice.Pause(1)))
	if sum := w.send(s); sum != (checkout.SentNotices{Sent: 2}) {
		t.Errorf("once they are taken: %+v", sum)
	}
	w.clock.Add(int64(time.Hour))
	if sum := w.send(s); sum != (checkout.SentNotices{}) {
		t.Errorf("sent again: %+v", sum)
	}
	if len(s.bodies) != 2 || !slices.Equal(s.order, []string{"order.created", "order.paid"}) {
		t.Errorf("published %q under %d ids", s.order, len(s.bodies))
	}
	w.says(s, "order.paid", o.ID, 2, "PAID")
}

// says checks that exactly one id was published of a type about an order, with this revision and state.
func (w *world) says(s *subscriber, name string, id sale.OrderID, revision int64, status string) {
	w.t.Helper()
	found := 0
	for _, bodies := range s.bodies {
		var e struct {
			Type, OrderID, UserID, ActivityID string
			Version                           int
			Data                              struct {
				Revision int64
				Status   string
			}
		}
		if err := json.Unmarshal([]byte(bodies[0]), &e); err != nil {
			w.t.Fatal(err)
		}
		for _, again := range bodies[1:] {
			if again != bodies[0] {
				w.t.Errorf("one id says %s and %s", bodies[0], again)
			}
		}
		if e.Type != name || e.OrderID != id.String() {
			continue
		}
		found++
		if e.Version != 1 || e.UserID != "ann" || e.ActivityID != w.activity.ID || e.Data.Revision != revision || e.Data.Status != status {
			w.t.Errorf("%s says %s", name, bodies[0])
		}
	}
	if found != 1 {
		w.t.Errorf("%d ids say %s", found, name)
	}
}

func TestAnOrderThatWasRolledBackTellsNobody(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{})
	if _, err := w.db.ExecContext(t.Context(), `CREATE TRIGGER broken BEFORE UPDATE ON stock_bucket FOR EACH ROW
 SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'broken'`); err != nil {
		t.Fatal(err)
	}
	if _, err := w.checkout.CreateOrders(t.Context(), []checkout.Message{w.mustReserve("ann", "k", 1)}); err == nil {
		t.Fatal("the batch was committed")
	}
	if got := w.notices(); len(got) != 0 || w.count("SELECT COUNT(*) FROM trade_order") != 0 {
		t.Errorf("written %q", got)
	}
}

func TestOrdersThatRanOutAndOrdersTakenBackAreToldWithTheirReason(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{})
	taken, late := w.buy("ann", "1", 1), w.buy("ann", "2", 1)
	if _, err := w.checkout.Cancel(t.Context(), taken.ID, checkout.Canceller{UserID: "ann"}); err != nil {
		t.Fatal(err)
	}
	w.clock.Add(int64(time.Hour))
	if n, _, err := w.checkout.Expire(t.Context(), 10); err != nil || n != 1 {
		t.Fatalf("%d ran out, %v", n, err)
	}
	for range 2 { // taking back what is cancelled tells nothing new
		if _, err := w.checkout.Cancel(t.Context(), taken.ID, checkout.Canceller{UserID: "ann"}); err != nil {
			t.Fatal(err)
		}
	}
	s := &subscriber{}
	if sum := w.send(s); sum != (checkout.SentNotices{Sent: 4}) {
		t.Errorf("%+v: %q", sum, w.notices())
	}
	for _, id := range []sale.OrderID{taken.ID, late.ID} {
		w.says(s, "order.created", id, 1, "UNPAID")
		w.says(s, "order.cancelled", id, w.get(id).Revision, "CANCELLED")
	}
	for reason, n := range map[string]int{"USER": 1, "PAY_TIMEOUT": 1} {
		if got := w.count(`SELECT COUNT(*) FROM notice WHERE JSON_VALUE(data, '$.reason') = ?`, reason); got != n {
			t.Errorf("%d notices say %s", got, reason)
		}
	}
}

func TestAnOrderOfNothingIsToldToBeCreatedAndPaid(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{price: "0.00"})
	w.buy("ann", "k", 1)
	if got := w.notices(); !slices.Equal(got, []string{"ORDER_CREATED WAITING", "ORDER_PAID WAITING"}) {
		t.Errorf("written %q", got)
	}
}

func TestASenderThatDiesAfterPublishingSendsAgainUnderTheSameId(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{})
	o := w.buy("ann", "k", 1)
	dies := &subscriber{after: func() { panic("killed") }}
	func() {
		defer func() { _ = recover() }()
		_, _ = w.checkout.SendNotices(t.Context(), dies.publish, 10)
	}()
	if got := w.notices(); !slices.Equal(got, []string{"ORDER_CREATED CLAIMED"}) {
		t.Fatalf("left %q", got)
	}
	dies.after = nil
	if sum := w.send(dies); sum != (checkout.SentNotices{}) {
		t.Errorf("the claim does not hold: %+v", sum)
	}
	w.clock.Add(int64(notice.ClaimFor))
	if sum := w.send(dies); sum != (checkout.SentNotices{Sent: 1}) {
		t.Errorf("%+v", sum)
	}
	if len(dies.order) != 2 || len(dies.bodies) != 1 {
		t.Errorf("published %d times under %d ids", len(dies.order), len(dies.bodies))
	}
	w.says(dies, "order.created", o.ID, 1, "UNPAID")
}

func TestOneNoticeThatIsNeverTakenKeepsNoOtherBackAndAPersonIsTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{})
	poison := w.buy("ann", "0", 1)
	s := &subscriber{fails: func(m notice.Message) error {
		if m.Attributes["type"] == "order.created" && m.ID == "1" {
			return errors.New("refused")
		}
		return nil
	}}
	for n := 1; n <= 8; n++ {
		w.buy("bob", fmt.Sprint(n), 1)
		if sum := w.send(s); sum != (checkout.SentNotices{Sent: 1, Failed: 1}) {
			t.Fatalf("round %d: %+v", n, sum)
		}
		if told := w.count("SELECT COUNT(*) FROM alert WHERE kind = 'NOTICE_STUCK'"); told != n/8 {
			t.Errorf("round %d: %d alerts", n, told)
		}
		w.clock.Add(int64(notice.Pause(n)))
	}
	if got := w.notices(); got[0] != "ORDER_CREATED WAITING" {
		t.Errorf("the notice about %s is %s", poison.ID, got[0])
	}
}

// write writes notices as a use case does.
func (w *world) write(list ...notice.Notice) {
	w.t.Helper()
	err := w.db.Run(w.t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		now, err := w.db.Now(ctx, tx)
		if err != nil {
			return err
		}
		return notice.Add(ctx, tx, list, now)
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

func TestWhatIsTooLateOrNoLongerTrueIsSkipped(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{})
	o := w.buy("ann", "k", 1)
	other := w.message("bob", "k", 1).OrderID
	if _, err := w.db.ExecContext(t.Context(), `INSERT INTO deposit_record (order_id, activity_id, user_id, currency, mode, status, deposit,
 penalty_due, confirm_deadline, remind_at, penalty_ratio, cancellation, club_id, policy_hash, created_at, updated_at) VALUES (?, 'a', 'ann',
 'CNY', 'LIVE', 'FROZEN', 4, 1, '2099-01-01', '2098-01-01', 0.25, 'FREE', 'c', REPEAT('h', 32), '2031-01-01', '2031-01-01')`, o.ID[:]); err != nil {
		t.Fatal(err)
	}
	soon := time.Now().Add(time.Minute).UTC().Truncate(time.Second)
	about := func(subject string, kind notice.Kind, id sale.OrderID, until *time.Time) notice.Notice {
		return notice.Notice{Subject: subject, Kind: kind, UserID: "ann", ActivityID: w.activity.ID, OrderID: id, Mode: sale.Live, ExpiresAt: until}
	}
	w.write(about("1", notice.DepositReminder, o.ID, nil), about("2", notice.DepositReminder, other, nil), about("3", notice.WaitlistOffer, o.ID, &soon))
	w.clock.Add(int64(2 * time.Minute))
	s := &subscriber{}
	if sum := w.send(s); sum != (checkout.SentNotices{Sent: 2, Skipped: 2}) {
		t.Errorf("%+v", sum)
	}
	want := []string{"ORDER_CREATED SENT", "DEPOSIT_REMINDER SENT", "DEPOSIT_REMINDER SKIPPED", "WAITLIST_OFFER SKIPPED"}
	if got := w.notices(); !slices.Equal(got, want) {
		t.Errorf("stand %q", got)
	}
	if !slices.Equal(s.order, []string{"order.created", "deposit.reminder"}) {
		t.Errorf("published %q", s.order)
	}
}

func TestTheBellIsRungAfterCommitsAndForWhatWaitsTooLong(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{})
	rings := 0
	w.checkout.RingBy(func(context.Context) error { rings++; return errors.New("no answer") })
	w.buy("ann", "k", 1)
	if rings != 1 {
		t.Errorf("rung %d times for a batch", rings)
	}
	if late, err := w.checkout.RingIfLate(t.Context()); late || err != nil {
		t.Errorf("within a minute: %v, %v", late, err)
	}
	w.clock.Add(int64(time.Minute + time.Second))
	if late, err := w.checkout.RingIfLate(t.Context()); !late || err == nil || rings != 2 {
		t.Errorf("after a minute: %v, %v, rung %d times", late, err, rings)
	}
	w.send(&subscriber{})
	if late, err := w.checkout.RingIfLate(t.Context()); late || err != nil {
		t.Errorf("with nothing due: %v, %v", late, err)
	}
}
