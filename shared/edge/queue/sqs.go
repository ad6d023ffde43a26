package queue

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"holdfast/shared/edge"
	"holdfast/shared/edge/trace"
	"holdfast/shared/sale"
)

// Names of the message attributes that travel beside a body.
const (
	attributeReason = "holdfastReason" // of a message set aside: a code in capitals
	attributeDetail = "holdfastDetail" // and a sentence
	attributeTimes  = "holdfastTimes"  // how often a message was sent again
)

// Delays of a message that is sent again: they double from the first to the last.
const (
	firstDelay = 5 * time.Second
	lastDelay  = 60 * time.Second
)

// batchSize is the most that SQS takes in one call.
const batchSize = 10

// ErrNotAccepted is returned for a message that SQS named as failed in an answer that was otherwise a success.
var ErrNotAccepted = errors.New("queue: not accepted")

// SQS carries messages by Amazon SQS. It makes one attempt per call: whoever calls knows how much time is left for another.
type SQS struct {
	client          func() *sqs.Client
	orders, letters string // queue URLs
}

// NewSQS makes the carrier between a queue of orders and its dead-letter queue, given by their URLs; letters may be empty where
// nothing is set aside. client is asked at each call, so that it can be made at the first.
func NewSQS(client func() *sqs.Client, orders, letters string) *SQS {
	return &SQS{client: client, orders: orders, letters: letters}
}

// Publish implements edge.Orders.
func (q *SQS) Publish(ctx context.Context, r sale.Reservation) error {
	body, err := Encode(r)
	if err != nil {
		return fmt.Errorf("queue: encode: %w", err)
	}
	return q.send(ctx, &sqs.SendMessageInput{QueueUrl: &q.orders, MessageBody: aws.String(string(body))})
}

// SetAside implements edge.Returns.
func (q *SQS) SetAside(ctx context.Context, body, reason, detail string) error {
	return q.send(ctx, &sqs.SendMessageInput{QueueUrl: &q.letters, MessageBody: &body,
		MessageAttributes: map[string]types.MessageAttributeValue{attributeReason: text(reason), attributeDetail: text(detail)}})
}

func (q *SQS) send(ctx context.Context, input *sqs.SendMessageInput) error {
	return trace.Call(ctx, "SQS", func(ctx context.Context) error {
		if _, err := q.client().SendMessage(ctx, input); err != nil {
			return fmt.Errorf("queue: send: %w", err)
		}
		return nil
	})
}

// SendAgain implements edge.Returns.
func (q *SQS) SendAgain(ctx context.Context, messages []edge.Again) []error {
	outcomes := make([]error, len(messages))
	for start := 0; start < len(messages); start += batchSize {
		end := min(start+batchSize, len(messages))
		q.sendBatch(ctx, messages[start:end], outcomes[start:end])
	}
	return outcomes
}

// sendBatch sends up to ten messages and notes how each of them fared: SQS answers a batch with success as a whole even when it
// took only a part.
func (q *SQS) sendBatch(ctx context.Context, messages []edge.Again, outcomes []error) {
	entries := make([]types.SendMessageBatchRequestEntry, len(messages))
	for i, m := range messages {
		entries[i] = types.SendMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), MessageBody: &m.Body,
			DelaySeconds:      int32(delay(m.Times) / time.Second),
			MessageAttributes: map[string]types.MessageAttributeValue{attributeTimes: text(strconv.Itoa(m.Times + 1))}}
		outcomes[i] = ErrNotAccepted // until the answer says otherwise
	}
	err := trace.Call(ctx, "SQS", func(ctx context.Context) error {
		answer, err := q.client().SendMessageBatch(ctx, &sqs.SendMessageBatchInput{QueueUrl: &q.orders, Entries: entries})
		if err != nil {
			return fmt.Errorf("queue: send again: %w", err)
		}
		for _, done := range answer.Successful {
			if i, err := strconv.Atoi(aws.ToString(done.Id)); err == nil && i >= 0 && i < len(outcomes) {
				outcomes[i] = nil
			}
		}
		return nil
	})
	if err != nil {
		for i := range outcomes {
			outcomes[i] = err
		}
	}
}

// delay is how long a message waits that was sent again so many times: 5 s doubling to 60 s, spread by up to a quarter.
func delay(times int) time.Duration {
	wait := lastDelay
	if times < 4 {
		wait = firstDelay << times
	}
	return wait + rand.N(wait/4)
}

func text(s string) types.MessageAttributeValue {
	return types.MessageAttributeValue{DataType: aws.String("String"), StringValue: &s}
}

// Empty says whether the queue of orders holds nothing: neither waiting, nor delayed, nor in flight. SQS counts approximately, so
// that a message of the last seconds may be missed. It is a reconcile.QueueEmpty.
func (q *SQS) Empty(ctx context.Context) (bool, error) {
	names := []types.QueueAttributeName{types.QueueAttributeNameApproximateNumberOfMessages,
		types.QueueAttributeNameApproximateNumberOfMessagesDelayed, types.QueueAttributeNameApproximateNumberOfMessagesNotVisible}
	answer, err := q.client().GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: &q.orders, AttributeNames: names})
	if err != nil {
		return false, fmt.Errorf("queue: count: %w", err)
	}
	for _, name := range names {
		if answer.Attributes[string(name)] != "0" {
			return false, nil
		}
	}
	return true, nil
}
