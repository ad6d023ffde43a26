package local

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// maxControlBody bounds what the control endpoints read.
const maxControlBody = 1 << 20

// controls mounts what only the local stack serves, under /local: tokens, schedules, clock, queues, faults, events,
// notices, executions.
func (s *Stack) controls(mux *http.ServeMux) {
	mux.HandleFunc("POST /local/tokens", control(s.mintToken))
	mux.HandleFunc("GET /local/.well-known/jwks.json", control(func(*http.Request) (any, error) { return s.issuer.KeySet(), nil }))
	mux.HandleFunc("POST /local/schedules/{function}", control(s.runSchedule))
	mux.HandleFunc("POST /local/clock", control(s.moveClock))
	mux.HandleFunc("GET /local/clock", control(func(*http.Request) (any, error) { return s.clockNow(), nil }))
	mux.HandleFunc("POST /local/queues/orders", control(s.pauseOrders))
	mux.HandleFunc("GET /local/queues/orders", control(func(*http.Request) (any, error) { return s.ordersDepth(), nil }))
	mux.HandleFunc("POST /local/faults", control(s.setFault))
	mux.HandleFunc("GET /local/faults", control(func(*http.Request) (any, error) { return s.listFaults(), nil }))
	mux.HandleFunc("DELETE /local/faults", control(func(*http.Request) (any, error) { s.faults.Clear(); return s.listFaults(), nil }))
	mux.HandleFunc("POST /local/events/{function}", control(s.invokeEvent))
	mux.HandleFunc("GET /local/notices", control(s.showNotices))
	mux.HandleFunc("GET /local/executions", control(s.showExecutions))
	mux.HandleFunc("DELETE /local/executions/{name}", control(s.stopExecution))
}

// usageError is a mistake of whoever called a control endpoint; everything else is ours.
type usageError struct {
	status int
	text   string
}

func (e *usageError) Error() string { return e.text }

func misuse(format string, args ...any) error {
	return &usageError{http.StatusBadRequest, fmt.Sprintf(format, args...)}
}

// control answers what f gives as JSON, and its errors as {"message"}.
func control(f func(*http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		answer, err := f(r)
		var usage *usageError
		switch {
		case errors.As(err, &usage):
			gatewayAnswer(w, usage.status, usage.text)
		case err != nil:
			gatewayAnswer(w, http.StatusInternalServerError, err.Error())
		default:
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(answer) // a client that went away has nobody to be told
		}
	}
}

// readControl decodes a request's body strictly.
func readControl(r *http.Request, into any) error {
	decoder := json.NewDecoder(io.LimitReader(r.Body, maxControlBody))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return misuse("the body is not what this call takes: %v", err)
	}
	return nil
}

func (s *Stack) mintToken(r *http.Request) (any, error) {
	var wish struct {
		Subject string   `json:"sub"`
		Scopes  []string `json:"scopes"`
	}
	if err := readControl(r, &wish); err != nil {
		return nil, err
	}
	if wish.Subject == "" {
		return nil, misuse("write whose token it shall be: {\"sub\":\"u1\"}")
	}
	token, err := s.issuer.Mint(wish.Subject, wish.Scopes)
	return map[string]string{"token": token}, err
}

func (s *Stack) runSchedule(r *http.Request) (any, error) {
	name := r.PathValue("function")
	schedule := s.schedules[name]
	if schedule == nil {
		return nil, &usageError{http.StatusNotFound, fmt.Sprintf("there is no scheduled function %q, but %s", name,
			strings.Join(slices.Sorted(maps.Keys(s.schedules)), ", "))}
	}
	answer, err := schedule.RunNow(r.Context())
	if err != nil {
		return nil, fmt.Errorf("%s failed: %w", name, err)
	}
	return json.RawMessage(answer), nil
}

func (s *Stack) moveClock(r *http.Request) (any, error) {
	var wish struct {
		Advance string `json:"advance"`
	}
	if err := readControl(r, &wish); err != nil {
		return nil, err
	}
	by, err := time.ParseDuration(wish.Advance)
	if err != nil || by < 0 {
		return nil, misuse("write how far forward, such as {\"advance\":\"48h\"} or \"90s\"")
	}
	if err := s.clock.Advance(by); err != nil {
		return nil, err
	}
	return s.clockNow(), nil
}

func (s *Stack) clockNow() any {
	return map[string]string{"now": s.clock.Now().Format("2006-01-02T15:04:05.000Z")}
}

func (s *Stack) pauseOrders(r *http.Request) (any, error) {
	var wish struct {
		Paused *bool `json:"paused"`
	}
	if err := readControl(r, &wish); err != nil {
		return nil, err
	}
	if wish.Paused == nil {
		return nil, misuse("write {\"paused\":true} or {\"paused\":false}")
	}
	if *wish.Paused {
		s.orders.Pause()
	} else {
		s.orders.Resume()
	}
	return s.ordersDepth(), nil
}

func (s *Stack) ordersDepth() any {
	visible, inFlight, delayed := s.ordersQueue.Depth()
	return map[string]any{"visible": visible, "inFlight": inFlight, "delayed": delayed, "paused": s.orders.Paused()}
}

func (s *Stack) setFault(r *http.Request) (any, error) {
	var wish struct {
		Point string `json:"point"`
		Mode  string `json:"mode"`
		Every int    `json:"every"`
	}
	wish.Every = 1
	if err := readControl(r, &wish); err != nil {
		return nil, err
	}
	if err := s.faults.Set(wish.Point, wish.Mode, wish.Every); err != nil {
		return nil, misuse("%v", err)
	}
	return s.listFaults(), nil
}

func (s *Stack) listFaults() any {
	return map[string]any{"active": s.faults.Active(), "points": faultPoints()}
}

func (s *Stack) invokeEvent(r *http.Request) (any, error) {
	name := r.PathValue("function")
	if !s.functions.Has(name) {
		return nil, &usageError{http.StatusNotFound, fmt.Sprintf("there is no function %q", name)}
	}
	event, err := io.ReadAll(io.LimitReader(r.Body, 6<<20)) // the largest event that Lambda takes
	if err != nil {
		return nil, err
	}
	if !json.Valid(event) {
		return nil, misuse("the event is not JSON")
	}
	answer, err := s.functions.Invoke(r.Context(), name, event)
	if err != nil {
		return nil, fmt.Errorf("%s failed: %w", name, err)
	}
	if len(answer) == 0 {
		return nil, nil
	}
	return json.RawMessage(answer), nil
}
