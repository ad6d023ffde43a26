package sqs

import (
	"container/list"
	"crypto/md5"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"
)

// senderID stands for the principal that sent a message; without signatures there is none to tell.
const senderID = "AIDAHOLDFASTLOCAL0000"

// Attribute is one message attribute; DataType is String, Number or Binary, or one of these with a suffix.
type Attribute struct {
	DataType    string  `json:"DataType"`
	StringValue *string `json:"StringValue,omitempty"`
	BinaryValue []byte  `json:"BinaryValue,omitempty"`
}

// Outgoing is a message to be sent. Delay nil means the queue's own.
type Outgoing struct {
	Body        string
	Delay       *time.Duration
	Attributes  map[string]Attribute
	TraceHeader string // the system attribute AWSTraceHeader; "" = none
}

// Sent names a message that was accepted.
type Sent struct {
	ID            string
	BodyMD5       string
	AttributesMD5 string // "" without attributes
}

// Message is one delivery of a message.
type Message struct {
	ID            string
	Receipt       string // the handle for Delete and ChangeVisibility, new with each delivery
	Body          string
	BodyMD5       string
	Attributes    map[string]Attribute // shared between deliveries: read only
	TraceHeader   string
	SentAt        time.Time
	FirstReceived time.Time
	Receives      int    // how often it has been received, this time included
	DeadSource    string // ARN of the queue that gave it up; "" outside dead-letter queues
}

// SystemAttributes returns the attributes that SQS itself gives to a delivery, as the text they have on the wire and in a Lambda event.
func (m *Message) SystemAttributes() map[string]string {
	out := map[string]string{
		"SenderId":                         senderID,
		"SentTimestamp":                    strconv.FormatInt(m.SentAt.UnixMilli(), 10),
		"ApproximateReceiveCount":          strconv.Itoa(m.Receives),
		"ApproximateFirstReceiveTimestamp": strconv.FormatInt(m.FirstReceived.UnixMilli(), 10),
	}
	if m.DeadSource != "" {
		out["DeadLetterQueueSourceArn"] = m.DeadSource
	}
	if m.TraceHeader != "" {
		out["AWSTraceHeader"] = m.TraceHeader
	}
	return out
}

// stored is a message in one queue. Exactly one of place and timed is set: it is visible, or it waits for due.
type stored struct {
	Message
	key      uint64        // its number in the queue, the part of a receipt handle that finds it
	place    *list.Element // in Queue.visible
	timed    int           // index in Queue.timers; -1 when visible
	due      time.Time
	inflight bool // waits because someone received it, not because of its delay
}

// newID returns a random UUID. Ids need to be distinct, not secret.
func newID() string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], rand.Uint64())
	binary.BigEndian.PutUint64(b[8:], rand.Uint64())
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	text := hex.EncodeToString(b[:])
	return text[:8] + "-" + text[8:12] + "-" + text[12:16] + "-" + text[16:20] + "-" + text[20:]
}

// writeHandle writes the receipt handle of the latest delivery: the queue's mark, the message's number, and which delivery it was.
func writeHandle(mark string, m *stored) string {
	return mark + "." + strconv.FormatUint(m.key, 36) + "." + strconv.Itoa(m.Receives)
}

// readHandle takes a receipt handle apart, or refuses what this queue never wrote.
func readHandle(mark, receipt string) (key uint64, receives int, err error) {
	parts := strings.Split(receipt, ".")
	if len(parts) != 3 || parts[0] != mark {
		return 0, 0, errHandle()
	}
	key, keyErr := strconv.ParseUint(parts[1], 36, 64)
	receives, countErr := strconv.Atoi(parts[2])
	if keyErr != nil || countErr != nil {
		return 0, 0, errHandle()
	}
	return key, receives, nil
}

func bodyMD5(body string) string {
	sum := md5.Sum([]byte(body))
	return hex.EncodeToString(sum[:])
}

// attributesMD5 digests message attributes as SQS does: sorted by name, each part with its length before it; "" for none.
func attributesMD5(attributes map[string]Attribute) string {
	if len(attributes) == 0 {
		return ""
	}
	names := make([]string, 0, len(attributes))
	for name := range attributes {
		names = append(names, name)
	}
	slices.Sort(names)
	var text []byte
	part := func(s string) {
		text = binary.BigEndian.AppendUint32(text, uint32(len(s)))
		text = append(text, s...)
	}
	for _, name := range names {
		a := attributes[name]
		part(name)
		part(a.DataType)
		if a.StringValue != nil {
			text = append(text, 1)
			part(*a.StringValue)
		} else {
			text = append(text, 2)
			part(string(a.BinaryValue))
		}
	}
	sum := md5.Sum(text)
	return hex.EncodeToString(sum[:])
}

// size returns the bytes that count against the size limit: the body, and name, type and value of each attribute.
func (o *Outgoing) size() int {
	n := len(o.Body)
	for name, a := range o.Attributes {
		n += len(name) + len(a.DataType) + len(a.BinaryValue)
		if a.StringValue != nil {
			n += len(*a.StringValue)
		}
	}
	return n
}

// check returns why the message may not be sent to a queue whose size limit is maxBytes; nil if it may.
func (o *Outgoing) check(maxBytes int) *Error {
	if o.Body == "" {
		return errMissing("MessageBody")
	}
	if o.size() > maxBytes {
		return errInvalid("One or more parameters are invalid. Reason: Message must be shorter than %d bytes.", maxBytes)
	}
	if o.Delay != nil && (*o.Delay < 0 || *o.Delay > maxDelay) {
		return errInvalid("Value %d for parameter DelaySeconds is invalid. Reason: DelaySeconds must be >= 0 and <= 900.", int(o.Delay.Seconds()))
	}
	for _, r := range o.Body {
		if !allowed(r) {
			return plain("InvalidMessageContents", "Invalid characters found. Valid unicode characters are #x9 | #xA | #xD | #x20 to #xD7FF | #xE000 to #xFFFD | #x10000 to #x10FFFF.")
		}
	}
	return checkAttributes(o.Attributes)
}

// allowed reports whether SQS takes a character: XML's, without most control characters.
func allowed(r rune) bool {
	return r >= 0x20 && r <= 0xD7FF || r == 0x9 || r == 0xA || r == 0xD || r >= 0xE000 && r <= 0xFFFD || r >= 0x10000
}

func checkAttributes(attributes map[string]Attribute) *Error {
	if len(attributes) > 10 {
		return errInvalid("Number of message attributes [%d] exceeds the allowed maximum [10].", len(attributes))
	}
	for name, a := range attributes {
		base, _, _ := strings.Cut(a.DataType, ".")
		text := base == "String" || base == "Number"
		if name == "" || len(name) > 256 || !text && base != "Binary" {
			return errInvalid("The message attribute '%s' has an invalid name or type.", name)
		}
		if text && (a.StringValue == nil || *a.StringValue == "") || !text && len(a.BinaryValue) == 0 {
			return errInvalid("The message attribute '%s' must contain a non-empty value of type %s.", name, a.DataType)
		}
	}
	return nil
}

// seconds writes a duration as SQS attributes do.
func seconds(d time.Duration) string { return fmt.Sprintf("%d", int64(d/time.Second)) }
