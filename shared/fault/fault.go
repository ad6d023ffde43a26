package fault

import (
	"errors"
	"fmt"
	"time"
)

// Code names one kind of refusal or failure. Codes are part of the HTTP contract: they are added, never renamed.
type Code string

// Every code there is. A new one belongs into this block and into Codes.
const (
	ValidationFailed       Code = "VALIDATION_FAILED"
	IdempotencyKeyMissing  Code = "IDEMPOTENCY_KEY_MISSING"
	IdempotencyKeyReused   Code = "IDEMPOTENCY_KEY_REUSED"
	Unauthenticated        Code = "UNAUTHENTICATED"
	Forbidden              Code = "FORBIDDEN"
	RouteNotFound          Code = "ROUTE_NOT_FOUND"
	MethodNotAllowed       Code = "METHOD_NOT_ALLOWED"
	BodyTooLarge           Code = "BODY_TOO_LARGE"
	UnsupportedMediaType   Code = "UNSUPPORTED_MEDIA_TYPE"
	RateLimited            Code = "RATE_LIMITED"
	ActivityNotFound       Code = "ACTIVITY_NOT_FOUND"
	ActivityExists         Code = "ACTIVITY_EXISTS"
	OrderNotFound          Code = "ORDER_NOT_FOUND"
	JobNotFound            Code = "JOB_NOT_FOUND"
	CertificateNotFound    Code = "CERTIFICATE_NOT_FOUND"
	IllegalTransition      Code = "ILLEGAL_TRANSITION"
	PreconditionRequired   Code = "PRECONDITION_REQUIRED"
	PreconditionFailed     Code = "PRECONDITION_FAILED"
	StockBelowSold         Code = "STOCK_BELOW_SOLD"
	AdjustmentExists       Code = "ADJUSTMENT_EXISTS"
	OrderNotCancellable    Code = "ORDER_NOT_CANCELLABLE"
	OrderNotPayable        Code = "ORDER_NOT_PAYABLE"
	OrderExpired           Code = "ORDER_EXPIRED"
	InsufficientBalance    Code = "INSUFFICIENT_BALANCE"
	MovementExists         Code = "MOVEMENT_EXISTS"
	PaymentPending         Code = "PAYMENT_PENDING"
	PaymentNotFound        Code = "PAYMENT_NOT_FOUND"
	AmountDiffers          Code = "AMOUNT_DIFFERS"
	RefundExists           Code = "REFUND_EXISTS"
	RefundTooMuch          Code = "REFUND_TOO_MUCH"
	ExtensionExists        Code = "EXTENSION_EXISTS"
	ProviderUnavailable    Code = "PROVIDER_UNAVAILABLE"
	DepositNotFrozen       Code = "DEPOSIT_NOT_FROZEN"
	DepositDeadlinePassed  Code = "DEPOSIT_DEADLINE_PASSED"
	ReconciliationNotFound Code = "RECONCILIATION_NOT_FOUND"
	ReconciliationRunning  Code = "RECONCILIATION_RUNNING"
	DifferenceNotFound     Code = "DIFFERENCE_NOT_FOUND"
	DifferenceClosed       Code = "DIFFERENCE_CLOSED"
	ActionNotPossible      Code = "ACTION_NOT_POSSIBLE"
	SaleNotStarted         Code = "SALE_NOT_STARTED"
	SaleEnded              Code = "SALE_ENDED"
	SaleNotReady           Code = "SALE_NOT_READY"
	SaleSuspended          Code = "SALE_SUSPENDED"
	SaleClosed             Code = "SALE_CLOSED"
	InsufficientStock      Code = "INSUFFICIENT_STOCK"
	AlreadyReserved        Code = "ALREADY_RESERVED"
	PurchaseLimit          Code = "PURCHASE_LIMIT"
	ReservationUnconfirmed Code = "RESERVATION_UNCONFIRMED"
	StockStoreUnavailable  Code = "STOCK_STORE_UNAVAILABLE"
	OrderStoreUnavailable  Code = "ORDER_STORE_UNAVAILABLE"
	QueueUnavailable       Code = "QUEUE_UNAVAILABLE"
	NotSoldOut             Code = "NOT_SOLD_OUT"
	AlreadyWaiting         Code = "ALREADY_WAITING"
	NotWaiting             Code = "NOT_WAITING"
	WaitlistClosed         Code = "WAITLIST_CLOSED"
	Internal               Code = "INTERNAL"
)

// Retryable says whether the same request with the same key may succeed later without anyone changing it.
func (c Code) Retryable() bool {
	switch c {
	case RateLimited, SaleNotStarted, SaleNotReady, SaleSuspended, ReservationUnconfirmed, StockStoreUnavailable,
		OrderStoreUnavailable, QueueUnavailable, ReconciliationRunning, ProviderUnavailable, Internal:
		return true
	}
	return false
}

// Violation is one broken rule of a request: where (an RFC 6901 JSON pointer into the body, or "?name" for a query parameter,
// or a header's name), which rule, and what to do about it.
type Violation struct {
	Pointer string `json:"pointer"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Error is a fault with its particulars. The zero Detail is filled by the edge from the code's title.
type Error struct {
	Code       Code
	Detail     string         // one sentence for developers; never holds secrets, tokens or personal data
	Members    map[string]any // what the code adds to the problem body, e.g. "shortage": 2
	Violations []Violation    // for ValidationFailed: all of them at once
	Malformed  bool           // for ValidationFailed: the request has the wrong form (400), not merely a broken rule (422)
	RetryAfter time.Duration  // for retryable codes; zero lets the edge choose
	Err        error          // the cause, for the log and errors.Is; never shown to a client
}

// New makes a fault. format and args give its Detail; a %w among them is kept as the cause.
func New(code Code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Detail: err.Error(), Err: errors.Unwrap(err)}
}

// Wrap makes a fault whose cause stays hidden from clients: detail is shown, err is logged.
func Wrap(code Code, err error, detail string) *Error {
	return &Error{Code: code, Detail: detail, Err: err}
}

// Error gives code, detail and cause, for logs.
func (e *Error) Error() string {
	if e.Err != nil && e.Detail != e.Err.Error() {
		return fmt.Sprintf("%s: %s: %v", e.Code, e.Detail, e.Err)
	}
	return fmt.Sprintf("%s: %s", e.Code, e.Detail)
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// With adds a member of the problem body and returns the same fault.
func (e *Error) With(name string, value any) *Error {
	if e.Members == nil {
		e.Members = make(map[string]any, 2)
	}
	e.Members[name] = value
	return e
}

// After sets when asking again makes sense and returns the same fault.
func (e *Error) After(d time.Duration) *Error {
	e.RetryAfter = d
	return e
}

// Of gives the code of the outermost fault in err's chain, or Internal if there is none; "" for nil.
func Of(err error) Code {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return Internal
}
