package mapping_test

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"holdfast/infra/local/mapping"
)

// TestAnswersAreReadAsLambdaReadsThem gives each answer to a batch of three: what is left in flight was counted as failed.
func TestAnswersAreReadAsLambdaReadsThem(t *testing.T) {
	t.Parallel()
	cases := []struct {
		outcome string
		answer  string // $0 is the first message's id
		failed  int
	}{
		{"an empty list: all succeeded", `{"batchItemFailures":[]}`, 0},
		{"a null list: all succeeded", `{"batchItemFailures":null}`, 0},
		{"an empty object: all succeeded", `{}`, 0},
		{"null: all succeeded", `null`, 0},
		{"a list in the wrong letter case is an unknown field: all succeeded", `{"BatchItemFailures":[{"itemIdentifier":"$0"}]}`, 0},
		{"one identifier: one failed", `{"batchItemFailures":[{"itemIdentifier":"$0"}]}`, 1},
		{"one identifier twice: one failed", `{"batchItemFailures":[{"itemIdentifier":"$0"},{"itemIdentifier":"$0"}]}`, 1},
		{"an empty identifier: all failed", `{"batchItemFailures":[{"itemIdentifier":""}]}`, 3},
		{"a null identifier: all failed", `{"batchItemFailures":[{"itemIdentifier":null}]}`, 3},
		{"an identifier that is a number: all failed", `{"batchItemFailures":[{"itemIdentifier":7}]}`, 3},
		{"a misnamed identifier: all failed", `{"batchItemFailures":[{"messageId":"$0"}]}`, 3},
		{"an identifier in the wrong letter case: all failed", `{"batchItemFailures":[{"ItemIdentifier":"$0"}]}`, 3},
		{"an unknown identifier: all failed", `{"batchItemFailures":[{"itemIdentifier":"nobody"}]}`, 3},
		{"an unknown identifier beside a known one: all failed", `{"batchItemFailures":[{"itemIdentifier":"$0"},{"itemIdentifier":"nobody"}]}`, 3},
		{"a null item: all failed", `{"batchItemFailures":[null]}`, 3},
		{"a list of texts: all failed", `{"batchItemFailures":["$0"]}`, 3},
		{"a list that is none: all failed", `{"batchItemFailures":"$0"}`, 3},
		{"a text: all failed", `"ok"`, 3},
		{"no JSON: all failed", `{"batchItemFailures":[`, 3},
		{"nothing at all: all failed", ``, 3},
	}
	for _, c := range cases {
		t.Run(c.outcome, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "5", nil)
			w.send(t, 3)
			var got seen
			answered := make(chan struct{}, 9)
			m := run(t, mapping.Options{
				Queue: w.queue, Function: "f", ReportBatchItemFailures: true,
				Invoker: functions{"f": raw(func(_ context.Context, payload []byte) ([]byte, error) {
					e := got.addJSON(t, payload)
					answered <- struct{}{}
					return []byte(strings.ReplaceAll(c.answer, "$0", e.Records[0].MessageId)), nil
				})},
			})
			<-answered
			if err := m.Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
			if d := depth(w.queue); d != [3]int{0, c.failed, 0} {
				t.Errorf("%v left, want %d in flight", d, c.failed)
			}
		})
	}
}

func TestAFunctionThatFailsOrPanicsKeepsItsWholeBatch(t *testing.T) {
	t.Parallel()
	for name, handler := range map[string]lambda.Handler{
		"fails":  function(func(context.Context, events.SQSEvent) error { return fmt.Errorf("no") }),
		"panics": function(func(context.Context, events.SQSEvent) error { panic("no") }),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "5", nil)
			ids := w.send(t, 3)
			var got seen
			run(t, mapping.Options{Queue: w.queue, Function: "f", Invoker: functions{"f": raw(func(ctx context.Context, payload []byte) ([]byte, error) {
				got.addJSON(t, payload)
				return handler.Invoke(ctx, payload)
			})}})
			eventually(t, "a first run", func() bool { return got.of(ids[2]) == 1 })
			w.timeout()
			eventually(t, "a second run", func() bool { return got.of(ids[0]) == 2 && got.of(ids[2]) == 2 })
		})
	}
}

