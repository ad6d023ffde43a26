package processes

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"
)

// maxAnswer is the largest answer of a function that Lambda takes, in bytes.
const maxAnswer = 6 << 20

// runtimeAPI serves what the runtime client of a function calls, version 2018-06-01.
func (i *instance) runtimeAPI() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /2018-06-01/runtime/invocation/next", i.next)
	mux.HandleFunc("POST /2018-06-01/runtime/invocation/{id}/response", i.response)
	mux.HandleFunc("POST /2018-06-01/runtime/invocation/{id}/error", i.failure)
	mux.HandleFunc("POST /2018-06-01/runtime/init/error", i.initFailure)
	return mux
}

// next answers with an event as soon as there is one.
func (i *instance) next(w http.ResponseWriter, r *http.Request) {
	select {
	case i.asks <- struct{}{}:
	default: // it is known already that it asks
	}
	select {
	case v := <-i.events:
		select {
		case <-i.asks:
		default: // whoever waited for it has taken the signal
		}
		i.begin(v)
		h := w.Header()
		h.Set("Content-Type", "application/json")
		h.Set("Lambda-Runtime-Aws-Request-Id", v.id)
		h.Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(time.Now().Add(v.timeout).UnixMilli(), 10))
		h.Set("Lambda-Runtime-Invoked-Function-Arn", v.arn)
		h.Set("Lambda-Runtime-Trace-Id", v.traceID)
		_, _ = w.Write(v.event) // a process that has gone away is noticed by its end
	case <-r.Context().Done():
	}
}

// response takes the answer of the current invocation.
func (i *instance) response(w http.ResponseWriter, r *http.Request) {
	answer, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxAnswer))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		i.finish(r.PathValue("id"), nil, &FunctionError{"Function.ResponseSizeTooLarge", "the answer is larger than Lambda takes"})
		status(w, http.StatusRequestEntityTooLarge, "RequestEntityTooLarge")
	case err != nil:
		// The process died while it answered; its end is noticed.
	case i.finish(r.PathValue("id"), answer, nil):
		status(w, http.StatusAccepted, "OK")
	default:
		status(w, http.StatusBadRequest, "InvalidRequestID")
	}
}

// failure takes the error of the current invocation.
func (i *instance) failure(w http.ResponseWriter, r *http.Request) {
	if i.finish(r.PathValue("id"), nil, reported(w, r)) {
		status(w, http.StatusAccepted, "OK")
		return
	}
	status(w, http.StatusBadRequest, "InvalidRequestID")
}

// initFailure takes the error of a start; the process ends by itself after it.
func (i *instance) initFailure(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	i.problem = reported(w, r).Error()
	i.mu.Unlock()
	status(w, http.StatusAccepted, "OK")
}

// reported reads an error that the runtime client sent.
func reported(w http.ResponseWriter, r *http.Request) error {
	var said FunctionError
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxAnswer)).Decode(&said); err != nil {
		return errUnreadable
	}
	return &said
}

// status answers as the Runtime API does.
func status(w http.ResponseWriter, code int, word string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(map[string]string{"status": word})
}
