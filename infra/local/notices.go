package local

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"time"

	"holdfast/infra/local/mapping"
	"holdfast/infra/local/sns"
	"holdfast/infra/local/sqs"
)

// What the template sets for the queue that wakes send-notices; a test compares the two.
const (
	noticesVisibility  = 180 * time.Second
	noticesMaxReceives = 5
	noticesBatchSize   = 10
	noticesConcurrency = 2
)

// startNotices makes the queue that wakes send-notices, with its dead-letter queue. The topic that it publishes to is there already.
func (s *Stack) startNotices(queues *sqs.Server) error {
	dead, err := queues.CreateQueue("notices-dead-letter", map[string]string{"MessageRetentionPeriod": seconds(deadLetterRetention)})
	if err != nil {
		return err
	}
	redrive, err := json.Marshal(map[string]any{"deadLetterTargetArn": dead.ARN(), "maxReceiveCount": noticesMaxReceives})
	if err != nil {
		return err
	}
	s.noticesQueue, err = queues.CreateQueue("notices", map[string]string{
		"VisibilityTimeout": seconds(noticesVisibility),
		"RedrivePolicy":     string(redrive),
	})
	if err != nil {
		return err
	}
	s.Addresses.Queues["notices"], s.Addresses.Queues["noticesDeadLetter"] = s.noticesQueue.URL(), dead.URL()
	s.Addresses.NoticesTopic = s.topics.Create("notices")
	return nil
}

// startSender has the queue of notices wake send-notices.
func (s *Stack) startSender(log *slog.Logger) error {
	sender, err := mapping.Start(mapping.Options{Queue: s.noticesQueue, Function: "send-notices", Invoker: s.functions,
		BatchSize: noticesBatchSize, Concurrency: noticesConcurrency, ReportBatchItemFailures: true, Log: log})
	if err != nil {
		return err
	}
	s.onClose(sender.Stop)
	return nil
}

// published is one notice as the topic has it.
type published struct {
	sns.Message
	Body json.RawMessage `json:"body"` // the envelope
}

// showNotices lists what was published, in the order of publication, with how many there ever were. ?type=, ?userId= and ?orderId= keep
// only those whose envelope says so.
func (s *Stack) showNotices(r *http.Request) (any, error) {
	messages, count := s.topics.Published(s.Addresses.NoticesTopic)
	wish := r.URL.Query()
	items := []published{}
	for _, m := range messages {
		var says struct{ Type, UserID, OrderID string }
		if err := json.Unmarshal([]byte(m.Body), &says); err != nil {
			return nil, err
		}
		if differs(wish.Get("type"), says.Type) || differs(wish.Get("userId"), says.UserID) || differs(wish.Get("orderId"), says.OrderID) {
			continue
		}
		items = append(items, published{m, json.RawMessage(m.Body)})
	}
	return map[string]any{"published": count, "items": items}, nil
}

func differs(wish, is string) bool { return wish != "" && wish != is }
