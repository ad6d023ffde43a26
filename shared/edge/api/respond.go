package api

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"holdfast/shared/fault"
)

// Response is an HTTP answer before it is written the gateway's way.
type Response struct {
	Status int
	Header map[string]string
	Body   []byte

	code fault.Code // of a problem, for the log
}

// JSON makes an answer of v, which is not to be kept by caches unless the caller says otherwise.
func JSON(status int, v any) (*Response, error) {
	body, err := encode(v)
	if err != nil {
		return nil, err
	}
	return &Response{Status: status, Body: body,
		Header: map[string]string{"Content-Type": "application/json", "Cache-Control": "no-store"}}, nil
}

// mustJSON is JSON for bodies built of plain maps and texts, which always encode.
func mustJSON(status int, v any) *Response {
	response, err := JSON(status, v)
	if err != nil {
		panic("api: " + err.Error())
	}
	return response
}

// encode writes JSON without escaping <, > and &, which stand in URLs.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// envelope is the answer as API Gateway reads it, of both payload versions.
type envelope struct {
	StatusCode      int               `json:"statusCode"`
	Headers         map[string]string `json:"headers"`
	Body            string            `json:"body"`
	IsBase64Encoded bool              `json:"isBase64Encoded"`
}

// write gives the gateway its answer.
func (r *Response) write(requestID string) ([]byte, error) {
	if requestID != "" {
		r.Header["X-Request-Id"] = requestID
	}
	return encode(envelope{StatusCode: r.Status, Headers: r.Header, Body: string(r.Body)})
}

// contentTag is a weak entity tag over what v says, for answers that carry "now", which differs each time: leave it out of v.
func contentTag(v any) (string, error) {
	body, err := encode(v)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(body)
	return `W/"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`, nil
}

// tagged makes a 200 of v with the entity tag, or a 304 without a body if the caller has that already.
func (r *Request) tagged(v any, tag, cacheControl string) (*Response, error) {
	response, err := JSON(http.StatusOK, v)
	if err != nil {
		return nil, err
	}
	if r.hasTag(tag) {
		response = &Response{Status: http.StatusNotModified, Header: map[string]string{}}
	}
	response.Header["ETag"], response.Header["Cache-Control"] = tag, cacheControl
	return response, nil
}

// hasTag compares If-None-Match with a tag, weakly, as RFC 9110 section 13.1.2 says.
func (r *Request) hasTag(tag string) bool {
	sent := r.Header("If-None-Match")
	if strings.TrimSpace(sent) == "*" {
		return true
	}
	for one := range strings.SplitSeq(sent, ",") {
		if one = strings.TrimSpace(one); one != "" && strings.TrimPrefix(one, "W/") == strings.TrimPrefix(tag, "W/") {
			return true
		}
	}
	return false
}

// orderLocation is where an order is read.
func orderLocation(id any) string { return fmt.Sprint("/v1/orders/", id) }

// stamp writes an instant the contract's way: UTC, milliseconds.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// optStamp is stamp for a field that may not apply; nil gives "", which omitempty leaves out.
func optStamp(t *time.Time) string {
	if t == nil {
		return ""
	}
	return stamp(*t)
}
