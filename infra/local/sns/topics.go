package sns

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"regexp"
	"slices"
	"sync"
	"time"

	"holdfast/infra/local/sqs"
)

// PointPublish is where faults can be injected, asked once per call, batches included.
const PointPublish = "topic.publish"

// keep is how many messages a topic keeps to be looked at; older ones are only counted.
const keep = 100_000

// What SNS takes.
const (
	maxEntries = 10
	maxBytes   = 256 << 10
)

var (
	modes   = []sqs.Mode{sqs.Refuse, sqs.LoseAnswer, sqs.Drop, sqs.Duplicate, sqs.Hang, sqs.FailEntry}
	entryID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,80}$`)
)

// Modes returns the modes that act at PointPublish.
func Modes() []sqs.Mode { return slices.Clone(modes) }

// Options configure Topics.
type Options struct {
	Now    func() time.Time // nil = time.Now
	Faults sqs.Faults       // nil = none
}

// Message is one message that a topic accepted.
type Message struct {
	MessageID  string            `json:"messageId"` // of SNS, another with every publication
	At         time.Time         `json:"at"`
	Subject    string            `json:"subject,omitempty"`
	Body       string            `json:"body"`
	Attributes map[string]string `json:"attributes"`
}

// Topics holds the topics and answers HTTP. It is safe for use by many goroutines.
type Topics struct {
	now    func() time.Time
	faults sqs.Faults

	mu     sync.Mutex
	topics map[string]*topic // by ARN
}

type topic struct {
	messages []Message
	count    int
}

// New makes Topics without any topic.
func New(o Options) *Topics {
	t := &Topics{now: o.Now, faults: o.Faults, topics: map[string]*topic{}}
	if t.now == nil {
		t.now = time.Now
	}
	return t
}

// Create makes a topic, or finds the one that is there, and answers its ARN.
func (t *Topics) Create(name string) string {
	arn := "arn:aws:sns:us-east-1:000000000000:" + name
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.topics[arn] == nil {
		t.topics[arn] = &topic{}
	}
	return arn
}

// Published gives the last messages of a topic in the order of publication, and how many there ever were.
func (t *Topics) Published(arn string) ([]Message, int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	found := t.topics[arn]
	if found == nil {
		return nil, 0
	}
	return slices.Clone(found.messages), found.count
}

// begin asks for the fault of one call and carries out those that end it before any effect.
func (t *Topics) begin(ctx context.Context) (sqs.Mode, *failure) {
	if t.faults == nil {
		return sqs.None, nil
	}
	mode := t.faults.Next(PointPublish)
	if !slices.Contains(modes, mode) {
		return sqs.None, nil
	}
	switch mode {
	case sqs.Refuse:
		return mode, &failure{http.StatusServiceUnavailable, "ServiceUnavailable", "A fault refuses this call."}
	case sqs.Hang:
		<-ctx.Done()
		return mode, errGone
	}
	return mode, nil
}

// accept keeps messages as the mode says and gives each its id.
func (t *Topics) accept(arn string, list []Message, mode sqs.Mode) {
	at := t.now().UTC()
	t.mu.Lock()
	defer t.mu.Unlock()
	into := t.topics[arn]
	for i := range list {
		list[i].MessageID, list[i].At = newID(), at
		switch mode {
		case sqs.Drop:
		case sqs.Duplicate:
			into.add(list[i])
			into.add(list[i])
		default:
			into.add(list[i])
		}
	}
}

func (t *topic) add(m Message) {
	t.count++
	if len(t.messages) >= 2*keep {
		t.messages = slices.Clone(t.messages[len(t.messages)-keep:])
	}
	t.messages = append(t.messages, m)
}

func (t *Topics) has(arn string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.topics[arn] != nil
}

// size is what counts of a message.
func (m *Message) size() int {
	n := len(m.Body)
	for name, value := range m.Attributes {
		n += len(name) + len("String") + len(value)
	}
	return n
}

// newID is a random UUID.
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	s := hex.EncodeToString(b[:])
	return s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]
}
