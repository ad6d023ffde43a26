package sqs_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/infra/local/sqs"
)

// clock stands still until a test moves it.
type clock struct{ offset atomic.Int64 }

func (c *clock) Now() time.Time {
	return time.Date(2027, 1, 1, 8, 0, 0, 0, time.UTC).Add(time.Duration(c.offset.Load()))
}

func (c *clock) Advance(d time.Duration) { c.offset.Add(int64(d)) }

func newQueue(t *testing.T, s *sqs.Server, name string, attributes map[string]string) *sqs.Queue {
	t.Helper()
	q, err := s.CreateQueue(name, attributes)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func put(t *testing.T, q *sqs.Queue, body string) {
	t.Helper()
	if _, err := q.Send(t.Context(), sqs.Outgoing{Body: body}); err != nil {
		t.Fatal(err)
	}
}

func take(t *testing.T, q *sqs.Queue, want int) []sqs.Message {
	t.Helper()
	got, err := q.Receive(t.Context(), 10, 0)
	if err != nil || len(got) != want {
		t.Fatalf("received %d messages (%v), want %d", len(got), err, want)
	}
	return got
}

func depth(q *sqs.Queue) [3]int {
	visible, inflight, delayed := q.Depth()
	return [3]int{visible, inflight, delayed}
}

// refusedAs expects a *Error of that code.
func refusedAs(t *testing.T, err error, code string) {
	t.Helper()
	var refused *sqs.Error
	if !errors.As(err, &refused) || refused.Code != code {
		t.Errorf("got %v, want %s", err, code)
	}
}

func TestVisibilityAndDelayFollowTheInjectedClock(t *testing.T) {
	t.Parallel()
	c := &clock{}
	q := newQueue(t, start(t, sqs.Options{Now: c.Now}), "q", map[string]string{"VisibilityTimeout": "60"})
	later := 5 * time.Minute
	put(t, q, "now")
	if _, err := q.Send(t.Context(), sqs.Outgoing{Body: "later", Delay: &later}); err != nil {
		t.Fatal(err)
	}
	take(t, q, 1)
	if d := depth(q); d != [3]int{0, 1, 1} {
		t.Errorf("%v", d)
	}
	c.Advance(59 * time.Second)
	take(t, q, 0)
	c.Advance(time.Second)
	if m := take(t, q, 1)[0]; m.Receives != 2 || !m.SentAt.Equal((&clock{}).Now()) {
		t.Errorf("%+v", m)
	}
	c.Advance(48 * time.Hour)
	if d := depth(q); d != [3]int{2, 0, 0} {
		t.Errorf("%v after two days", d)
	}
}

// TestWakeEndsALongPollWhoseMessageBecameDueByAJump moves a clock that stands still: nothing but Wake can tell the waiting receive.
func TestWakeEndsALongPollWhoseMessageBecameDueByAJump(t *testing.T) {
	t.Parallel()
	c := &clock{}
	s := start(t, sqs.Options{Now: c.Now})
	q := newQueue(t, s, "q", nil)
	put(t, q, "x")
	take(t, q, 1)
	got := make(chan int, 3)
	for range 3 {
		go func() {
			m, _ := q.Receive(context.Background(), 1, 10*time.Second)
			got <- len(m)
		}()
	}
	time.Sleep(30 * time.Millisecond)
	c.Advance(time.Hour)
	s.Wake()
	if n := <-got; n != 1 {
		t.Errorf("%d messages", n)
	}
	s.Close()
	if n := <-got + <-got; n != 0 {
		t.Errorf("the message was given out %d times more", n)
	}
}

func TestOnlyTheLatestHandleDeletes(t *testing.T) {
	t.Parallel()
	c := &clock{}
	s := start(t, sqs.Options{Now: c.Now})
	q := newQueue(t, s, "q", nil)
	put(t, q, "x")
	old := take(t, q, 1)[0]
	c.Advance(31 * time.Second)
	latest := take(t, q, 1)[0]
	if err := q.Delete(t.Context(), old.Receipt); err != nil || depth(q) != [3]int{0, 1, 0} {
		t.Errorf("an old handle: %v, %v", err, depth(q))
	}
	refusedAs(t, q.ChangeVisibility(old.Receipt, 0), "MessageNotInflight")
	c.Advance(31 * time.Second)
	refusedAs(t, q.ChangeVisibility(latest.Receipt, 0), "MessageNotInflight")
	if err := q.Delete(t.Context(), latest.Receipt); err != nil || depth(q) != [3]int{} {
		t.Errorf("the latest handle, after its timeout: %v, %v", err, depth(q))
	}
	refusedAs(t, q.ChangeVisibility(latest.Receipt, 0), "InvalidParameterValue")
	other := newQueue(t, s, "other", nil)
	refusedAs(t, other.Delete(t.Context(), latest.Receipt), "ReceiptHandleIsInvalid")
}

func TestADeadLetterKeepsItsIdentityAndNamesItsSource(t *testing.T) {
	t.Parallel()
	c := &clock{}
	s := start(t, sqs.Options{Now: c.Now})
	dead := newQueue(t, s, "dead", nil)
	policy := `{"deadLetterTargetArn":"` + dead.ARN() + `","maxReceiveCount":"2"}`
	q := newQueue(t, s, "q", map[string]string{"RedrivePolicy": policy})
	put(t, q, "poison")
	waiting := make(chan sqs.Message, 1)
	go func() {
		got, _ := dead.Receive(context.Background(), 1, 10*time.Second)
		waiting <- got[0]
	}()
	var first sqs.Message
	for range 2 {
		first = take(t, q, 1)[0]
		c.Advance(time.Minute)
	}
	put(t, q, "sound") // what stands behind the poison is given out in the same call
	if got := take(t, q, 1)[0]; got.Body != "sound" {
		t.Errorf("received %q", got.Body)
	}
	m := <-waiting
	if m.ID != first.ID || m.Receives != 3 || m.DeadSource != q.ARN() || !m.SentAt.Equal(first.SentAt) || m.SystemAttributes()["DeadLetterQueueSourceArn"] != q.ARN() {
		t.Errorf("%+v", m)
	}
}

func TestARedrivePolicyThatCannotWorkIsRefused(t *testing.T) {
	t.Parallel()
	s := start(t, sqs.Options{})
	q := newQueue(t, s, "q", nil)
	for _, policy := range []string{
		`{"deadLetterTargetArn":"` + q.ARN() + `-not","maxReceiveCount":2}`,
		`{"deadLetterTargetArn":"` + q.ARN() + `","maxReceiveCount":0}`,
		`{"deadLetterTargetArn":"` + q.ARN() + `"}`,
		`no JSON`,
	} {
		_, err := s.CreateQueue("new", map[string]string{"RedrivePolicy": policy})
		refusedAs(t, err, "InvalidParameterValue")
	}
	_, err := s.CreateQueue("q.fifo", nil)
	refusedAs(t, err, "UnsupportedOperation")
	_, err = s.CreateQueue("new", map[string]string{"FifoQueue": "true"})
	refusedAs(t, err, "InvalidAttributeName")
}

func TestAMessageOlderThanItsRetentionIsGone(t *testing.T) {
	t.Parallel()
	c := &clock{}
	q := newQueue(t, start(t, sqs.Options{Now: c.Now}), "q", map[string]string{"MessageRetentionPeriod": "3600"})
	put(t, q, "old")
	put(t, q, "old and in flight")
	if _, err := q.Receive(t.Context(), 1, 0); err != nil {
		t.Fatal(err)
	}
	c.Advance(time.Hour + time.Second)
	put(t, q, "young")
	if got := take(t, q, 1); got[0].Body != "young" {
		t.Errorf("received %q", got[0].Body)
	}
	if d := depth(q); d != [3]int{0, 1, 0} {
		t.Errorf("%v", d)
	}
}

// TestNoMessageLiesVisibleWhileSomeoneWaits has senders and long polls run into each other; a lost wake-up would leave a poll waiting.
func TestNoMessageLiesVisibleWhileSomeoneWaits(t *testing.T) {
	t.Parallel()
	q := newQueue(t, start(t, sqs.Options{}), "q", nil)
	const senders, each, receivers = 4, 2000, 8
	var received, impatient atomic.Int64
	var seen sync.Map
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var work sync.WaitGroup
	for r := range receivers {
		work.Go(func() {
			for received.Load() < senders*each {
				wait, patience := 30*time.Second, ctx
				if r == 0 { // one receiver gives up all the time, and must pass on what it was woken for
					short, end := context.WithTimeout(ctx, 200*time.Microsecond)
					patience = short
					defer end()
				}
				got, err := q.Receive(patience, 1+r, wait)
				if err != nil {
					impatient.Add(1)
				}
				for _, m := range got {
					if _, twice := seen.LoadOrStore(m.ID, true); twice {
						t.Error("given out twice")
					}
					if err := q.Delete(ctx, m.Receipt); err != nil {
						t.Error(err)
					}
				}
				if received.Add(int64(len(got))) == senders*each {
					cancel() // nobody needs to wait any longer
				}
			}
		})
	}
	for s := range senders {
		work.Go(func() {
			for i := range each {
				if _, err := q.Send(t.Context(), sqs.Outgoing{Body: fmt.Sprint(s, i)}); err != nil {
					t.Error(err)
				}
				if i%100 == 0 {
					time.Sleep(time.Millisecond) // so that the polls really wait now and then
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { work.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(25 * time.Second):
		t.Fatalf("%d of %d received: a poll was not woken", received.Load(), senders*each)
	}
	if received.Load() != senders*each || depth(q) != [3]int{} {
		t.Errorf("%d received, %v left", received.Load(), depth(q))
	}
}

func TestCloseEndsWaitingCalls(t *testing.T) {
	t.Parallel()
	s := start(t, sqs.Options{})
	q := newQueue(t, s, "q", nil)
	ended := make(chan error, 1)
	go func() {
		_, err := q.Receive(context.Background(), 1, 20*time.Second)
		ended <- err
	}()
	time.Sleep(20 * time.Millisecond)
	s.Close()
	if err := <-ended; !errors.Is(err, sqs.ErrClosed) {
		t.Errorf("got %v", err)
	}
}

func TestOnlyThisMachineIsServed(t *testing.T) {
	t.Parallel()
	if e := start(t, sqs.Options{}).Endpoint(); !strings.HasPrefix(e, "http://127.0.0.1:") {
		t.Error(e)
	}
}

func TestSizeCountsBytesAndAttributes(t *testing.T) {
	t.Parallel()
	q := newQueue(t, start(t, sqs.Options{}), "q", map[string]string{"MaximumMessageSize": "1024"})
	send := func(out sqs.Outgoing) error {
		_, err := q.Send(t.Context(), out)
		return err
	}
	if err := send(sqs.Outgoing{Body: strings.Repeat("é", 512)}); err != nil {
		t.Error(err)
	}
	refusedAs(t, send(sqs.Outgoing{Body: strings.Repeat("é", 512) + "e"}), "InvalidParameterValue")
	value := "v"
	attributes := map[string]sqs.Attribute{"n": {DataType: "String", StringValue: &value}} // 8 bytes
	if err := send(sqs.Outgoing{Body: strings.Repeat("x", 1016), Attributes: attributes}); err != nil {
		t.Error(err)
	}
	refusedAs(t, send(sqs.Outgoing{Body: strings.Repeat("x", 1017), Attributes: attributes}), "InvalidParameterValue")
	refusedAs(t, send(sqs.Outgoing{Body: ""}), "MissingParameter")
	refusedAs(t, send(sqs.Outgoing{Body: "a\x00b"}), "InvalidMessageContents")
	refusedAs(t, send(sqs.Outgoing{Body: "x", Attributes: map[string]sqs.Attribute{"n": {DataType: "Colour", StringValue: &value}}}), "InvalidParameterValue")
	refusedAs(t, send(sqs.Outgoing{Body: "x", Attributes: map[string]sqs.Attribute{"n": {DataType: "String"}}}), "InvalidParameterValue")
}
