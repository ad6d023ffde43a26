package sqs_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"
)

// caller is one case's view of a service: a client and a queue maker.
type caller struct {
	*testing.T
	client *awssqs.Client
}

func (b *caller) queue(attributes map[string]string) string {
	b.Helper()
	name := fmt.Sprintf("q-%d", time.Now().UnixNano())
	out, err := b.client.CreateQueue(context.Background(), &awssqs.CreateQueueInput{QueueName: &name, Attributes: attributes})
	if err != nil {
		b.Fatal(err)
	}
	return *out.QueueUrl
}

func (b *caller) send(queue, body string) string {
	b.Helper()
	out, err := b.client.SendMessage(context.Background(), &awssqs.SendMessageInput{QueueUrl: &queue, MessageBody: &body})
	if err != nil {
		b.Fatal(err)
	}
	return *out.MessageId
}

func (b *caller) receive(queue string, most, wait int32) []types.Message {
	b.Helper()
	out, err := b.client.ReceiveMessage(context.Background(), &awssqs.ReceiveMessageInput{
		QueueUrl: &queue, MaxNumberOfMessages: most, WaitTimeSeconds: wait,
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll}, MessageAttributeNames: []string{"All"},
	})
	if err != nil {
		b.Fatal(err)
	}
	return out.Messages
}

// one receives exactly one message within four seconds.
func (b *caller) one(queue string) types.Message {
	b.Helper()
	got := b.receive(queue, 1, 4)
	if len(got) != 1 {
		b.Fatalf("received %d messages, want 1", len(got))
	}
	return got[0]
}

// none expects that nothing is visible now.
func (b *caller) none(queue string) {
	b.Helper()
	if got := b.receive(queue, 10, 0); len(got) != 0 {
		b.Fatalf("received %d messages, want none", len(got))
	}
}

func (b *caller) change(queue string, m types.Message, visibility int32) error {
	_, err := b.client.ChangeMessageVisibility(context.Background(), &awssqs.ChangeMessageVisibilityInput{
		QueueUrl: &queue, ReceiptHandle: m.ReceiptHandle, VisibilityTimeout: visibility,
	})
	return err
}

func (b *caller) delete(queue string, receipt *string) error {
	_, err := b.client.DeleteMessage(context.Background(), &awssqs.DeleteMessageInput{QueueUrl: &queue, ReceiptHandle: receipt})
	return err
}

func (b *caller) sendBatch(queue string, entries []types.SendMessageBatchRequestEntry) (*awssqs.SendMessageBatchOutput, error) {
	return b.client.SendMessageBatch(context.Background(), &awssqs.SendMessageBatchInput{QueueUrl: &queue, Entries: entries})
}

func entries(n int) []types.SendMessageBatchRequestEntry {
	out := make([]types.SendMessageBatchRequestEntry, n)
	for i := range out {
		out[i] = types.SendMessageBatchRequestEntry{Id: aws.String(fmt.Sprint("e", i)), MessageBody: aws.String(fmt.Sprint("body ", i))}
	}
	return out
}

// refused expects an error whose older code ends in code: both services write it with and without the service's prefix.
func (b *caller) refused(err error, code string) {
	b.Helper()
	var refusal smithy.APIError
	if !errors.As(err, &refusal) || !strings.HasSuffix(refusal.ErrorCode(), code) {
		b.Fatalf("got %v, want %s", err, code)
	}
}
