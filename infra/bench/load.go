package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// patience is how long a buyer, and whoever waits for rows, waits at most.
const patience = 60 * time.Second

// setup is the client that prepares sales; only rush is measured.
var setup = &http.Client{Timeout: patience}

// post sends a body as JSON and decodes the answer into into, if any; an answer that is no success is an error.
func post(ctx context.Context, url, token string, body, into any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(string(text)))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := setup.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	switch {
	case err != nil:
		return err
	case response.StatusCode < 200 || response.StatusCode > 299:
		return fmt.Errorf("POST %s answered %d: %s", url, response.StatusCode, answer)
	case into == nil:
		return nil
	}
	return json.Unmarshal(answer, into)
}

// caller is one connection that sends reservations, one after the other. It is no http.Client because that costs more of the
// processors, which callers share with what they measure, than a reservation should take.
type caller struct {
	conn   net.Conn
	answer *bufio.Reader
}

// call connects to the server at base ("http://127.0.0.1:8088").
func call(ctx context.Context, base string) (*caller, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", strings.TrimPrefix(base, "http://"))
	if err != nil {
		return nil, err
	}
	return &caller{conn, bufio.NewReader(conn)}, nil
}

// reserve asks for one unit and returns status and answer.
func (c *caller) reserve(activityID, token, key string) (int, []byte, error) {
	const body = `{"ticketType":"` + standard + `","quantity":1}`
	if err := c.conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return 0, nil, err
	}
	text := "POST /v1/activities/" + activityID + "/reservations HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer " + token +
		"\r\nIdempotency-Key: " + key + "\r\nContent-Type: application/json\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body
	if _, err := io.WriteString(c.conn, text); err != nil {
		return 0, nil, err
	}
	response, err := http.ReadResponse(c.answer, nil)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	return response.StatusCode, answer, err
}

// rush has one buyer per token ask for one unit, a number of callers at a time, each with its next buyer as soon as the last one
// has a 202. A buyer who hears a 503 asks again with the same key, as the answer says, and waits the longer; repeats counts that.
func rush(ctx context.Context, base, activityID string, tokens []string, callers int) (latencies []time.Duration, repeats int64, err error) {
	lines := make([]*caller, callers)
	for i := range lines {
		if lines[i], err = call(ctx, base); err != nil {
			return nil, 0, err
		}
		defer lines[i].conn.Close()
	}
	latencies = make([]time.Duration, len(tokens))
	var again atomic.Int64
	err = inParallel(len(tokens), callers, func(line, i int) error {
		for begin := time.Now(); ctx.Err() == nil; {
			status, answer, err := lines[line].reserve(activityID, tokens[i], "wish-"+strconv.Itoa(i))
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
		return ctx.Err()
	})
	return latencies, again.Load(), err
}
