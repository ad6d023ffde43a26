package queue_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"holdfast/infra/local/sqs"
	"holdfast/shared/edge"
	"holdfast/shared/edge/boot"
	"holdfast/shared/edge/queue"
)

// board is a topic that keeps what is published by id.
type board struct {
	away  bool
	times map[string]int
}

func (b *board) Publish(_ context.Context, messages []edge.TopicMessage) []error {
	outcomes := make([]error, len(messages))
	for i, m := range messages {
		if b.away {
			outcomes[i] = errors.New("away")
			continue
		}
		b.times[m.ID]++
	}
	return outcomes
}

func TestOneMessageSendsAllNoticesThatAreDue(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.sale()
	topic := &board{times: map[string]int{}}
	w.d.Topic = topic
	w.run(queue.NewCreateOrders(w.d), w.batch(w.bodies(w.reserve(a, 20))...))
	// More than a page of other notices.
	for i := range 250 {
		if _, err := w.d.DB.ExecContext(t.Context(), `INSERT INTO notice (subject, kind, user_id, activity_id, mode, data, status, due_at, created_at,
 updated_at) VALUES (?, 'ORDER_PAID', 'u', 'a', 'LIVE', '{}', 'WAITING', '2020-01-01', '2020-01-01', '2020-01-01')`, fmt.Sprint("s", i)); err != nil {
			t.Fatal(err)
		}
	}
	look := []events.SQSMessage{{MessageId: "m0", Body: "look"}, {MessageId: "m1", Body: "whatever"}}
	h := queue.NewSendNotices(w.d)
	topic.away = true
	if answer := w.run(h, look); answer != allDone || len(topic.times) != 0 {
		t.Errorf("answered %s while the topic is away", answer)
	}
	topic.away = false
	if _, err := w.d.DB.ExecContext(t.Context(), `UPDATE notice SET due_at = '2020-01-01'`); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if answer := w.run(h, look); answer != allDone {
			t.Errorf("answered %s", answer)
		}
	}
	for id, n := range topic.times {
		if n != 1 {
			t.Errorf("%s was published %d times", id, n)
		}
	}
	if len(topic.times) != 270 {
		t.Errorf("%d were published", len(topic.times))
	}
}

func TestWithoutTheDatabaseEveryMessageToTheSenderComesAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.d.Topic = &board{times: map[string]int{}}
	w.mysql.Down()
	want := `{"batchItemFailures":[{"itemIdentifier":"m0"},{"itemIdentifier":"m1"}]}`
	if answer := w.run(queue.NewSendNotices(w.d), w.batch("look", "look")); answer != want {
		t.Errorf("answered %s", answer)
	}
}

func TestTheBellPutsOneMessageIntoTheQueue(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server, err := sqs.Start(sqs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	notices, err := server.CreateQueue("notices", nil)
	if err != nil {
		t.Fatal(err)
	}
	bell := queue.NewBell(boot.LocalSQS(server.Endpoint()), notices.URL())
	if err := bell.Ring(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := w.received(notices); len(got) != 1 || got[0].Body != "look" {
		t.Errorf("received %+v", got)
	}
	server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := bell.Ring(ctx); err == nil {
		t.Error("a bell that nobody hears is no error")
	}
}
