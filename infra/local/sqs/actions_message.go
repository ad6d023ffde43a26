package sqs

import (
	"context"
	"strings"
	"time"
)

// outgoing is what SendMessage and an entry of SendMessageBatch have in common.
type outgoing struct {
	MessageBody             string
	DelaySeconds            *int32
	MessageAttributes       map[string]Attribute
	MessageSystemAttributes map[string]Attribute
	MessageGroupId          string
	MessageDeduplicationId  string
}

// read turns the wire's form into a message, and refuses what only FIFO and fair queues know.
func (o *outgoing) read() (Outgoing, *Error) {
	if o.MessageGroupId != "" || o.MessageDeduplicationId != "" {
		return Outgoing{}, errUnsupported("message groups and deduplication")
	}
	out := Outgoing{Body: o.MessageBody, Attributes: o.MessageAttributes}
	if o.DelaySeconds != nil {
		delay := time.Duration(*o.DelaySeconds) * time.Second
		out.Delay = &delay
	}
	for name, a := range o.MessageSystemAttributes {
		if name != "AWSTraceHeader" || a.StringValue == nil {
			return Outgoing{}, errInvalid("The message system attribute '%s' is not known.", name)
		}
		out.TraceHeader = *a.StringValue
	}
	return out, nil
}

type sendMessageIn struct {
	QueueUrl string
	outgoing
}

type sendMessageOut struct {
	MD5OfMessageBody       string
	MD5OfMessageAttributes string `json:",omitempty"`
	MessageId              string
}

func sendMessage(s *Server, ctx context.Context, in *sendMessageIn) (any, error) {
	q, err := s.queueAt(in.QueueUrl)
	if err != nil {
		return nil, err
	}
	out, refused := in.read()
	if refused != nil {
		return nil, refused
	}
	sent, err := q.Send(ctx, out)
	if err != nil {
		return nil, err
	}
	return sendMessageOut{sent.BodyMD5, sent.AttributesMD5, sent.ID}, nil
}

type receiveMessageIn struct {
	QueueUrl                    string
	MaxNumberOfMessages         *int
	WaitTimeSeconds             *int
	VisibilityTimeout           *int
	AttributeNames              []string // the older name of the next
	MessageSystemAttributeNames []string
	MessageAttributeNames       []string
}

type messageOut struct {
	MessageId              string
	ReceiptHandle          string
	MD5OfBody              string
	Body                   string
	Attributes             map[string]string    `json:",omitempty"`
	MD5OfMessageAttributes string               `json:",omitempty"`
	MessageAttributes      map[string]Attribute `json:",omitempty"`
}

func receiveMessage(s *Server, ctx context.Context, in *receiveMessageIn) (any, error) {
	q, err := s.queueAt(in.QueueUrl)
	if err != nil {
		return nil, err
	}
	most := 1
	if in.MaxNumberOfMessages != nil {
		most = *in.MaxNumberOfMessages
	}
	if most < 1 || most > maxBatch {
		return nil, errInvalid("Value %d for parameter MaxNumberOfMessages is invalid. Reason: Must be between 1 and 10, if provided.", most)
	}
	q.mu.Lock()
	wait := q.settings.wait
	q.mu.Unlock()
	if in.WaitTimeSeconds != nil {
		wait = time.Duration(*in.WaitTimeSeconds) * time.Second
	}
	if wait < 0 || wait > 20*time.Second {
		return nil, errInvalid("Value %s for parameter WaitTimeSeconds is invalid. Reason: Must be >= 0 and <= 20, if provided.", seconds(wait))
	}
	var visibility *time.Duration
	if in.VisibilityTimeout != nil {
		d := time.Duration(*in.VisibilityTimeout) * time.Second
		if d < 0 || d > maxVisibility {
			return nil, errInvalid("Value %s for parameter VisibilityTimeout is invalid. Reason: Must be between 0 and 43200.", seconds(d))
		}
		visibility = &d
	}
	messages, err := q.receive(ctx, most, wait, visibility)
	if err != nil {
		return nil, err
	}
	out := struct {
		Messages []messageOut `json:",omitempty"`
	}{}
	for i := range messages {
		out.Messages = append(out.Messages, in.write(&messages[i]))
	}
	return out, nil
}

// write gives a message the attributes that the request asked for.
func (in *receiveMessageIn) write(m *Message) messageOut {
	out := messageOut{MessageId: m.ID, ReceiptHandle: m.Receipt, MD5OfBody: m.BodyMD5, Body: m.Body}
	for name, value := range m.SystemAttributes() {
		if wanted(in.MessageSystemAttributeNames, name) || wanted(in.AttributeNames, name) {
			if out.Attributes == nil {
				out.Attributes = map[string]string{}
			}
			out.Attributes[name] = value
		}
	}
	for name, value := range m.Attributes {
		if wanted(in.MessageAttributeNames, name) {
			if out.MessageAttributes == nil {
				out.MessageAttributes = map[string]Attribute{}
			}
			out.MessageAttributes[name] = value
		}
	}
	out.MD5OfMessageAttributes = attributesMD5(out.MessageAttributes)
	return out
}

// wanted reports whether a list of attribute names, which may hold All and patterns like "trace.*", takes in name.
func wanted(names []string, name string) bool {
	for _, n := range names {
		prefix, pattern := strings.CutSuffix(n, ".*")
		if n == "All" || n == name || pattern && strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

type receiptIn struct {
	QueueUrl          string
	ReceiptHandle     string
	VisibilityTimeout *int
}

func deleteMessage(s *Server, ctx context.Context, in *receiptIn) (any, error) {
	q, err := s.queueAt(in.QueueUrl)
	if err != nil {
		return nil, err
	}
	return nil, q.Delete(ctx, in.ReceiptHandle)
}

func changeVisibility(s *Server, _ context.Context, in *receiptIn) (any, error) {
	q, err := s.queueAt(in.QueueUrl)
	if err != nil {
		return nil, err
	}
	if in.VisibilityTimeout == nil {
		return nil, errMissing("VisibilityTimeout")
	}
	return nil, q.ChangeVisibility(in.ReceiptHandle, time.Duration(*in.VisibilityTimeout)*time.Second)
}
