package sqs

import (
	"context"
	"net/http"
	"time"
)

// batchOut is the answer of every batch action; both lists are always there, as with SQS.
type batchOut[T any] struct {
	Successful []T
	Failed     []failedOut
}

type failedOut struct {
	Id          string
	Code        string
	Message     string
	SenderFault bool
}

type idOut struct {
	Id string
}

func (b *batchOut[T]) fail(id string, e *Error) {
	b.Failed = append(b.Failed, failedOut{id, e.Code, e.Message, e.Status < http.StatusInternalServerError})
}

func newBatchOut[T any]() *batchOut[T] {
	return &batchOut[T]{Successful: []T{}, Failed: []failedOut{}}
}

// checkIDs refuses a batch as a whole: empty, over ten entries, an id that is malformed or there twice.
func checkIDs(ids []string) error {
	if len(ids) == 0 {
		return simple("EmptyBatchRequest", "There should be at least one entry in the request.")
	}
	if len(ids) > maxBatch {
		return simple("TooManyEntriesInBatchRequest", "Maximum number of entries per request are %d. You have sent %d.", maxBatch, len(ids))
	}
	seen := map[string]bool{}
	for _, id := range ids {
		if !queueName.MatchString(id) { // ids and queue names obey the same pattern
			return simple("InvalidBatchEntryId", "A batch entry id can only contain alphanumeric characters, hyphens and underscores. It can be at most 80 letters long.")
		}
		if seen[id] {
			return simple("BatchEntryIdsNotDistinct", "Id %s repeated.", id)
		}
		seen[id] = true
	}
	return nil
}

type sendEntry struct {
	Id string
	outgoing
}

type sendMessageBatchIn struct {
	QueueUrl string
	Entries  []sendEntry
}

type sentOut struct {
	Id string
	sendMessageOut
}

func sendMessageBatch(s *Server, ctx context.Context, in *sendMessageBatchIn) (any, error) {
	q, err := s.queueAt(in.QueueUrl)
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(in.Entries))
	outs := make([]Outgoing, len(in.Entries))
	sum := 0
	for i := range in.Entries {
		out, refused := in.Entries[i].read()
		if refused != nil {
			return nil, refused
		}
		ids[i], outs[i] = in.Entries[i].Id, out
		sum += out.size()
	}
	if err := checkIDs(ids); err != nil {
		return nil, err
	}
	if sum > maxMessageBytes {
		return nil, simple("BatchRequestTooLong", "Batch requests cannot be longer than %d bytes. You have sent %d bytes.", maxMessageBytes, sum)
	}
	results, err := q.SendBatch(ctx, outs)
	if err != nil {
		return nil, err
	}
	answer := newBatchOut[sentOut]()
	for i, r := range results {
		if r.Err != nil {
			answer.fail(ids[i], r.Err)
			continue
		}
		answer.Successful = append(answer.Successful, sentOut{ids[i], sendMessageOut{r.Sent.BodyMD5, r.Sent.AttributesMD5, r.Sent.ID}})
	}
	return answer, nil
}

type receiptEntry struct {
	Id                string
	ReceiptHandle     string
	VisibilityTimeout *int
}

type receiptBatchIn struct {
	QueueUrl string
	Entries  []receiptEntry
}

func (in *receiptBatchIn) ids() []string {
	ids := make([]string, len(in.Entries))
	for i := range in.Entries {
		ids[i] = in.Entries[i].Id
	}
	return ids
}

func deleteMessageBatch(s *Server, ctx context.Context, in *receiptBatchIn) (any, error) {
	q, err := s.queueAt(in.QueueUrl)
	if err != nil {
		return nil, err
	}
	if err := checkIDs(in.ids()); err != nil {
		return nil, err
	}
	receipts := make([]string, len(in.Entries))
	for i := range in.Entries {
		receipts[i] = in.Entries[i].ReceiptHandle
	}
	refused, err := q.DeleteBatch(ctx, receipts)
	if err != nil {
		return nil, err
	}
	return in.answer(refused), nil
}

func changeVisibilityBatch(s *Server, _ context.Context, in *receiptBatchIn) (any, error) {
	q, err := s.queueAt(in.QueueUrl)
	if err != nil {
		return nil, err
	}
	if err := checkIDs(in.ids()); err != nil {
		return nil, err
	}
	refused := make([]*Error, len(in.Entries))
	for i, e := range in.Entries {
		if e.VisibilityTimeout == nil {
			refused[i] = errMissing("VisibilityTimeout")
			continue
		}
		refused[i] = q.changeVisibility(e.ReceiptHandle, time.Duration(*e.VisibilityTimeout)*time.Second)
	}
	return in.answer(refused), nil
}

func (in *receiptBatchIn) answer(refused []*Error) *batchOut[idOut] {
	out := newBatchOut[idOut]()
	for i, e := range in.Entries {
		if refused[i] != nil {
			out.fail(e.Id, refused[i])
			continue
		}
		out.Successful = append(out.Successful, idOut{e.Id})
	}
	return out
}
