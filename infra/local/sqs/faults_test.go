package sqs_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"holdfast/infra/local/sqs"
)

// always gives one point one mode.
type always struct {
	point string
	mode  atomic.Value // of sqs.Mode
}

func (a *always) Next(point string) sqs.Mode {
	if point != a.point {
		return sqs.None
	}
	return a.mode.Load().(sqs.Mode)
}

// faulty returns a queue whose calls at point go wrong in mode, with a client, and a switch that ends the fault.
func faulty(t *testing.T, point string, mode sqs.Mode) (*caller, *sqs.Queue, func()) {
	t.Helper()
	faults := &always{point: point}
	faults.mode.Store(sqs.None)
	s := start(t, sqs.Options{Faults: faults})
	q := newQueue(t, s, "q", nil)
	if point != sqs.PointSend {
		put(t, q, "x")
	}
	faults.mode.Store(mode)
	return &caller{T: t, client: newClient(s.Endpoint())}, q, func() { faults.mode.Store(sqs.None) }
}

// trySend sends one message with a client that gives up after 300 ms.
func trySend(b *caller, q *sqs.Queue) error {
	ctx, cancel := context.WithTimeout(b.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := b.client.SendMessage(ctx, &awssqs.SendMessageInput{QueueUrl: aws.String(q.URL()), MessageBody: aws.String("x")})
	return err
}

func TestFaultsOfSending(t *testing.T) {
	t.Parallel()
	cases := []struct {
		mode   sqs.Mode
		fails  bool
		stored int
	}{
		{sqs.None, false, 1}, {sqs.Refuse, true, 0}, {sqs.LoseAnswer, true, 1}, {sqs.Drop, false, 0}, {sqs.Duplicate, false, 2},
		{sqs.Hang, true, 0}, {sqs.FailEntry, true, 0},
	}
	for _, c := range cases {
		t.Run(fmt.Sprintf("%s fails %v and stores %d", c.mode, c.fails, c.stored), func(t *testing.T) {
			t.Parallel()
			b, q, end := faulty(t, sqs.PointSend, c.mode)
			err := trySend(b, q)
			if (err != nil) != c.fails {
				t.Errorf("got %v", err)
			}
			var api smithy.APIError
			if refused := errors.As(err, &api); refused != (c.mode == sqs.Refuse || c.mode == sqs.FailEntry) {
				t.Errorf("got %v: an answer in words only when refused", err)
			}
			end()
			got := take(t, q, c.stored)
			if c.stored == 2 && got[0].ID != got[1].ID {
				t.Error("the two copies have two ids")
			}
		})
	}
}

func TestARefusalIsA503(t *testing.T) {
	t.Parallel()
	b, q, _ := faulty(t, sqs.PointSend, sqs.Refuse)
	var response *smithyhttp.ResponseError
	if err := trySend(b, q); !errors.As(err, &response) || response.HTTPStatusCode() != http.StatusServiceUnavailable {
		t.Errorf("got %v", err)
	}
}

// TestEntriesThreeAndSevenOfTenFail is the partial failure that a sender must not overlook: the call itself succeeds.
func TestEntriesThreeAndSevenOfTenFail(t *testing.T) {
	t.Parallel()
	b, q, end := faulty(t, sqs.PointSend, sqs.FailEntry)
	out, err := b.sendBatch(q.URL(), entries(10))
	if err != nil {
		t.Fatal(err)
	}
	var failed []string
	for _, f := range out.Failed {
		failed = append(failed, *f.Id)
		if f.SenderFault || *f.Code != "InternalError" {
			t.Errorf("%+v", f)
		}
	}
	if !slices.Equal(failed, []string{"e2", "e6"}) || len(out.Successful) != 8 {
		t.Errorf("failed %v, %d succeeded", failed, len(out.Successful))
	}
	end()
	for _, m := range take(t, q, 8) {
		if m.Body == "body 2" || m.Body == "body 6" {
			t.Errorf("%q failed and was stored", m.Body)
		}
	}
}

func TestFaultsOfReceiving(t *testing.T) {
	t.Parallel()
	cases := []struct {
		mode  sqs.Mode
		fails bool
		got   int
		after [3]int
	}{
		{sqs.Refuse, true, 0, [3]int{1, 0, 0}}, {sqs.LoseAnswer, true, 0, [3]int{0, 1, 0}}, {sqs.Drop, false, 0, [3]int{1, 0, 0}},
		{sqs.Duplicate, false, 1, [3]int{1, 0, 0}}, {sqs.Hang, true, 0, [3]int{1, 0, 0}},
	}
	for _, c := range cases {
		t.Run(fmt.Sprintf("%s fails %v and leaves %v", c.mode, c.fails, c.after), func(t *testing.T) {
			t.Parallel()
			b, q, _ := faulty(t, sqs.PointReceive, c.mode)
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			out, err := b.client.ReceiveMessage(ctx, &awssqs.ReceiveMessageInput{QueueUrl: aws.String(q.URL())})
			if (err != nil) != c.fails || err == nil && len(out.Messages) != c.got {
				t.Errorf("got %+v %v", out, err)
			}
			if d := depth(q); d != c.after {
				t.Errorf("left %v", d)
			}
		})
	}
}

func TestFaultsOfDeleting(t *testing.T) {
	t.Parallel()
	cases := []struct {
		mode  sqs.Mode
		fails bool
		left  int
	}{
		{sqs.Refuse, true, 1}, {sqs.LoseAnswer, true, 0}, {sqs.Drop, false, 1}, {sqs.Hang, true, 1}, {sqs.FailEntry, true, 1},
		{sqs.Duplicate, false, 0}, // has no meaning here and does nothing
	}
	for _, c := range cases {
		t.Run(fmt.Sprintf("%s fails %v and leaves %d", c.mode, c.fails, c.left), func(t *testing.T) {
			t.Parallel()
			b, q, _ := faulty(t, sqs.PointDelete, c.mode)
			receipt := take(t, q, 1)[0].Receipt
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			_, err := b.client.DeleteMessage(ctx, &awssqs.DeleteMessageInput{QueueUrl: aws.String(q.URL()), ReceiptHandle: &receipt})
			if (err != nil) != c.fails {
				t.Errorf("got %v", err)
			}
			if d := depth(q); d != [3]int{0, c.left, 0} {
				t.Errorf("left %v", d)
			}
		})
	}
}

// TestTheTableOfFaultsIsWhole compares what Modes says with the description of the package: a mode without an effect would be a dead switch.
func TestTheTableOfFaultsIsWhole(t *testing.T) {
	t.Parallel()
	if got := strings.Join(sqs.Points(), " "); got != "queue.send queue.receive queue.delete" {
		t.Error(got)
	}
	if n := len(sqs.Modes(sqs.PointSend)) + len(sqs.Modes(sqs.PointReceive)) + len(sqs.Modes(sqs.PointDelete)); n != 16 {
		t.Errorf("%d pairs of point and mode, the tests above and the table know 16", n)
	}
	if sqs.Modes("redis.reserve") != nil {
		t.Error("modes for a point of someone else")
	}
}

func TestWhatIsNotImitatedIsRefused(t *testing.T) {
	t.Parallel()
	s := start(t, sqs.Options{})
	q := newQueue(t, s, "q", nil)
	client := newClient(s.Endpoint())
	b := &caller{T: t, client: client}
	_, err := client.SendMessage(t.Context(), &awssqs.SendMessageInput{QueueUrl: aws.String(q.URL()), MessageBody: aws.String("x"), MessageGroupId: aws.String("g")})
	var unsupported *types.UnsupportedOperation
	if !errors.As(err, &unsupported) {
		t.Errorf("a message group: %v", err)
	}
	_, err = client.TagQueue(t.Context(), &awssqs.TagQueueInput{QueueUrl: aws.String(q.URL()), Tags: map[string]string{"a": "b"}})
	b.refused(err, "InvalidAction")
	response, err := http.Get(s.Endpoint())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusBadRequest {
		t.Errorf("a GET is answered %d", response.StatusCode)
	}
}

// TestPoliciesInACircleAreRefused keeps two queues from being each other's dead-letter queue, which would make a receive wait for itself.
func TestPoliciesInACircleAreRefused(t *testing.T) {
	t.Parallel()
	s := start(t, sqs.Options{})
	a := newQueue(t, s, "a", nil)
	c := newQueue(t, s, "c", map[string]string{"RedrivePolicy": `{"deadLetterTargetArn":"` + a.ARN() + `","maxReceiveCount":2}`})
	client := newClient(s.Endpoint())
	for _, target := range []*sqs.Queue{a, c} {
		_, err := client.SetQueueAttributes(t.Context(), &awssqs.SetQueueAttributesInput{QueueUrl: aws.String(a.URL()), Attributes: map[string]string{
			"RedrivePolicy": `{"deadLetterTargetArn":"` + target.ARN() + `","maxReceiveCount":2}`,
		}})
		(&caller{T: t, client: client}).refused(err, "InvalidParameterValue")
	}
}
