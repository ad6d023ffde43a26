package mapping

import (
	"bytes"
	"encoding/json"

	"holdfast/infra/local/sqs"
)

// record is one message in the event that Lambda builds for SQS.
type record struct {
	MessageID         string                     `json:"messageId"`
	ReceiptHandle     string                     `json:"receiptHandle"`
	Body              string                     `json:"body"`
	Attributes        map[string]string          `json:"attributes"`
	MessageAttributes map[string]recordAttribute `json:"messageAttributes"`
	MD5OfBody         string                     `json:"md5OfBody"`
	EventSource       string                     `json:"eventSource"`
	EventSourceARN    string                     `json:"eventSourceARN"`
	AWSRegion         string                     `json:"awsRegion"`
}

type recordAttribute struct {
	StringValue      *string  `json:"stringValue,omitempty"`
	BinaryValue      []byte   `json:"binaryValue,omitempty"`
	StringListValues []string `json:"stringListValues"`
	BinaryListValues [][]byte `json:"binaryListValues"`
	DataType         string   `json:"dataType"`
}

// encode writes one message as a record of the event.
func encode(q *sqs.Queue, m *sqs.Message) []byte {
	r := record{
		MessageID: m.ID, ReceiptHandle: m.Receipt, Body: m.Body, Attributes: m.SystemAttributes(), MessageAttributes: map[string]recordAttribute{},
		MD5OfBody: m.BodyMD5, EventSource: "aws:sqs", EventSourceARN: q.ARN(), AWSRegion: q.Region(),
	}
	for name, a := range m.Attributes {
		r.MessageAttributes[name] = recordAttribute{a.StringValue, a.BinaryValue, []string{}, [][]byte{}, a.DataType}
	}
	var text bytes.Buffer
	to := json.NewEncoder(&text)
	to.SetEscapeHTML(false) // a body of "<" must not grow sixfold
	if err := to.Encode(r); err != nil {
		panic(err) // a record has only types that can be written
	}
	return bytes.TrimRight(text.Bytes(), "\n")
}

const (
	eventHead = `{"Records":[`
	eventTail = `]}`
	maxEvent  = 6 << 20 // bytes of one synchronous invocation
)

// batch is an event in the making.
type batch struct {
	messages []sqs.Message
	records  [][]byte
	bytes    int // of the finished event
}

// add puts a message into the batch unless the event would become too long; the first one always fits.
func (b *batch) add(q *sqs.Queue, m *sqs.Message) bool {
	text := encode(q, m)
	grown := b.bytes + len(text) + len(",")
	if len(b.records) == 0 {
		grown = len(eventHead) + len(text) + len(eventTail)
	}
	if grown > maxEvent && len(b.records) > 0 {
		return false
	}
	b.messages, b.records, b.bytes = append(b.messages, *m), append(b.records, text), grown
	return true
}

// event returns the event as JSON.
func (b *batch) event() []byte {
	text := make([]byte, 0, b.bytes)
	text = append(text, eventHead...)
	for i, r := range b.records {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, r...)
	}
	return append(text, eventTail...)
}