// TestWithoutPartialAnswersReportedFailuresAreDeleted shows why a mapping must switch them on: the function's list is not read.
func TestWithoutPartialAnswersReportedFailuresAreDeleted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		report   bool
		inflight int
	}{"off": {false, 0}, "on": {true, 1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "5", nil)
			w.send(t, 1)
			answered := make(chan struct{}, 1)
			m := run(t, mapping.Options{
				Queue: w.queue, Function: "f", ReportBatchItemFailures: c.report,
				Invoker: functions{"f": function(func(_ context.Context, e events.SQSEvent) (events.SQSEventResponse, error) {
					defer func() { answered <- struct{}{} }()
					return events.SQSEventResponse{BatchItemFailures: []events.SQSBatchItemFailure{{ItemIdentifier: e.Records[0].MessageId}}}, nil
				})},
			})
			<-answered
			if err := m.Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
			if d := depth(w.queue); d != [3]int{0, c.inflight, 0} {
				t.Errorf("%v left, want %d in flight", d, c.inflight)
			}
		})
	}
}

func TestTwoFailuresOfTenComeAgainAloneAndEndInTheDeadLetterQueue(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "3", nil)
	ids := w.send(t, 10)
	bad := map[string]bool{ids[3]: true, ids[7]: true}
	var got, buried seen
	run(t, mapping.Options{
		Queue: w.queue, Function: "f", ReportBatchItemFailures: true,
		Invoker: functions{"f": function(func(_ context.Context, e events.SQSEvent) (events.SQSEventResponse, error) {
			got.add(e)
			out := events.SQSEventResponse{BatchItemFailures: []events.SQSBatchItemFailure{}}
			for _, r := range e.Records {
				if bad[r.MessageId] {
					out.BatchItemFailures = append(out.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: r.MessageId})
				}
			}
			return out, nil
		})},
	})
	for n := 1; n <= 3; n++ {
		eventually(t, fmt.Sprint("delivery ", n), func() bool { return got.of(ids[3]) == n && got.of(ids[7]) == n })
		eventually(t, "only the failed ones are left", func() bool { return depth(w.queue) == [3]int{0, 2, 0} })
		w.timeout()
	}
	// The dead-letter queue has a mapping of the same type.
	run(t, mapping.Options{
		Queue: w.dead, Function: "bury", ReportBatchItemFailures: true,
		Invoker: functions{"bury": function(func(_ context.Context, e events.SQSEvent) (events.SQSEventResponse, error) {
			buried.add(e)
			return events.SQSEventResponse{}, nil
		})},
	})
	eventually(t, "both dead letters", func() bool { return buried.of(ids[3]) == 1 && buried.of(ids[7]) == 1 })
	for _, id := range ids {
		if want := 1; !bad[id] && got.of(id) != want {
			t.Errorf("a sound message came %d times", got.of(id))
		}
	}
	if source := buried.batches[0].Records[0].Attributes["DeadLetterQueueSourceArn"]; source != w.queue.ARN() {
		t.Errorf("the dead letter names %q as its source", source)
	}
	eventually(t, "both queues are empty", func() bool { return depth(w.queue) == [3]int{} && depth(w.dead) == [3]int{} })
}

// TestTheEventHasTheShapeOfLambdas decodes it strictly into the published type.
func TestTheEventHasTheShapeOfLambdas(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "5", nil)
	id := w.send(t, 1)[0]
	event := make(chan []byte, 1)
	run(t, mapping.Options{Queue: w.queue, Function: "f", Invoker: functions{"f": raw(func(_ context.Context, payload []byte) ([]byte, error) {
		event <- payload
		return []byte("null"), nil
	})}})
	strict := json.NewDecoder(strings.NewReader(string(<-event)))
	strict.DisallowUnknownFields()
	var e events.SQSEvent
	if err := strict.Decode(&e); err != nil {
		t.Fatal(err)
	}
	r := e.Records[0]
	if r.MessageId != id || r.Body != `{"n":0}` || r.EventSource != "aws:sqs" || r.EventSourceARN != w.queue.ARN() || r.AWSRegion != "us-east-1" {
		t.Errorf("%+v", r)
	}
	if sum := md5.Sum([]byte(r.Body)); r.Md5OfBody != hex.EncodeToString(sum[:]) || r.ReceiptHandle == "" {
		t.Errorf("%+v", r)
	}
	if r.Attributes["ApproximateReceiveCount"] != "1" || len(r.Attributes["SentTimestamp"]) != 13 || len(r.Attributes["ApproximateFirstReceiveTimestamp"]) != 13 || r.Attributes["SenderId"] == "" {
		t.Errorf("%+v", r.Attributes)
	}
}
