package sqs

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	maxMessageBytes = 1 << 20 // 1 MiB, for a message and for the sum of a batch
	maxDelay        = 900 * time.Second
	maxVisibility   = 43200 * time.Second
	maxBatch        = 10
)

var queueName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,80}$`)

// settings are the attributes of a queue that can be set.
type settings struct {
	visibility time.Duration
	delay      time.Duration
	wait       time.Duration
	retention  time.Duration
	maxBytes   int
	dead       *Queue // nil = no redrive policy
	maxReceive int
}

func defaults() settings {
	return settings{visibility: 30 * time.Second, retention: 4 * 24 * time.Hour, maxBytes: maxMessageBytes}
}

// apply returns the settings changed by attributes as SQS names and writes them. Errors: InvalidAttributeName for a name that this service does
// not know, InvalidAttributeValue or InvalidParameterValue for a value outside SQS's limits.
func (c settings) apply(attributes map[string]string, find func(arn string) *Queue) (settings, error) {
	for name, value := range attributes {
		var err error
		switch name {
		case "VisibilityTimeout":
			c.visibility, err = duration(name, value, 0, maxVisibility)
		case "DelaySeconds":
			c.delay, err = duration(name, value, 0, maxDelay)
		case "ReceiveMessageWaitTimeSeconds":
			c.wait, err = duration(name, value, 0, 20*time.Second)
		case "MessageRetentionPeriod":
			c.retention, err = duration(name, value, time.Minute, 14*24*time.Hour)
		case "MaximumMessageSize":
			c.maxBytes, err = strconv.Atoi(value)
			if err != nil || c.maxBytes < 1024 || c.maxBytes > maxMessageBytes {
				err = plain("InvalidAttributeValue", "Invalid value for the parameter MaximumMessageSize.")
			}
		case "RedrivePolicy":
			c.dead, c.maxReceive, err = redrive(value, find)
		default:
			err = plain("InvalidAttributeName", "Unknown Attribute %s.", name)
		}
		if err != nil {
			return settings{}, err
		}
	}
	return c, nil
}

func duration(name, value string, low, high time.Duration) (time.Duration, error) {
	n, err := strconv.ParseInt(value, 10, 32)
	d := time.Duration(n) * time.Second
	if err != nil || d < low || d > high {
		return 0, plain("InvalidAttributeValue", "Invalid value for the parameter %s.", name)
	}
	return d, nil
}

// redrive reads a redrive policy; "" takes it away. maxReceiveCount may be a number or a text, as with SQS.
func redrive(value string, find func(arn string) *Queue) (*Queue, int, error) {
	if value == "" {
		return nil, 0, nil
	}
	var policy struct {
		DeadLetterTargetArn string          `json:"deadLetterTargetArn"`
		MaxReceiveCount     json.RawMessage `json:"maxReceiveCount"`
	}
	invalid := func(reason string) error {
		return errInvalid("Value %s for parameter RedrivePolicy is invalid. Reason: %s", value, reason)
	}
	if err := json.Unmarshal([]byte(value), &policy); err != nil {
		return nil, 0, invalid("Redrive policy is not a valid JSON map.")
	}
	count, err := strconv.Atoi(strings.Trim(string(policy.MaxReceiveCount), `"`))
	if err != nil || count < 1 || count > 1000 {
		return nil, 0, invalid("maxReceiveCount must be an integer from 1 to 1000.")
	}
	dead := find(policy.DeadLetterTargetArn)
	if dead == nil {
		return nil, 0, invalid("Dead letter target does not exist.")
	}
	return dead, count, nil
}

// attributeNames are the attributes that GetQueueAttributes knows.
var attributeNames = []string{
	"ApproximateNumberOfMessages", "ApproximateNumberOfMessagesDelayed", "ApproximateNumberOfMessagesNotVisible", "DelaySeconds",
	"MaximumMessageSize", "MessageRetentionPeriod", "QueueArn", "ReceiveMessageWaitTimeSeconds", "RedrivePolicy", "VisibilityTimeout",
}

// attributes returns the named attributes of the queue, or all of them for "All"; an unset redrive policy is left out.
func (q *Queue) attributes(names []string) (map[string]string, error) {
	visible, inflight, delayed := q.Depth()
	q.mu.Lock()
	c := q.settings
	q.mu.Unlock()
	all := map[string]string{
		"ApproximateNumberOfMessages":           strconv.Itoa(visible),
		"ApproximateNumberOfMessagesNotVisible": strconv.Itoa(inflight),
		"ApproximateNumberOfMessagesDelayed":    strconv.Itoa(delayed),
		"QueueArn":                              q.arn,
		"VisibilityTimeout":                     seconds(c.visibility),
		"DelaySeconds":                          seconds(c.delay),
		"ReceiveMessageWaitTimeSeconds":         seconds(c.wait),
		"MessageRetentionPeriod":                seconds(c.retention),
		"MaximumMessageSize":                    strconv.Itoa(c.maxBytes),
	}
	if c.dead != nil {
		all["RedrivePolicy"] = fmt.Sprintf(`{"deadLetterTargetArn":"%s","maxReceiveCount":%d}`, c.dead.arn, c.maxReceive)
	}
	if slices.Contains(names, "All") {
		return all, nil
	}
	out := map[string]string{}
	for _, name := range names {
		if !slices.Contains(attributeNames, name) {
			return nil, plain("InvalidAttributeName", "Unknown Attribute %s.", name)
		}
		if value, ok := all[name]; ok {
			out[name] = value
		}
	}
	return out, nil
}
