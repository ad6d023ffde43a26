package queue

import (
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
)

func records(n int) []events.SQSMessage {
	out := make([]events.SQSMessage, n)
	for i := range out {
		out[i] = events.SQSMessage{MessageId: fmt.Sprintf("m%d", i)}
	}
	return out
}

func TestPartialAnswersNameExactlyWhatFailed(t *testing.T) {
	t.Parallel()
	for want, failed := range map[string]map[string]bool{
		`{"batchItemFailures":[]}`: {},
		`{"batchItemFailures":[{"itemIdentifier":"m3"},{"itemIdentifier":"m7"}]}`: {"m7": true, "m3": true},
		`{"batchItemFailures":[{"itemIdentifier":"m0"}]}`:                         {"m0": true, "": true, "unknown": true, "m1": false},
	} {
		got, err := partialAnswer(records(10), failed)
		if err != nil || string(got) != want {
			t.Errorf("answered %s, %v; want %s", got, err, want)
		}
	}
}

func TestNoIdentifierIsRepeatedWhenAMessageCameTwice(t *testing.T) {
	t.Parallel()
	got, err := partialAnswer(append(records(2), records(2)...), map[string]bool{"m1": true})
	if want := `{"batchItemFailures":[{"itemIdentifier":"m1"}]}`; err != nil || string(got) != want {
		t.Errorf("answered %s, %v", got, err)
	}
}

func TestWhatIsNoEventFailsAsAWhole(t *testing.T) {
	t.Parallel()
	for _, payload := range []string{`{`, `[]`, `{"Records":[{"body":"x"}]}`} {
		if _, err := receivedEvent([]byte(payload)); err == nil {
			t.Errorf("%s was taken for an event", payload)
		}
	}
}

func TestDelaysDoubleUpToAMinute(t *testing.T) {
	t.Parallel()
	for times, base := range []time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second, 40 * time.Second, time.Minute, time.Minute} {
		for range 50 {
			if d := delay(times); d < base || d >= base+base/4 {
				t.Fatalf("after %d times: %v", times, d)
			}
		}
	}
	if d := delay(1 << 30); d < time.Minute || d >= 75*time.Second {
		t.Errorf("after very many times: %v", d)
	}
}
