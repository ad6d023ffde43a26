package queue_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/infra/local/sqs"
	"holdfast/shared/edge/queue"
	"holdfast/shared/order"
	"holdfast/shared/sale"
)

const allDone = `{"batchItemFailures":[]}`

func TestABatchBecomesOrdersAndRedisIsTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.sale()
	h := queue.NewCreateOrders(w.d)
	batch := w.batch(w.bodies(w.reserve(a, 10))...)
	if answer := w.run(h, batch); answer != allDone {
		t.Errorf("answered %s", answer)
	}
	if made := w.made(); made[order.Unpaid] != 10 || w.pending(a) != 0 {
		t.Errorf("made %v, %d pending", made, w.pending(a))
	}
	if answer := w.run(h, batch); answer != allDone { // delivered again
		t.Errorf("answered %s", answer)
	}
	if made := w.made(); made[order.Unpaid] != 10 || len(made) != 1 {
		t.Errorf("made %v after a second delivery", made)
	}
}

func TestOneBatchAtTwoConsumersAtOnceMakesEachOrderOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.sale()
	batch := w.batch(w.bodies(w.reserve(a, 10))...)
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			if answer := w.run(queue.NewCreateOrders(w.d), batch); answer != allDone {
				t.Errorf("answered %s", answer)
			}
		})
	}
	both.Wait()
	if made := w.made(); made[order.Unpaid] != 10 || len(made) != 1 || w.pending(a) != 0 {
		t.Errorf("made %v, %d pending", made, w.pending(a))
	}
}

func TestPoisonIsSetAsideWithItsReasonAndTheRestGoesOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.sale()
	taken := w.reserve(a, 3)
	stranger := taken[1]
	stranger.ActivityID = "nobody-has-this"
	bodies := w.bodies(taken)
	bodies[1] = w.bodies([]sale.Reservation{stranger})[0]
	bodies = append(bodies, "hello", `{"v":2}`)
	if answer := w.run(queue.NewCreateOrders(w.d), w.batch(bodies...)); answer != allDone {
		t.Errorf("answered %s", answer)
	}
	if made := w.made(); made[order.Unpaid] != 2 || len(made) != 1 {
		t.Errorf("made %v", made)
	}
	reasons := map[string]string{}
	for _, letter := range w.received(w.letters) {
		reasons[letter.Body] = *letter.MessageAttributes["holdfastReason"].StringValue + ": " + *letter.MessageAttributes["holdfastDetail"].StringValue
	}
	if len(reasons) != 3 || !strings.HasPrefix(reasons["hello"], "UNREADABLE: ") || !strings.HasPrefix(reasons[`{"v":2}`], "UNREADABLE: ") ||
		!strings.HasPrefix(reasons[bodies[1]], "UNFIT: ") {
		t.Errorf("set aside: %v", reasons)
	}
}

func TestTwoOfTenThatCannotBeSetAsideAreTheOnesReported(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.sale()
	bodies := w.bodies(w.reserve(a, 10))
	bodies[3], bodies[7] = "poison", "poison too"
	w.fault.Store(sqs.Refuse)
	want := `{"batchItemFailures":[{"itemIdentifier":"m3"},{"itemIdentifier":"m7"}]}`
	if answer := w.run(queue.NewCreateOrders(w.d), w.batch(bodies...)); answer != want {
		t.Errorf("answered %s, want %s", answer, want)
	}
	if made := w.made(); made[order.Unpaid] != 8 {
		t.Errorf("made %v", made)
	}
}

func TestAnOutageOfTheDatabaseUsesUpNoReceives(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.sale()
	h := queue.NewCreateOrders(w.d)
	batch := w.batch(w.bodies(w.reserve(a, 13))...)
	w.mysql.Down()
	for round := range 12 { // more than any queue would deliver one message
		if answer := w.run(h, batch); answer != allDone {
			t.Fatalf("round %d answered %s", round, answer)
		}
		if early := w.received(w.orders); len(early) != 0 {
			t.Fatalf("%d messages came without delay", len(early))
		}
		w.later.Add(int64(80 * time.Second)) // beyond the longest delay
		batch = w.received(w.orders)
		if len(batch) != 13 {
			t.Fatalf("%d messages came back, want 13", len(batch))
		}
		for _, m := range batch {
			if m.Attributes["ApproximateReceiveCount"] != "1" {
				t.Fatalf("a message counts %s receives", m.Attributes["ApproximateReceiveCount"])
			}
		}
	}
	w.mysql.Up()
	if answer := w.run(h, batch); answer != allDone {
		t.Errorf("answered %s", answer)
	}
	if made := w.made(); made[order.Unpaid] != 13 || len(made) != 1 || w.pending(a) != 0 {
		t.Errorf("made %v, %d pending", made, w.pending(a))
	}
	if letters := w.received(w.letters); len(letters) != 0 {
		t.Errorf("%d dead letters", len(letters))
	}
}

