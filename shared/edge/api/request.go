package api

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"holdfast/shared/fault"
)

// Request is one HTTP request, whichever way the gateway wrote it down.
type Request struct {
	ID     string // echoed as X-Request-Id: the client's own, or the gateway's
	Method string // in capitals
	Path   string // as the client sent it
	Body   []byte // decoded; nil when there is none

	headers map[string]string // names in lower case
	params  map[string]string // of the path
	query   url.Values
	claims  map[string]any // verified by the gateway; nil without an authorizer
}

// event is the part of a proxy event that is read, of both payload versions: which fields are set tells which one it is.
type event struct {
	Version         string `json:"version"`
	Body            string `json:"body"`
	IsBase64Encoded bool   `json:"isBase64Encoded"`

	Headers        map[string]string   `json:"headers"`
	MultiHeaders   map[string][]string `json:"multiValueHeaders"`
	PathParameters map[string]string   `json:"pathParameters"`
	QueryOne       map[string]string   `json:"queryStringParameters"`
	QueryMany      map[string][]string `json:"multiValueQueryStringParameters"`
	RawQuery       string              `json:"rawQueryString"`
	RawPath        string              `json:"rawPath"`
	Path           string              `json:"path"`
	HTTPMethod     string              `json:"httpMethod"`

	Context struct {
		RequestID string `json:"requestId"`
		HTTP      struct {
			Method string `json:"method"`
			Path   string `json:"path"`
		} `json:"http"`
		Authorizer struct {
			Claims map[string]any `json:"claims"`
			JWT    struct {
				Claims map[string]any `json:"claims"`
			} `json:"jwt"`
		} `json:"authorizer"`
	} `json:"requestContext"`
}

// decode reads a proxy event. Its errors mean that the caller was no API gateway, or that a body's base64 is broken.
func decode(payload []byte) (*Request, error) {
	var e event
	decoder := json.NewDecoder(bytes.NewReader(payload))
	decoder.UseNumber() // a claim that is a number must not be rounded
	if err := decoder.Decode(&e); err != nil {
		return nil, fmt.Errorf("api: not a proxy event: %w", err)
	}
	r := &Request{ID: e.Context.RequestID, params: e.PathParameters, headers: headers(&e)}
	if e.Version == "2.0" {
		r.Method, r.Path, r.claims = e.Context.HTTP.Method, e.RawPath, e.Context.Authorizer.JWT.Claims
	} else {
		r.Method, r.Path, r.claims = e.HTTPMethod, e.Path, e.Context.Authorizer.Claims
		if r.claims == nil {
			r.claims = e.Context.Authorizer.JWT.Claims
		}
	}
	if r.Method == "" {
		return nil, fmt.Errorf("api: not a proxy event of version 1.0 or 2.0 (version %q, no method)", e.Version)
	}
	r.query = query(&e)
	if sent := r.Header("X-Request-Id"); isRequestID(sent) {
		r.ID = sent
	}
	switch {
	case e.Body == "":
	case e.IsBase64Encoded:
		body, err := base64.StdEncoding.DecodeString(e.Body)
		if err != nil {
			return nil, fmt.Errorf("api: the event's body is not base64: %w", err)
		}
		r.Body = body
	default:
		r.Body = []byte(e.Body)
	}
	return r, nil
}

// headers puts the names into lower case. A REST API may send only the form with several values.
func headers(e *event) map[string]string {
	all := make(map[string]string, len(e.Headers))
	for name, values := range e.MultiHeaders {
		all[strings.ToLower(name)] = strings.Join(values, ",")
	}
	for name, value := range e.Headers {
		if lower := strings.ToLower(name); all[lower] == "" {
			all[lower] = value
		}
	}
	return all
}

// query prefers the raw text, in which a comma inside a value and two values of one name are not the same.
func query(e *event) url.Values {
	if e.RawQuery != "" {
		values, err := url.ParseQuery(e.RawQuery)
		if err == nil {
			return values
		}
	}
	values := make(url.Values, len(e.QueryOne))
	for name, value := range e.QueryOne {
		values.Set(name, value)
	}
	for name, many := range e.QueryMany {
		values[name] = many
	}
	return values
}

// Header gives a header's value, whatever the case of its name; "" when absent.
func (r *Request) Header(name string) string { return r.headers[strings.ToLower(name)] }

// Param gives a parameter of the path; "" when the route has none of that name.
func (r *Request) Param(name string) string { return r.params[name] }

// idempotencyKey gives the key that names the caller's wish, for calls that demand one. It returns IdempotencyKeyMissing
// without one and ValidationFailed for one that is not 1..255 printable ASCII characters.
func (r *Request) idempotencyKey() (string, error) {
	key := r.Header("Idempotency-Key")
	if key == "" {
		return "", fault.New(fault.IdempotencyKeyMissing, "Send an Idempotency-Key: a random UUID, made once per wish and kept for its retries.")
	}
	return key, checkKey(key)
}

// optionalKey is idempotencyKey for calls that do without one: "" when absent.
func (r *Request) optionalKey() (string, error) {
	key := r.Header("Idempotency-Key")
	if key == "" {
		return "", nil
	}
	return key, checkKey(key)
}

func checkKey(key string) error {
	if len(key) > 255 || !isPrintable(key) {
		return &fault.Error{Code: fault.ValidationFailed, Malformed: true, Violations: []fault.Violation{{
			Pointer: "Idempotency-Key", Code: "BAD_FORMAT", Message: "1 to 255 printable ASCII characters"}}}
	}
	return nil
}

// isPrintable says whether a text is printable ASCII without leading or trailing space; "" is not.
func isPrintable(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return s != "" && s[0] != ' ' && s[len(s)-1] != ' '
}

// isRequestID says whether a client's own request id may stand in answers and logs.
func isRequestID(s string) bool {
	return len(s) <= 128 && isPrintable(s) && !strings.ContainsAny(s, " \"\\<>")
}
