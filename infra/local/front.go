package local

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"

	"holdfast/infra/local/mapping"
	"holdfast/shared/edge/api"
)

// Limits of API Gateway's HTTP APIs: the longest that it waits for an integration, and the largest request.
const (
	gatewayTimeout = 29 * time.Second
	gatewayMaxBody = 10 << 20
)

// front is the HTTP side of the local stack: it does what API Gateway does with a request before and after the function, and
// answers by itself, with the gateway's bare body {"message"}, where the gateway would.
type front struct {
	invoker mapping.Invoker
	issuer  *Issuer
	clock   *Clock
}

// NewFront serves the routes of the template as the stack's own front does, with other functions behind it.
func NewFront(invoker mapping.Invoker, issuer *Issuer, clock *Clock) http.Handler {
	return (&front{invoker: invoker, issuer: issuer, clock: clock}).handler()
}

// handler routes every request of the template to its function.
func (f *front) handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if route, parameters, found := routeOf(r); found {
			f.serve(w, r, route, parameters)
			return
		}
		gatewayAnswer(w, http.StatusNotFound, "Not Found")
	})
}

// routeOf finds the route of a request by its path as it was sent, only decoded: a ServeMux would redirect what has segments like "..",
// which may be a user id.
func routeOf(r *http.Request) (route api.Route, parameters map[string]string, found bool) {
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	if route, parameters, _, found = api.FindRoute(method, r.URL.Path); found {
		return route, parameters, true
	}
	// The template sends every other path of operators to their function too, which knows what there is.
	rest, isOperators := strings.CutPrefix(r.URL.Path, "/ops/v1/")
	return api.Route{Method: "ANY", Path: "/ops/v1/{proxy...}", Function: "operate-sales", Access: api.Operator},
		map[string]string{"proxy": rest}, isOperators
}

// serve takes one request to its function and back.
func (f *front) serve(w http.ResponseWriter, r *http.Request, route api.Route, parameters map[string]string) {
	var claims map[string]any
	if route.Access != api.Public {
		token, isBearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		var err error
		if claims, err = f.issuer.Verify(token); !isBearer || err != nil {
			w.Header().Set("WWW-Authenticate", "Bearer")
			gatewayAnswer(w, http.StatusUnauthorized, "Unauthorized")
			return
		}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, gatewayMaxBody))
	if err != nil {
		var tooLarge *http.MaxBytesError
		if errors.As(err, &tooLarge) {
			gatewayAnswer(w, http.StatusRequestEntityTooLarge, "Request Entity Too Large")
		}
		return // else the client went away
	}
	event, err := json.Marshal(f.event(r, route, parameters, claims, body))
	if err != nil {
		gatewayAnswer(w, http.StatusInternalServerError, "Internal Server Error")
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), gatewayTimeout)
	defer cancel()
	answer, err := f.invoker.Invoke(ctx, route.Function, event)
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		gatewayAnswer(w, http.StatusGatewayTimeout, "Service Unavailable")
	case err != nil:
		gatewayAnswer(w, http.StatusInternalServerError, "Internal Server Error")
	default:
		writeAnswer(w, answer)
	}
}

// event is the request as a Lambda proxy event of payload version 2.0.
func (f *front) event(r *http.Request, route api.Route, parameters map[string]string, claims map[string]any,
	body []byte) events.APIGatewayV2HTTPRequest {
	now := f.clock.Now()
	headers := make(map[string]string, len(r.Header)+1)
	for name, values := range r.Header {
		headers[strings.ToLower(name)] = strings.Join(values, ",")
	}
	headers["host"] = r.Host
	event := events.APIGatewayV2HTTPRequest{
		Version: "2.0", RouteKey: route.Method + " " + route.Path, RawPath: r.URL.Path, RawQueryString: r.URL.RawQuery,
		Headers: headers, PathParameters: parameters,
		RequestContext: events.APIGatewayV2HTTPRequestContext{
			RouteKey: route.Method + " " + route.Path, AccountID: "000000000000", Stage: "$default", APIID: "local",
			DomainName: r.Host, RequestID: fmt.Sprintf("local-%x", time.Now().UnixNano()),
			Time: now.Format("02/Jan/2006:15:04:05 -0700"), TimeEpoch: now.UnixMilli(),
			HTTP: events.APIGatewayV2HTTPRequestContextHTTPDescription{Method: r.Method, Path: r.URL.Path, Protocol: r.Proto,
				SourceIP: "127.0.0.1", UserAgent: r.UserAgent()},
		},
	}
	if query := r.URL.Query(); len(query) > 0 {
		event.QueryStringParameters = make(map[string]string, len(query))
		for name, values := range query {
			event.QueryStringParameters[name] = strings.Join(values, ",")
		}
	}
	if claims != nil {
		event.RequestContext.Authorizer = &events.APIGatewayV2HTTPRequestContextAuthorizerDescription{
			JWT: &events.APIGatewayV2HTTPRequestContextAuthorizerJWTDescription{Claims: claimTexts(claims)}}
	}
	if event.Body = string(body); !utf8.Valid(body) {
		event.Body, event.IsBase64Encoded = base64.StdEncoding.EncodeToString(body), true
	}
	return event
}

// claimTexts writes claims as the gateway passes them on: every value as text.
func claimTexts(claims map[string]any) map[string]string {
	texts := make(map[string]string, len(claims))
	for name, value := range claims {
		switch v := value.(type) {
		case string:
			texts[name] = v
		case float64:
			texts[name] = fmt.Sprintf("%.0f", v)
		default:
			texts[name] = fmt.Sprint(v)
		}
	}
	return texts
}

// writeAnswer turns a function's answer into HTTP.
func writeAnswer(w http.ResponseWriter, answer []byte) {
	var response events.APIGatewayV2HTTPResponse
	if err := json.Unmarshal(answer, &response); err != nil || response.StatusCode == 0 {
		gatewayAnswer(w, http.StatusInternalServerError, "Internal Server Error")
		return
	}
	body := []byte(response.Body)
	if response.IsBase64Encoded {
		decoded, err := base64.StdEncoding.DecodeString(response.Body)
		if err != nil {
			gatewayAnswer(w, http.StatusInternalServerError, "Internal Server Error")
			return
		}
		body = decoded
	}
	for name, value := range response.Headers {
		w.Header().Set(name, value)
	}
	w.WriteHeader(response.StatusCode)
	_, _ = w.Write(body) // the client may have gone away, which is its own business
}

// gatewayAnswer is an answer of the gateway itself.
func gatewayAnswer(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"message": message})
}
