package operator

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"holdfast/infra/local"
)

// timeout is beyond what the gateway waits for any function.
const timeout = 35 * time.Second

// maxAnswer bounds what is read of an answer, in bytes.
const maxAnswer = 16 << 20

// Client calls /ops/v1 with an operator's token.
type Client struct {
	base, token string
	http        *http.Client
}

// New makes a client for the API at this URL, without a trailing path. The token is a bearer token that may read /ops/v1.
func New(base, token string) *Client {
	return &Client{base: strings.TrimSuffix(base, "/"), token: token, http: &http.Client{Timeout: timeout}}
}

// OfStack makes a client for the local stack of a data folder and gets it a token. It returns an error when no stack runs there.
func OfStack(ctx context.Context, dir string) (*Client, error) {
	text, err := os.ReadFile(filepath.Join(dir, local.AddressFile))
	if err != nil {
		return nil, fmt.Errorf("no stack runs on this data folder (start one with holdfast up): %w", err)
	}
	var at local.Addresses
	if err := json.Unmarshal(text, &at); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w", local.AddressFile, err)
	}
	c := New(at.API, "")
	var minted struct {
		Token string `json:"token"`
	}
	answer, err := c.call(ctx, http.MethodPost, "/local/tokens", `{"sub":"operator","scopes":["operator.read"]}`)
	if err == nil {
		err = answer.into(&minted)
	}
	if err != nil {
		return nil, fmt.Errorf("no token from the stack: %w", err)
	}
	c.token = minted.Token
	return c, nil
}

// answer is what a call answered.
type answer struct {
	status int
	body   []byte
}

// Refused is an answer that is no success, with what its problem says.
type Refused struct {
	Status int
	Code   string
	Detail string
}

// Error says what the problem says.
func (r *Refused) Error() string {
	if r.Code == "" {
		return fmt.Sprintf("the API answered %d", r.Status)
	}
	return fmt.Sprintf("%s (%s, %d)", r.Detail, r.Code, r.Status)
}

// errNotJSON is the cause when something answers that is not this API.
var errNotJSON = errors.New("the answer is not what this API answers")

// into reads a success as JSON; anything else is a *Refused.
func (a *answer) into(v any) error {
	if a.status < 200 || a.status > 299 {
		refused := &Refused{Status: a.status}
		_ = json.Unmarshal(a.body, refused) // a gateway's own answer has no code
		return refused
	}
	if err := json.Unmarshal(a.body, v); err != nil {
		return errNotJSON
	}
	return nil
}

// call makes one request; body is JSON or "".
func (c *Client) call(ctx context.Context, method, path, body string) (*answer, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader([]byte(body)))
	if err != nil {
		return nil, err
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return nil, err
	}
	return &answer{response.StatusCode, text}, nil
}

// get is a call that reads, as raw JSON. It returns a *Refused for an answer that is no success.
func (c *Client) get(ctx context.Context, path string) (status int, body json.RawMessage, err error) {
	a, err := c.call(ctx, http.MethodGet, path, "")
	if err != nil {
		return 0, nil, err
	}
	err = a.into(&body)
	return a.status, body, err
}
