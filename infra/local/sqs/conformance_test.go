package sqs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"holdfast/infra/local/sqs"
)

// TestOursAndMotoBehaveAlike runs one table, written against the SDK's client, on this package's server and on moto's, both in real time.
func TestOursAndMotoBehaveAlike(t *testing.T) {
	t.Parallel()
	services := []struct {
		name     string
		endpoint func(t *testing.T) string
	}{
		{"ours", func(t *testing.T) string { return start(t, sqs.Options{}).Endpoint() }},
		{"moto", motoEndpoint},
	}
	for _, service := range services {
		t.Run(service.name, func(t *testing.T) {
			t.Parallel()
			endpoint := service.endpoint(t)
			for _, c := range conformance {
				t.Run(c.outcome, func(t *testing.T) {
					t.Parallel()
					c.run(&caller{T: t, client: newClient(endpoint)})
				})
			}
		})
	}
}

var conformance = []struct {
	outcome string
	run     func(b *caller)
}{
	{"a message comes back when its visibility timeout has passed", visibilityExpires},
	{"the receive count rises and the sent time stays", receiveCountRises},
	{"a batch of ten is sent, received and deleted", batchOfTen},
	{"a batch of eleven is refused", batchOfEleven},
	{"a batch without entries, with a bad id or with one id twice is refused", badBatches},
	{"a long poll ends with the message that is sent meanwhile", longPollWoken},
	{"a long poll without a message ends empty after its time", longPollEmpty},
	{"a message received twice goes to the dead-letter queue under its own id", deadLetterAfterTwo},
	{"visibility 0 shows the message at once", visibilityZero},
	{"visibility can be lengthened", visibilityLonger},
	{"one bad entry of a batch fails alone", partialSend},
	{"one bad handle of a delete batch fails alone", partialDelete},
	{"a body of 1 MiB passes, one byte more is refused, so is a batch whose sum is over it", oversize},
	{"a delayed message is not seen before its time", delay},
	{"a queue's own delay counts", queueDelay},
	{"a text that is no handle is refused, a deleted message's handle is not", unknownHandles},
	{"a queue that does not exist is named as such", noQueue},
	{"creating the same queue again answers the same address", createTwice},
	{"a purge empties the queue", purge},
	{"attributes of messages come back unharmed", messageAttributes},
	{"numbers outside their limits are refused", limits},
}

func visibilityExpires(b *caller) {
	q := b.queue(map[string]string{"VisibilityTimeout": "1"})
	b.send(q, "x")
	first := b.one(q)
	b.none(q)
	began := time.Now()
	second := b.one(q)
	if waited := time.Since(began); waited < 500*time.Millisecond {
		b.Errorf("came back after %v, before its time", waited)
	}
	if *first.MessageId != *second.MessageId || *first.ReceiptHandle == *second.ReceiptHandle {
		b.Errorf("want the same message under a new handle: %v, %v", first, second)
	}
}

func receiveCountRises(b *caller) {
	q := b.queue(nil)
	b.send(q, "x")
	var sent, firstReceived string
	for n := 1; n <= 3; n++ {
		m := b.one(q)
		if got := m.Attributes["ApproximateReceiveCount"]; got != fmt.Sprint(n) {
			b.Fatalf("receive count %s, want %d", got, n)
		}
		if n > 1 && (m.Attributes["SentTimestamp"] != sent || m.Attributes["ApproximateFirstReceiveTimestamp"] != firstReceived) {
			b.Errorf("times changed: %v", m.Attributes)
		}
		sent, firstReceived = m.Attributes["SentTimestamp"], m.Attributes["ApproximateFirstReceiveTimestamp"]
		if len(sent) != 13 || len(firstReceived) != 13 || m.Attributes["SenderId"] == "" {
			b.Errorf("want milliseconds and a sender: %v", m.Attributes)
		}
		if err := b.change(q, m, 0); err != nil {
			b.Fatal(err)
		}
	}
}

