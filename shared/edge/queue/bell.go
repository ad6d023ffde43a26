package queue

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"holdfast/shared/edge/trace"
)

// look is the one thing that a message to send-notices says. The notices themselves are rows.
const look = "look"

// Bell wakes send-notices by a message in its queue.
type Bell struct {
	client func() *sqs.Client
	url    string
}

// NewBell makes the bell of a queue of send-notices, given by its URL. client is asked at each call, so that it can be made at the first.
func NewBell(client func() *sqs.Client, url string) *Bell { return &Bell{client: client, url: url} }

// Ring has send-notices look for notices that are due. It makes one attempt and ends with ctx; an error loses nothing, since the notices
// are rows, and the minute pass rings too.
func (b *Bell) Ring(ctx context.Context) error {
	return trace.Call(ctx, "SQS", func(ctx context.Context) error {
		if _, err := b.client().SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: &b.url, MessageBody: aws.String(look)}); err != nil {
			return fmt.Errorf("queue: ring: %w", err)
		}
		return nil
	})
}
