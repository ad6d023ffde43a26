package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"holdfast/shared/edge"
	"holdfast/shared/fault"
	"holdfast/shared/sqltx"
)

// endpoint answers one request. Its errors become problems in serve and nowhere else.
type endpoint func(ctx context.Context, r *Request) (*Response, error)

// handler is an endpoint as the Lambda runtime calls it.
type handler struct {
	name   string
	budget time.Duration
	log    *slog.Logger
	answer endpoint
}

// serve makes a lambda.Handler of an endpoint. name is the function's folder, budget the time after which the answer must be
// out; the function's own timeout lies beyond it.
func serve(d edge.Deps, name string, budget time.Duration, answer endpoint) lambda.Handler {
	return &handler{name: name, budget: budget, log: d.Log, answer: answer}
}

// Invoke answers a proxy event. It returns an error only for a payload that is no proxy event: everything else is an HTTP answer.
func (h *handler) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	start := time.Now()
	r, err := decode(payload)
	if err != nil {
		h.log.ErrorContext(ctx, "not a request", "function", h.name, "error", err.Error())
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, h.budget)
	defer cancel()
	response := h.respond(ctx, r)
	h.log.LogAttrs(ctx, slog.LevelInfo, "request", slog.String("function", h.name), slog.String("requestId", r.ID),
		slog.String("method", r.Method), slog.Int("status", response.Status), slog.String("code", string(response.code)),
		slog.Float64("durationMs", float64(time.Since(start).Microseconds())/1000))
	return response.write(r.ID)
}

// respond calls the endpoint and turns what it returns, or panics with, into an answer.
func (h *handler) respond(ctx context.Context, r *Request) (response *Response) {
	defer func() {
		if p := recover(); p != nil {
			h.log.ErrorContext(ctx, "panic", "function", h.name, "requestId", r.ID, "stack", string(debug.Stack()))
			response = problem(&fault.Error{Code: fault.Internal}, r)
		}
	}()
	response, err := h.answer(ctx, r)
	if err == nil {
		return response
	}
	f := faultOf(err)
	if k := look(f); k.status >= 500 {
		h.log.LogAttrs(ctx, levelOf(f), "failed", slog.String("function", h.name), slog.String("requestId", r.ID),
			slog.String("code", string(f.Code)), slog.String("error", edge.Loggable(err)))
	}
	return problem(f, r)
}

// levelOf keeps errors for what nobody foresaw; a store that is away is a warning here and an alarm elsewhere.
func levelOf(f *fault.Error) slog.Level {
	if f.Code == fault.Internal {
		return slog.LevelError
	}
	return slog.LevelWarn
}

// faultOf gives an error's fault: its own, or that of a sentinel in its chain; Internal, with a fixed text, for the rest.
func faultOf(err error) *fault.Error {
	var f *fault.Error
	if errors.As(err, &f) {
		return f
	}
	for _, s := range sentinels {
		if errors.Is(err, s.err) {
			return &fault.Error{Code: s.code, Err: err}
		}
	}
	if sqltx.Unavailable(err) { // a read outside a transaction, which nobody has classified
		return &fault.Error{Code: fault.OrderStoreUnavailable, Err: err}
	}
	return &fault.Error{Code: fault.Internal, Err: fmt.Errorf("unforeseen: %w", err)}
}