func batchOfTen(b *caller) {
	q := b.queue(nil)
	out, err := b.sendBatch(q, entries(10))
	if err != nil || len(out.Successful) != 10 || len(out.Failed) != 0 {
		b.Fatalf("%+v %v", out, err)
	}
	seen := map[string]bool{}
	for len(seen) < 10 {
		got := b.receive(q, 10, 2)
		if len(got) == 0 {
			b.Fatalf("received %d of 10", len(seen))
		}
		var batch []types.DeleteMessageBatchRequestEntry
		for i, m := range got {
			seen[*m.Body] = true
			batch = append(batch, types.DeleteMessageBatchRequestEntry{Id: aws.String(fmt.Sprint(i)), ReceiptHandle: m.ReceiptHandle})
		}
		deleted, err := b.client.DeleteMessageBatch(context.Background(), &awssqs.DeleteMessageBatchInput{QueueUrl: &q, Entries: batch})
		if err != nil || len(deleted.Successful) != len(got) {
			b.Fatalf("%+v %v", deleted, err)
		}
	}
	got, err := b.client.GetQueueAttributes(context.Background(), &awssqs.GetQueueAttributesInput{QueueUrl: &q, AttributeNames: []types.QueueAttributeName{"All"}})
	if err != nil {
		b.Fatal(err)
	}
	for _, name := range []string{"ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible", "ApproximateNumberOfMessagesDelayed"} {
		if got.Attributes[name] != "0" {
			b.Errorf("%s = %s after deleting all", name, got.Attributes[name])
		}
	}
}

func batchOfEleven(b *caller) {
	q := b.queue(nil)
	_, err := b.sendBatch(q, entries(11))
	var tooMany *types.TooManyEntriesInBatchRequest
	if !errors.As(err, &tooMany) {
		b.Fatalf("got %v, want TooManyEntriesInBatchRequest", err)
	}
	b.none(q)
}

func badBatches(b *caller) {
	q := b.queue(nil)
	_, err := b.sendBatch(q, []types.SendMessageBatchRequestEntry{})
	b.refused(err, "EmptyBatchRequest")
	twice := entries(2)
	twice[1].Id = twice[0].Id
	_, err = b.sendBatch(q, twice)
	b.refused(err, "BatchEntryIdsNotDistinct")
	bad := entries(1)
	bad[0].Id = aws.String("not an id")
	_, err = b.sendBatch(q, bad)
	b.refused(err, "InvalidBatchEntryId")
	b.none(q)
}

func longPollWoken(b *caller) {
	q := b.queue(nil)
	received := make(chan int, 1)
	began := time.Now()
	go func() {
		out, err := b.client.ReceiveMessage(context.Background(), &awssqs.ReceiveMessageInput{QueueUrl: &q, WaitTimeSeconds: 20})
		if err != nil {
			received <- -1
			return
		}
		received <- len(out.Messages)
	}()
	time.Sleep(300 * time.Millisecond)
	b.send(q, "wake up")
	if n := <-received; n != 1 {
		b.Fatalf("received %d messages", n)
	}
	if waited := time.Since(began); waited > 15*time.Second {
		b.Errorf("the poll lasted %v: it was not woken", waited)
	}
}

func longPollEmpty(b *caller) {
	q := b.queue(nil)
	began := time.Now()
	if got := b.receive(q, 1, 1); len(got) != 0 {
		b.Fatal(got)
	}
	if waited := time.Since(began); waited < 900*time.Millisecond {
		b.Errorf("the poll ended after %v", waited)
	}
}

func deadLetterAfterTwo(b *caller) {
	dead := b.queue(nil)
	attributes, err := b.client.GetQueueAttributes(context.Background(), &awssqs.GetQueueAttributesInput{QueueUrl: &dead, AttributeNames: []types.QueueAttributeName{"QueueArn"}})
	if err != nil {
		b.Fatal(err)
	}
	policy, err := json.Marshal(map[string]any{"deadLetterTargetArn": attributes.Attributes["QueueArn"], "maxReceiveCount": 2})
	if err != nil {
		b.Fatal(err)
	}
	q := b.queue(map[string]string{"RedrivePolicy": string(policy)})
	id := b.send(q, "poison")
	for range 2 {
		if err := b.change(q, b.one(q), 0); err != nil {
			b.Fatal(err)
		}
	}
	b.none(dead)
	if got := b.receive(q, 1, 1); len(got) != 0 {
		b.Fatalf("received a third time: %v", got)
	}
	m := b.one(dead)
	if *m.MessageId != id || *m.Body != "poison" {
		b.Errorf("dead letter %v, want %s", m, id)
	}
	if m.Attributes["ApproximateReceiveCount"] != "3" {
		b.Errorf("receive count of the dead letter %s, want 3", m.Attributes["ApproximateReceiveCount"])
	}
}

func visibilityZero(b *caller) {
	q := b.queue(map[string]string{"VisibilityTimeout": "600"})
	b.send(q, "x")
	m := b.one(q)
	b.none(q)
	if err := b.change(q, m, 0); err != nil {
		b.Fatal(err)
	}
	b.one(q)
}

func visibilityLonger(b *caller) {
	q := b.queue(map[string]string{"VisibilityTimeout": "1"})
	b.send(q, "x")
	m := b.one(q)
	if err := b.change(q, m, 600); err != nil {
		b.Fatal(err)
	}
	time.Sleep(1500 * time.Millisecond)
	b.none(q)
	if err := b.delete(q, m.ReceiptHandle); err != nil {
		b.Fatal(err)
	}
}

