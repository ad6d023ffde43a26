package topic

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sns/types"

	"holdfast/shared/edge"
	"holdfast/shared/edge/trace"
)

// What SNS takes in one call.
const (
	batchSize  = 10
	batchBytes = 200 << 10 // of 256 KiB; the rest is room for ids and attributes
)

// ErrNotAccepted is returned for a message that SNS did not name as accepted in an answer that was otherwise a success.
var ErrNotAccepted = errors.New("topic: not accepted")

// SNS publishes to one topic of Amazon SNS. It makes one attempt per call: what was not accepted waits in its row.
type SNS struct {
	client func() *sns.Client
	arn    string
}

// NewSNS makes the carrier to a topic, given by its ARN. client is asked at each call, so that it can be made at the first.
func NewSNS(client func() *sns.Client, arn string) *SNS { return &SNS{client: client, arn: arn} }

// Publish implements edge.Topic: batches of up to ten, one after the other, each message judged by itself. Once ctx has ended nothing is
// sent any more, and what is left has ctx's error.
func (t *SNS) Publish(ctx context.Context, messages []edge.TopicMessage) []error {
	outcomes := make([]error, len(messages))
	for start := 0; start < len(messages); {
		end, size := start, 0
		for end < len(messages) && end-start < batchSize && (end == start || size+len(messages[end].Body) <= batchBytes) {
			size += len(messages[end].Body)
			end++
		}
		t.publishBatch(ctx, messages[start:end], outcomes[start:end])
		start = end
	}
	return outcomes
}

// publishBatch publishes what fits into one call and notes how each message fared: SNS answers a batch with success as a whole even
// when it took only a part.
func (t *SNS) publishBatch(ctx context.Context, messages []edge.TopicMessage, outcomes []error) {
	entries := make([]types.PublishBatchRequestEntry, len(messages))
	for i, m := range messages {
		entries[i] = types.PublishBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), Message: &m.Body, MessageAttributes: attributes(m.Attributes)}
		outcomes[i] = ErrNotAccepted // until the answer says otherwise
	}
	err := trace.Call(ctx, "SNS", func(ctx context.Context) error {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("topic: publish: %w", err)
		}
		answer, err := t.client().PublishBatch(ctx, &sns.PublishBatchInput{TopicArn: &t.arn, PublishBatchRequestEntries: entries})
		if err != nil {
			return fmt.Errorf("topic: publish: %w", err)
		}
		for _, done := range answer.Successful {
			if i, err := strconv.Atoi(aws.ToString(done.Id)); err == nil && i >= 0 && i < len(outcomes) {
				outcomes[i] = nil
			}
		}
		for _, refused := range answer.Failed {
			if i, err := strconv.Atoi(aws.ToString(refused.Id)); err == nil && i >= 0 && i < len(outcomes) {
				outcomes[i] = fmt.Errorf("%w: %s", ErrNotAccepted, aws.ToString(refused.Code))
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

func attributes(of map[string]string) map[string]types.MessageAttributeValue {
	out := make(map[string]types.MessageAttributeValue, len(of))
	for name, value := range of {
		out[name] = types.MessageAttributeValue{DataType: aws.String("String"), StringValue: &value}
	}
	return out
}
