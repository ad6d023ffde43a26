package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"
)

// web calls a server with JSON, from many callers at once.
type web struct{ http http.Client }

func newWeb(callers int) *web {
	return &web{http.Client{Timeout: 60 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: callers, MaxConnsPerHost: 2 * callers}}}
}

// post sends a body and returns status and answer. key, if any, is the Idempotency-Key.
func (w *web) post(ctx context.Context, url, token, key, body string) (int, []byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader([]byte(body)))
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	if key != "" {
		request.Header.Set("Idempotency-Key", key)
	}
	response, err := w.http.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	return response.StatusCode, answer, err
}

// must is post for what has to succeed; into takes the answer.
func (w *web) must(ctx context.Context, url, token string, body, into any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	status, answer, err := w.post(ctx, url, token, "", string(text))
	if err != nil {
		return err
	}
	if status < 200 || status > 299 {
		return fmt.Errorf("POST %s answered %d: %s", url, status, answer)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(answer, into)
}

// rush has one buyer per token ask for one unit, a number of callers at a time, each with its next buyer as soon as the last one
// has a 202. A buyer who hears a 503 asks again with the same key, as the answer says, and waits the longer; repeats counts that.
func (w *web) rush(ctx context.Context, base, activityID string, tokens []string, callers int) (latencies []time.Duration, repeats int64, err error) {
	url := base + "/v1/activities/" + activityID + "/reservations"
	body := `{"ticketType":"` + standard + `","quantity":1}`
	latencies = make([]time.Duration, len(tokens))
	var again atomic.Int64
	err = inParallel(len(tokens), callers, func(_, i int) error {
		begin := time.Now()
		for {
			status, answer, err := w.post(ctx, url, tokens[i], "wish-"+strconv.Itoa(i), body)
			switch {
			case err != nil:
				return err
			case status == http.StatusAccepted:
				latencies[i] = time.Since(begin)
				return nil
			case status != http.StatusServiceUnavailable || time.Since(begin) > patience:
				return fmt.Errorf("a buyer was answered %d: %s", status, answer)
			}
			again.Add(1)
			time.Sleep(50 * time.Millisecond)
		}
	})
	return latencies, again.Load(), err
}

// patience is how long a buyer, and whoever waits for rows, waits at most.
const patience = 60 * time.Second