func partialSend(b *caller) {
	q := b.queue(nil)
	batch := entries(3)
	batch[1].DelaySeconds = 901
	out, err := b.sendBatch(q, batch)
	if err != nil {
		b.Fatal(err)
	}
	if len(out.Successful) != 2 || len(out.Failed) != 1 || *out.Failed[0].Id != "e1" || *out.Failed[0].Code != "InvalidParameterValue" || !out.Failed[0].SenderFault {
		b.Fatalf("%+v", out)
	}
	seen := map[string]bool{}
	for range 2 {
		seen[*b.one(q).Body] = true
	}
	if !seen["body 0"] || !seen["body 2"] {
		b.Errorf("received %v", seen)
	}
	b.none(q)
}

func partialDelete(b *caller) {
	q := b.queue(nil)
	b.send(q, "x")
	m := b.one(q)
	out, err := b.client.DeleteMessageBatch(context.Background(), &awssqs.DeleteMessageBatchInput{QueueUrl: &q, Entries: []types.DeleteMessageBatchRequestEntry{
		{Id: aws.String("bad"), ReceiptHandle: aws.String("no handle")}, {Id: aws.String("good"), ReceiptHandle: m.ReceiptHandle},
	}})
	if err != nil {
		b.Fatal(err)
	}
	if len(out.Successful) != 1 || *out.Successful[0].Id != "good" || len(out.Failed) != 1 || *out.Failed[0].Code != "ReceiptHandleIsInvalid" {
		b.Fatalf("%+v", out)
	}
}

func oversize(b *caller) {
	q := b.queue(nil)
	whole := strings.Repeat("x", 1<<20)
	b.send(q, whole)
	if m := b.one(q); *m.Body != whole {
		b.Errorf("a body of %d bytes came back with %d", len(whole), len(*m.Body))
	}
	tooLong := whole + "x"
	_, err := b.client.SendMessage(context.Background(), &awssqs.SendMessageInput{QueueUrl: &q, MessageBody: &tooLong})
	b.refused(err, "InvalidParameterValue")
	batch := entries(2)
	half := strings.Repeat("x", 1<<19)
	batch[0].MessageBody, batch[1].MessageBody = &half, aws.String(half+"x")
	_, err = b.sendBatch(q, batch)
	var tooLongBatch *types.BatchRequestTooLong
	if !errors.As(err, &tooLongBatch) {
		b.Fatalf("got %v, want BatchRequestTooLong", err)
	}
	b.none(q)
}

func delay(b *caller) {
	q := b.queue(nil)
	began := time.Now()
	if _, err := b.client.SendMessage(context.Background(), &awssqs.SendMessageInput{QueueUrl: &q, MessageBody: aws.String("later"), DelaySeconds: 1}); err != nil {
		b.Fatal(err)
	}
	b.none(q)
	b.one(q)
	if waited := time.Since(began); waited < 900*time.Millisecond {
		b.Errorf("seen after %v", waited)
	}
}

func queueDelay(b *caller) {
	q := b.queue(map[string]string{"DelaySeconds": "1"})
	b.send(q, "later")
	b.none(q)
	b.one(q)
}

func unknownHandles(b *caller) {
	q := b.queue(nil)
	b.refused(b.delete(q, aws.String("no handle")), "ReceiptHandleIsInvalid")
	b.refused(b.change(q, types.Message{ReceiptHandle: aws.String("no handle")}, 1), "ReceiptHandleIsInvalid")
	b.send(q, "x")
	m := b.one(q)
	for range 2 {
		if err := b.delete(q, m.ReceiptHandle); err != nil {
			b.Errorf("deleting is not repeatable: %v", err)
		}
	}
}

func noQueue(b *caller) {
	address := b.queue(nil) + "-not"
	_, err := b.client.SendMessage(context.Background(), &awssqs.SendMessageInput{QueueUrl: &address, MessageBody: aws.String("x")})
	var missing *types.QueueDoesNotExist
	if !errors.As(err, &missing) {
		b.Fatalf("got %v, want QueueDoesNotExist", err)
	}
	b.refused(err, "NonExistentQueue")
	_, err = b.client.GetQueueUrl(context.Background(), &awssqs.GetQueueUrlInput{QueueName: aws.String("no-such-queue")})
	if !errors.As(err, &missing) {
		b.Fatalf("got %v, want QueueDoesNotExist", err)
	}
}

