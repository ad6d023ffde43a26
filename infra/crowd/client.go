package crowd

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// client calls the stack's API with JSON.
type client struct {
	base string
	http *http.Client
}

func newClient(base string) *client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 64
	return &client{base: base, http: &http.Client{Transport: transport, Timeout: 35 * time.Second}}
}

// call sends body, if any, as JSON and decodes the answer into into, if any. It returns the status; an error only where there
// was no answer, or none that could be read.
func (c *client) call(ctx context.Context, method, path, token string, header http.Header, body, into any) (int, error) {
	var reader io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return 0, err
		}
		reader = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, reader)
	if err != nil {
		return 0, err
	}
	for name, values := range header {
		request.Header[name] = values
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return response.StatusCode, err
	}
	if into != nil && len(text) > 0 {
		if err := json.Unmarshal(text, into); err != nil {
			return response.StatusCode, fmt.Errorf("%s %s answered %d with something that is not JSON", method, path, response.StatusCode)
		}
	}
	return response.StatusCode, nil
}

// must is call for what has to succeed.
func (c *client) must(ctx context.Context, method, path, token string, body, into any) error {
	var answer json.RawMessage
	status, err := c.call(ctx, method, path, token, nil, body, &answer)
	if err != nil {
		return err
	}
	if status < 200 || status > 299 {
		return fmt.Errorf("%s %s answered %d: %s", method, path, status, answer)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(answer, into)
}

// token asks the local stack for a bearer token.
func (c *client) token(ctx context.Context, subject string, scopes ...string) (string, error) {
	var answer struct {
		Token string `json:"token"`
	}
	err := c.must(ctx, http.MethodPost, "/local/tokens", "", map[string]any{"sub": subject, "scopes": scopes}, &answer)
	return answer.Token, err
}
