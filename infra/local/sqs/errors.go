package sqs

import (
	"errors"
	"fmt"
	"net/http"
)

// ErrAnswerLost says that the call took effect but its answer was lost, as the fault mode lose-answer demands. An HTTP caller sees its
// connection cut.
var ErrAnswerLost = errors.New("sqs: the call took effect, its answer was lost")

// ErrClosed says that the server was closed while the call waited.
var ErrClosed = errors.New("sqs: the server is closed")

// Error is a refusal in the words of SQS.
type Error struct {
	Code    string // the name of the error's shape, which the SDK turns into a type: "QueueDoesNotExist"
	Query   string // the code of the older query protocol, which the SDK's ErrorCode() answers: "AWS.SimpleQueueService.NonExistentQueue"
	Message string
	Status  int // HTTP status
}

// Error returns code and message.
func (e *Error) Error() string { return "sqs: " + e.Query + ": " + e.Message }

// simple makes the 400 of an error whose older code bears the service's prefix.
func simple(code, format string, args ...any) *Error {
	return &Error{Code: code, Query: "AWS.SimpleQueueService." + code, Message: fmt.Sprintf(format, args...), Status: http.StatusBadRequest}
}

// plain makes the 400 of an error that is called the same in both protocols.
func plain(code, format string, args ...any) *Error {
	return &Error{Code: code, Query: code, Message: fmt.Sprintf(format, args...), Status: http.StatusBadRequest}
}

func errNoQueue() *Error {
	e := simple("QueueDoesNotExist", "The specified queue does not exist.")
	e.Query = "AWS.SimpleQueueService.NonExistentQueue"
	return e
}

func errQueueExists() *Error {
	e := plain("QueueNameExists", "A queue already exists with the same name and a different value for an attribute.")
	e.Query = "QueueAlreadyExists"
	return e
}

func errInvalid(format string, args ...any) *Error {
	return plain("InvalidParameterValue", format, args...)
}

func errMissing(parameter string) *Error {
	return plain("MissingParameter", "The request must contain the parameter %s.", parameter)
}

func errHandle() *Error {
	return plain("ReceiptHandleIsInvalid", "The input receipt handle is invalid.")
}

func errUnsupported(what string) *Error {
	return simple("UnsupportedOperation", "This local queue service has no %s.", what)
}

// errUnavailable is what the fault mode refuse answers.
func errUnavailable() *Error {
	return &Error{Code: "ServiceUnavailable", Query: "ServiceUnavailable", Message: "The service is unavailable.", Status: http.StatusServiceUnavailable}
}

// errEntry is what the fault mode fail-entry reports for one entry of a batch.
func errEntry() *Error {
	return &Error{Code: "InternalError", Query: "InternalError", Message: "The entry failed.", Status: http.StatusInternalServerError}
}