func createTwice(b *caller) {
	q := b.queue(map[string]string{"VisibilityTimeout": "7"})
	name := q[strings.LastIndexByte(q, '/')+1:]
	ctx := context.Background()
	again, err := b.client.CreateQueue(ctx, &awssqs.CreateQueueInput{QueueName: &name, Attributes: map[string]string{"VisibilityTimeout": "7"}})
	if err != nil || *again.QueueUrl != q {
		b.Fatalf("%v %v", again, err)
	}
	found, err := b.client.GetQueueUrl(ctx, &awssqs.GetQueueUrlInput{QueueName: &name})
	if err != nil || *found.QueueUrl != q {
		b.Fatalf("%v %v", found, err)
	}
	listed, err := b.client.ListQueues(ctx, &awssqs.ListQueuesInput{QueueNamePrefix: &name})
	if err != nil || len(listed.QueueUrls) != 1 || listed.QueueUrls[0] != q {
		b.Fatalf("%v %v", listed, err)
	}
	_, err = b.client.CreateQueue(ctx, &awssqs.CreateQueueInput{QueueName: &name, Attributes: map[string]string{"VisibilityTimeout": "8"}})
	b.refused(err, "QueueAlreadyExists")
	if _, err := b.client.SetQueueAttributes(ctx, &awssqs.SetQueueAttributesInput{QueueUrl: &q, Attributes: map[string]string{"VisibilityTimeout": "9"}}); err != nil {
		b.Fatal(err)
	}
	got, err := b.client.GetQueueAttributes(ctx, &awssqs.GetQueueAttributesInput{QueueUrl: &q, AttributeNames: []types.QueueAttributeName{"VisibilityTimeout"}})
	if err != nil || len(got.Attributes) != 1 || got.Attributes["VisibilityTimeout"] != "9" {
		b.Fatalf("%v %v", got, err)
	}
}

func purge(b *caller) {
	q := b.queue(map[string]string{"VisibilityTimeout": "1"})
	b.send(q, "x")
	b.send(q, "y")
	b.one(q)
	if _, err := b.client.PurgeQueue(context.Background(), &awssqs.PurgeQueueInput{QueueUrl: &q}); err != nil {
		b.Fatal(err)
	}
	if got := b.receive(q, 10, 2); len(got) != 0 {
		b.Errorf("received %d after the purge", len(got))
	}
}

func messageAttributes(b *caller) {
	q := b.queue(nil)
	in := map[string]types.MessageAttributeValue{
		"reason": {DataType: aws.String("String"), StringValue: aws.String("POISON")},
		"raw":    {DataType: aws.String("Binary"), BinaryValue: []byte{0, 1, 255}},
	}
	out, err := b.client.SendMessage(context.Background(), &awssqs.SendMessageInput{QueueUrl: &q, MessageBody: aws.String("x"), MessageAttributes: in})
	if err != nil {
		b.Fatal(err)
	}
	m := b.one(q)
	if *m.MessageAttributes["reason"].StringValue != "POISON" || string(m.MessageAttributes["raw"].BinaryValue) != "\x00\x01\xff" {
		b.Errorf("%+v", m.MessageAttributes)
	}
	// One value for both services, so that each checks the other's digest.
	if want := "7d3cf5002eb6718af68ff260d84a1599"; *out.MD5OfMessageAttributes != want || *m.MD5OfMessageAttributes != want {
		b.Errorf("digest %s and %s, want %s", *out.MD5OfMessageAttributes, *m.MD5OfMessageAttributes, want)
	}
}

func limits(b *caller) {
	q := b.queue(nil)
	ctx := context.Background()
	_, err := b.client.ReceiveMessage(ctx, &awssqs.ReceiveMessageInput{QueueUrl: &q, MaxNumberOfMessages: 11})
	b.refused(err, "InvalidParameterValue")
	_, err = b.client.ReceiveMessage(ctx, &awssqs.ReceiveMessageInput{QueueUrl: &q, WaitTimeSeconds: 21})
	b.refused(err, "InvalidParameterValue")
	_, err = b.client.SendMessage(ctx, &awssqs.SendMessageInput{QueueUrl: &q, MessageBody: aws.String("x"), DelaySeconds: 901})
	b.refused(err, "InvalidParameterValue")
	b.send(q, "x")
	b.refused(b.change(q, b.one(q), 43201), "InvalidParameterValue")
	_, err = b.client.CreateQueue(ctx, &awssqs.CreateQueueInput{QueueName: aws.String("not a name")})
	b.refused(err, "InvalidParameterValue")
	_, err = b.client.GetQueueAttributes(ctx, &awssqs.GetQueueAttributesInput{QueueUrl: &q, AttributeNames: []types.QueueAttributeName{"Colour"}})
	b.refused(err, "InvalidAttributeName")
}
