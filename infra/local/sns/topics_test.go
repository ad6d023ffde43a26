package sns_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awssns "github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sns/types"
	"github.com/aws/smithy-go"

	"holdfast/infra/local/sns"
	"holdfast/infra/local/sqs"
	"holdfast/shared/edge"
	"holdfast/shared/edge/topic"
)

// faults is one mode for every call.
type faults struct{ mode atomic.Value }

func (f *faults) Next(point string) sqs.Mode {
	mode, _ := f.mode.Load().(sqs.Mode)
	if point != sns.PointPublish {
		return sqs.None
	}
	return mode
}

func newClient(endpoint string) *awssns.Client {
	return awssns.New(awssns.Options{BaseEndpoint: &endpoint, Region: "us-east-1", Retryer: aws.NopRetryer{},
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", "")})
}

// world is a topic service with one topic, and the carrier that functions publish by.
type world struct {
	topics  *sns.Topics
	arn     string
	faults  faults
	client  *awssns.Client
	carrier *topic.SNS
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{}
	w.topics = sns.New(sns.Options{Faults: &w.faults})
	w.arn = w.topics.Create("notices")
	server := httptest.NewServer(w.topics)
	t.Cleanup(server.Close)
	w.client = newClient(server.URL)
	w.carrier = topic.NewSNS(func() *awssns.Client { return w.client }, w.arn)
	return w
}

func messages(n int) []edge.TopicMessage {
	list := make([]edge.TopicMessage, n)
	for i := range list {
		list[i] = edge.TopicMessage{ID: fmt.Sprint(i), Body: fmt.Sprintf(`{"id":"%d","note":"Käfer & <%d>"}`, i, i),
			Attributes: map[string]string{"type": "order.paid", "mode": "LIVE"}}
	}
	return list
}

func TestManyMessagesArePublishedInBatchesAndKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	list := messages(23)
	for i, err := range w.carrier.Publish(t.Context(), list) {
		if err != nil {
			t.Errorf("message %d: %v", i, err)
		}
	}
	kept, count := w.topics.Published(w.arn)
	if count != 23 || len(kept) != 23 {
		t.Fatalf("%d kept, %d counted", len(kept), count)
	}
	ids := map[string]bool{}
	for i, m := range kept {
		if m.Body != list[i].Body || m.Attributes["type"] != "order.paid" || m.Attributes["mode"] != "LIVE" || ids[m.MessageID] {
			t.Errorf("message %d is kept as %+v", i, m)
		}
		ids[m.MessageID] = true
	}
}

func TestEachMessageOfABatchIsJudgedByItself(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.faults.mode.Store(sqs.FailEntry)
	for i, err := range w.carrier.Publish(t.Context(), messages(10)) {
		if fails := i == 2 || i == 6; fails != errors.Is(err, topic.ErrNotAccepted) || fails != (err != nil) {
			t.Errorf("message %d: %v", i, err)
		}
	}
	if kept, _ := w.topics.Published(w.arn); len(kept) != 8 {
		t.Errorf("%d kept", len(kept))
	}
}

func TestFaultsDoWhatTheDescriptionSays(t *testing.T) {
	t.Parallel()
	for mode, want := range map[sqs.Mode]struct {
		accepted bool
		kept     int
	}{sqs.None: {true, 2}, sqs.Refuse: {false, 0}, sqs.LoseAnswer: {false, 2}, sqs.Drop: {true, 0}, sqs.Duplicate: {true, 4}, sqs.Hang: {false, 0}} {
		t.Run("mode "+string(mode), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.faults.mode.Store(mode)
			ctx := t.Context()
			if mode == sqs.Hang {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, 200*time.Millisecond)
				defer cancel()
			}
			for i, err := range w.carrier.Publish(ctx, messages(2)) {
				if (err == nil) != want.accepted {
					t.Errorf("message %d: %v", i, err)
				}
			}
			if kept, _ := w.topics.Published(w.arn); len(kept) != want.kept {
				t.Errorf("%d kept, want %d", len(kept), want.kept)
			}
		})
	}
}

func TestLongMessagesAreSpreadOverBatches(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	list := messages(5)
	for i := range list {
		list[i].Body = strings.Repeat("x", 100<<10)
	}
	list[4].Body = strings.Repeat("x", 257<<10) // too long by itself
	outcomes := w.carrier.Publish(t.Context(), list)
	for i, err := range outcomes {
		if (err != nil) != (i == 4) {
			t.Errorf("message %d: %v", i, err)
		}
	}
	if kept, _ := w.topics.Published(w.arn); len(kept) != 4 {
		t.Errorf("%d kept", len(kept))
	}
}

// behaviour is what ours and moto have in common, as the client sees it.
func behaviour(t *testing.T, client *awssns.Client, arn string) {
	ctx := t.Context()
	entry := func(id, body string) types.PublishBatchRequestEntry {
		return types.PublishBatchRequestEntry{Id: &id, Message: &body, MessageAttributes: map[string]types.MessageAttributeValue{
			"type": {DataType: aws.String("String"), StringValue: aws.String("order.paid")}}}
	}
	batch := func(arn string, entries ...types.PublishBatchRequestEntry) (*awssns.PublishBatchOutput, error) {
		return client.PublishBatch(ctx, &awssns.PublishBatchInput{TopicArn: &arn, PublishBatchRequestEntries: entries})
	}
	refused := func(err error, code string) {
		t.Helper()
		var api smithy.APIError
		if !errors.As(err, &api) || api.ErrorCode() != code {
			t.Errorf("got %v, want %s", err, code)
		}
	}
	one, err := client.Publish(ctx, &awssns.PublishInput{TopicArn: &arn, Message: aws.String("hello <&>")})
	if err != nil || aws.ToString(one.MessageId) == "" {
		t.Fatalf("%+v, %v", one, err)
	}
	ten := make([]types.PublishBatchRequestEntry, 10)
	for i := range ten {
		ten[i] = entry(fmt.Sprint("e", i), fmt.Sprint("body ", i))
	}
	many, err := batch(arn, ten...)
	if err != nil || len(many.Successful) != 10 || len(many.Failed) != 0 {
		t.Fatalf("%+v, %v", many, err)
	}
	named := map[string]bool{}
	for _, done := range many.Successful {
		named[aws.ToString(done.Id)] = aws.ToString(done.MessageId) != ""
	}
	for _, e := range ten {
		if !named[*e.Id] {
			t.Errorf("%s is not among the accepted", *e.Id)
		}
	}
	_, err = batch(arn, append(ten, entry("e10", "body"))...)
	refused(err, "TooManyEntriesInBatchRequest")
	_, err = batch(arn, entry("same", "x"), entry("same", "y"))
	refused(err, "BatchEntryIdsNotDistinct")
	_, err = batch(arn+"-not", entry("e", "x"))
	refused(err, "NotFound")
	_, err = client.Publish(ctx, &awssns.PublishInput{TopicArn: aws.String(arn + "-not"), Message: aws.String("x")})
	refused(err, "NotFound")
	_, err = client.Publish(ctx, &awssns.PublishInput{TopicArn: &arn, Message: aws.String(strings.Repeat("x", 262145))})
	refused(err, "InvalidParameter")
}

func TestOursBehavesAsClientsKnowSNS(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	behaviour(t, w.client, w.arn)
	if kept, _ := w.topics.Published(w.arn); len(kept) != 11 || kept[0].Body != "hello <&>" {
		t.Errorf("%d kept", len(kept))
	}
}
