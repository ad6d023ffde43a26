package queue_test

import (
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"holdfast/shared/edge/queue"
)

// recorded is a row of dead_letter.
type recorded struct {
	queue, reason, detail, body string
	order                       []byte
	receives                    int
}

func (w *world) recorded() []recorded {
	w.t.Helper()
	rows, err := w.d.DB.QueryContext(w.t.Context(), "SELECT queue, reason, detail, body, order_id, receive_count FROM dead_letter ORDER BY dead_letter_id")
	if err != nil {
		w.t.Fatal(err)
	}
	defer rows.Close()
	var out []recorded
	for rows.Next() {
		var r recorded
		if err := rows.Scan(&r.queue, &r.reason, &r.detail, &r.body, &r.order, &r.receives); err != nil {
			w.t.Fatal(err)
		}
		out = append(out, r)
	}
	if err := rows.Err(); err != nil {
		w.t.Fatal(err)
	}
	return out
}

func TestDeadLettersAreRecordedOnceWithTheirReason(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.sale()
	taken := w.reserve(a, 1)
	if answer := w.run(queue.NewCreateOrders(w.d), w.batch("hello")); answer != allDone {
		t.Fatalf("answered %s", answer)
	}
	letters := w.received(w.letters)
	given := events.SQSMessage{MessageId: "given-up", Body: w.bodies(taken)[0], EventSourceARN: w.letters.ARN(),
		Attributes: map[string]string{"ApproximateReceiveCount": "6"}}
	letters = append(letters, given)
	h := queue.NewRecordDeadLetters(w.d)
	for range 2 {
		if answer := w.run(h, letters); answer != allDone {
			t.Errorf("answered %s", answer)
		}
	}
	rows := w.recorded()
	if len(rows) != 2 {
		t.Fatalf("recorded %+v", rows)
	}
	if rows[0].queue != "letters" || rows[0].reason != "UNREADABLE" || rows[0].detail == "" || rows[0].body != "hello" || rows[0].order != nil {
		t.Errorf("poison: %+v", rows[0])
	}
	if rows[1].reason != "TOO_MANY_RECEIVES" || string(rows[1].order) != string(taken[0].OrderID[:]) || rows[1].receives != 6 || rows[1].body != given.Body {
		t.Errorf("given up: %+v", rows[1])
	}
}

func TestDeadLettersWaitForADatabaseThatIsAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mysql.Down()
	want := `{"batchItemFailures":[{"itemIdentifier":"m0"},{"itemIdentifier":"m1"}]}`
	if answer := w.run(queue.NewRecordDeadLetters(w.d), w.batch("a", "b")); answer != want {
		t.Errorf("answered %s, want %s", answer, want)
	}
}
