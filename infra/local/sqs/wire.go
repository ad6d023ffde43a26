package sqs

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
)

// maxRequest bounds what is read of one request: 1 MiB of body can grow sixfold when every character is written as an escape.
const maxRequest = 8 << 20

// action carries out one action on the request's JSON and returns the answer to be written as JSON; nil = an empty one.
type action func(s *Server, ctx context.Context, request []byte) (any, error)

// handle makes an action of a function over the request's own type.
func handle[In any](do func(s *Server, ctx context.Context, in *In) (any, error)) action {
	return func(s *Server, ctx context.Context, request []byte) (any, error) {
		var in In
		if err := json.Unmarshal(request, &in); err != nil {
			return nil, plain("SerializationException", "The request is not the JSON of this action.")
		}
		return do(s, ctx, &in)
	}
}

var actions = map[string]action{
	"AmazonSQS.CreateQueue":                  handle(createQueue),
	"AmazonSQS.GetQueueUrl":                  handle(getQueueURL),
	"AmazonSQS.ListQueues":                   handle(listQueues),
	"AmazonSQS.GetQueueAttributes":           handle(getQueueAttributes),
	"AmazonSQS.SetQueueAttributes":           handle(setQueueAttributes),
	"AmazonSQS.PurgeQueue":                   handle(purgeQueue),
	"AmazonSQS.SendMessage":                  handle(sendMessage),
	"AmazonSQS.SendMessageBatch":             handle(sendMessageBatch),
	"AmazonSQS.ReceiveMessage":               handle(receiveMessage),
	"AmazonSQS.DeleteMessage":                handle(deleteMessage),
	"AmazonSQS.DeleteMessageBatch":           handle(deleteMessageBatch),
	"AmazonSQS.ChangeMessageVisibility":      handle(changeVisibility),
	"AmazonSQS.ChangeMessageVisibilityBatch": handle(changeVisibilityBatch),
}

// serve is the whole protocol: POST, the action in X-Amz-Target, JSON both ways.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	target := r.Header.Get("X-Amz-Target")
	if s.others != nil && !strings.HasPrefix(target, "AmazonSQS.") {
		s.others.ServeHTTP(w, r)
		return
	}
	do, known := actions[target]
	if !known || r.Method != http.MethodPost {
		name := strings.TrimPrefix(target, "AmazonSQS.")
		writeError(w, &Error{Code: "UnknownOperationException", Query: "InvalidAction", Message: "The action " + name + " is not known here.", Status: http.StatusBadRequest})
		return
	}
	request, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil {
		writeError(w, errInvalid("The request is too long."))
		return
	}
	answer, err := do(s, r.Context(), request)
	var refused *Error
	switch {
	case errors.As(err, &refused):
		writeError(w, refused)
	case err != nil:
		// The answer is lost, or nobody is there to hear it: the connection is cut without a byte.
		panic(http.ErrAbortHandler)
	default:
		writeAnswer(w, http.StatusOK, answer)
	}
}

func writeError(w http.ResponseWriter, e *Error) {
	fault := "Sender"
	if e.Status >= http.StatusInternalServerError {
		fault = "Receiver"
	}
	w.Header().Set("X-Amzn-Query-Error", e.Query+";"+fault)
	writeAnswer(w, e.Status, map[string]string{"__type": "com.amazonaws.sqs#" + e.Code, "message": e.Message})
}

func writeAnswer(w http.ResponseWriter, status int, answer any) {
	if answer == nil {
		answer = struct{}{}
	}
	text, err := json.Marshal(answer)
	if err != nil {
		panic(err) // the answers are our own types, all of which can be written
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	w.Header().Set("X-Amzn-RequestId", newID())
	w.WriteHeader(status)
	_, _ = w.Write(text) // a caller that has gone hears nothing
}