func TestWhatCannotBeSentAgainIsReportedFailed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.sale()
	h := queue.NewCreateOrders(w.d)
	batch := w.batch(w.bodies(w.reserve(a, 10))...)
	w.mysql.Down()
	w.fault.Store(sqs.FailEntry) // an answer of success that names the third and the seventh as failed
	want := `{"batchItemFailures":[{"itemIdentifier":"m2"},{"itemIdentifier":"m6"}]}`
	if answer := w.run(h, batch); answer != want {
		t.Errorf("answered %s, want %s", answer, want)
	}
	w.fault.Store(sqs.Refuse)
	if answer := w.run(h, batch[:1]); answer != `{"batchItemFailures":[{"itemIdentifier":"m0"}]}` {
		t.Errorf("answered %s", answer)
	}
}

func TestOneMessageThatBreaksTheTransactionFailsAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.sale()
	if _, err := w.d.DB.ExecContext(t.Context(), `CREATE TRIGGER broken BEFORE INSERT ON trade_order FOR EACH ROW
		BEGIN IF NEW.user_id = 'u4' THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'broken'; END IF; END`); err != nil {
		t.Fatal(err)
	}
	want := `{"batchItemFailures":[{"itemIdentifier":"m4"}]}`
	if answer := w.run(queue.NewCreateOrders(w.d), w.batch(w.bodies(w.reserve(a, 10))...)); answer != want {
		t.Errorf("answered %s, want %s", answer, want)
	}
	if made := w.made(); made[order.Unpaid] != 9 || w.pending(a) != 1 {
		t.Errorf("made %v, %d pending", made, w.pending(a))
	}
	if letters := w.received(w.letters); len(letters) != 0 {
		t.Errorf("%d dead letters", len(letters))
	}
}

func TestADatabaseThatHangsLeavesTimeToSendAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.sale()
	batch := w.batch(w.bodies(w.reserve(a, 2))...)
	w.mysql.Delay(time.Hour)
	start := time.Now()
	if answer := w.run(queue.NewCreateOrders(w.d), batch); answer != allDone {
		t.Errorf("answered %s", answer)
	}
	if took := time.Since(start); took > 3*10*time.Second {
		t.Errorf("took %v", took)
	}
	w.mysql.Delay(0)
	w.later.Add(int64(80 * time.Second))
	if again := w.received(w.orders); len(again) != 2 {
		t.Errorf("%d messages came back", len(again))
	}
}

func TestAQueueKnowsWhetherItIsEmpty(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.sale()
	carrier := w.d.Orders.(*queue.SQS)
	check := func(when string, want bool) {
		t.Helper()
		if empty, err := carrier.Empty(t.Context()); err != nil || empty != want {
			t.Errorf("%s: empty %v, %v", when, empty, err)
		}
	}
	check("at first", true)
	if err := carrier.Publish(context.Background(), w.reserve(a, 1)[0]); err != nil {
		t.Fatal(err)
	}
	check("with a message waiting", false)
	if got, err := w.orders.Receive(t.Context(), 1, 0); err != nil || len(got) != 1 {
		t.Fatalf("received %d, %v", len(got), err)
	}
	check("with a message in flight", false)
}

func TestALostAnswerOfTheQueueIsAnErrorAndTheMessageIsThere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.sale()
	w.fault.Store(sqs.LoseAnswer)
	if err := w.d.Orders.Publish(t.Context(), w.reserve(a, 1)[0]); err == nil {
		t.Error("a lost answer was taken for acceptance")
	}
	if sent := w.received(w.orders); len(sent) != 1 {
		t.Errorf("%d messages are there: one attempt is one attempt", len(sent))
	}
	w.fault.Store(sqs.Hang)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := w.d.Orders.Publish(ctx, w.reserve(a, 1)[0]); err == nil {
		t.Error("a queue that hangs accepted")
	}
}
