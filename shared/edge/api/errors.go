package api

import (
	"context"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"holdfast/shared/catalog"
	"holdfast/shared/checkout"
	"holdfast/shared/fault"
	"holdfast/shared/order"
	"holdfast/shared/reconcile"
	"holdfast/shared/reconcile/certificate"
	"holdfast/shared/reconcile/invariant"
	"holdfast/shared/sqltx"
	"holdfast/shared/stock"
	"holdfast/shared/waitlist"
	"holdfast/shared/wallet"
)

// kind is how a fault code looks over HTTP.
type kind struct {
	status int
	title  string
	number int           // the numeric code of a reservation's refusal; 0 = none
	retry  time.Duration // when asking again makes sense, unless the fault itself says it
}

// table is the one place that knows how codes look over HTTP. ValidationFailed is 400 when the request has the wrong form.
var table = map[fault.Code]kind{
	fault.ValidationFailed:       {http.StatusUnprocessableEntity, "The request is not valid", 0, 0},
	fault.IdempotencyKeyMissing:  {http.StatusBadRequest, "An Idempotency-Key is required", 0, 0},
	fault.IdempotencyKeyReused:   {http.StatusUnprocessableEntity, "The Idempotency-Key belongs to another request", 0, 0},
	fault.Unauthenticated:        {http.StatusUnauthorized, "No valid token", 0, 0},
	fault.Forbidden:              {http.StatusForbidden, "Not allowed", 0, 0},
	fault.RouteNotFound:          {http.StatusNotFound, "No such call", 0, 0},
	fault.MethodNotAllowed:       {http.StatusMethodNotAllowed, "The call has another method", 0, 0},
	fault.BodyTooLarge:           {http.StatusRequestEntityTooLarge, "The body is too large", 0, 0},
	fault.UnsupportedMediaType:   {http.StatusUnsupportedMediaType, "The body is not JSON", 0, 0},
	fault.RateLimited:            {http.StatusTooManyRequests, "Too many requests", 0, time.Second},
	fault.ActivityNotFound:       {http.StatusNotFound, "No such activity", 0, 0},
	fault.ActivityExists:         {http.StatusConflict, "The activity exists with other contents", 0, 0},
	fault.OrderNotFound:          {http.StatusNotFound, "No such order", 0, 0},
	fault.JobNotFound:            {http.StatusNotFound, "No such job", 0, 0},
	fault.CertificateNotFound:    {http.StatusNotFound, "No certificate was made yet", 0, 0},
	fault.IllegalTransition:      {http.StatusConflict, "The activity's state does not allow this", 0, 0},
	fault.PreconditionRequired:   {http.StatusPreconditionRequired, "If-Match is required", 0, 0},
	fault.PreconditionFailed:     {http.StatusPreconditionFailed, "Changed since it was read", 0, 0},
	fault.StockBelowSold:         {http.StatusConflict, "Fewer units are left than are to be taken away", 0, 0},
	fault.AdjustmentExists:       {http.StatusConflict, "The adjustment exists with other contents", 0, 0},
	fault.OrderNotCancellable:    {http.StatusConflict, "The order cannot be cancelled", 0, 0},
	fault.OrderNotPayable:        {http.StatusConflict, "The order cannot be paid", 0, 0},
	fault.OrderExpired:           {http.StatusGone, "The order's deadline has passed", 0, 0},
	fault.InsufficientBalance:    {http.StatusPaymentRequired, "Too little money is available", 10021, 0},
	fault.MovementExists:         {http.StatusConflict, "The reference belongs to another movement", 0, 0},
	fault.PaymentPending:         {http.StatusConflict, "Another payment of the order is pending", 0, 0},
	fault.PaymentNotFound:        {http.StatusNotFound, "No such payment or refund", 0, 0},
	fault.AmountDiffers:          {http.StatusConflict, "The amount is another one", 0, 0},
	fault.RefundExists:           {http.StatusConflict, "The refund exists with other contents", 0, 0},
	fault.RefundTooMuch:          {http.StatusConflict, "Less is left to be refunded", 0, 0},
	fault.ExtensionExists:        {http.StatusConflict, "The extension exists with other contents", 0, 0},
	fault.ProviderUnavailable:    {http.StatusServiceUnavailable, "The payment provider cannot be reached", 0, 2 * time.Second},
	fault.DepositNotFrozen:       {http.StatusConflict, "The order has no deposit that is frozen", 0, 0},
	fault.DepositDeadlinePassed:  {http.StatusGone, "The deadline for confirming has passed", 0, 0},
	fault.ReconciliationNotFound: {http.StatusNotFound, "No such reconciliation", 0, 0},
	fault.ReconciliationRunning:  {http.StatusServiceUnavailable, "The activity is being reconciled", 0, 5 * time.Second},
	fault.DifferenceNotFound:     {http.StatusNotFound, "No such difference", 0, 0},
	fault.DifferenceClosed:       {http.StatusConflict, "The difference is not open any more", 0, 0},
	fault.ActionNotPossible:      {http.StatusConflict, "This cannot be done as things stand", 0, 0},
	fault.SaleNotStarted:         {http.StatusConflict, "The sale has not started", 10002, time.Second},
	fault.SaleEnded:              {http.StatusConflict, "The sale has ended", 10003, 0},
	fault.SaleNotReady:           {http.StatusServiceUnavailable, "The sale is being made ready", 10004, 2 * time.Second},
	fault.InsufficientStock:      {http.StatusConflict, "Not enough units are left", 10005, 0},
	fault.AlreadyReserved:        {http.StatusConflict, "You have an order already", 10006, 0},
	fault.PurchaseLimit:          {http.StatusConflict, "The limit per user is reached", -2, 0},
	fault.SaleSuspended:          {http.StatusConflict, "The sale is suspended", 10011, 10 * time.Second},
	fault.SaleClosed:             {http.StatusConflict, "The sale is closed", 10012, 0},
	fault.ReservationUnconfirmed: {http.StatusServiceUnavailable, "Whether units are held is not certain yet", 10031, time.Second},
	fault.StockStoreUnavailable:  {http.StatusServiceUnavailable, "The stock cannot be reached", 10032, time.Second},
	fault.OrderStoreUnavailable:  {http.StatusServiceUnavailable, "The orders cannot be reached", 0, 2 * time.Second},
	fault.QueueUnavailable:       {http.StatusServiceUnavailable, "The queue cannot be reached", 0, 2 * time.Second},
	fault.NotSoldOut:             {http.StatusConflict, "Units are there and nobody waits: buy", 0, 0},
	fault.AlreadyWaiting:         {http.StatusConflict, "You wait for something else in this sale", 0, 0},
	fault.NotWaiting:             {http.StatusNotFound, "You never waited in this sale", 0, 0},
	fault.WaitlistClosed:         {http.StatusConflict, "Nothing can be offered any more", 0, 0},
	fault.Internal:               {http.StatusInternalServerError, "Something went wrong on our side", 0, 2 * time.Second},
}

// sentinels gives the code of each refusal that a domain package states as an error of its own, for all calls. A call that means
// something else by one of them, or adds members, makes its fault before returning.
var sentinels = []struct {
	err  error
	code fault.Code
}{
	{catalog.ErrNotFound, fault.ActivityNotFound},
	{catalog.ErrExists, fault.ActivityExists},
	{catalog.ErrIllegalTransition, fault.IllegalTransition},
	{order.ErrNotFound, fault.OrderNotFound},
	{checkout.ErrNotCancellable, fault.OrderNotCancellable},
	{checkout.ErrDepositNotFrozen, fault.DepositNotFrozen},
	{checkout.ErrDepositDeadlinePassed, fault.DepositDeadlinePassed},
	{checkout.ErrDepositStale, fault.PreconditionFailed},
	{wallet.ErrShort, fault.InsufficientBalance},
	{checkout.ErrInsufficientBalance, fault.InsufficientBalance},
	{wallet.ErrConflict, fault.MovementExists},
	{checkout.ErrNotSoldOut, fault.NotSoldOut},
	{checkout.ErrOtherEntry, fault.AlreadyWaiting},
	{checkout.ErrWaitlistClosed, fault.WaitlistClosed},
	{waitlist.ErrNotFound, fault.NotWaiting},
	{reconcile.ErrNoJob, fault.JobNotFound},
	{certificate.ErrNone, fault.CertificateNotFound},
	{reconcile.ErrRunNotFound, fault.ReconciliationNotFound},
	{reconcile.ErrNotPublished, fault.IllegalTransition},
	{reconcile.ErrDifferenceNotFound, fault.DifferenceNotFound},
	{reconcile.ErrDifferenceClosed, fault.DifferenceClosed},
	{reconcile.ErrDifferenceChanged, fault.PreconditionFailed},
	{reconcile.ErrBusy, fault.ReconciliationRunning},
	{stock.ErrNotLoaded, fault.SaleNotReady},
	{invariant.ErrNotChecked, fault.SaleNotReady},
	{stock.ErrUnavailable, fault.StockStoreUnavailable},
	{stock.ErrNoAnswer, fault.StockStoreUnavailable},
	{sqltx.ErrUnavailable, fault.OrderStoreUnavailable},
	{sqltx.ErrCommitUnclear, fault.OrderStoreUnavailable},
	{context.DeadlineExceeded, fault.OrderStoreUnavailable},
}

// look gives a fault's row of the table.
func look(f *fault.Error) kind {
	k, known := table[f.Code]
	if !known {
		k = table[fault.Internal]
	}
	if f.Code == fault.ValidationFailed && f.Malformed {
		k.status = http.StatusBadRequest
	}
	return k
}

// problem writes a fault as application/problem+json (RFC 9457).
func problem(f *fault.Error, r *Request) *Response {
	k := look(f)
	body := make(map[string]any, 10+len(f.Members))
	for name, value := range f.Members {
		body[name] = value
	}
	body["type"] = "urn:holdfast:problem:" + strings.ReplaceAll(strings.ToLower(string(f.Code)), "_", "-")
	body["title"], body["status"], body["code"], body["retryable"] = k.title, k.status, f.Code, f.Code.Retryable()
	body["detail"] = f.Detail
	if f.Detail == "" {
		body["detail"] = k.title + "."
	}
	if r.ID != "" {
		body["instance"] = "urn:holdfast:request:" + r.ID
	}
	if k.number != 0 {
		body["number"] = k.number
	}
	if len(f.Violations) > 0 {
		body["errors"] = f.Violations
	}
	header := map[string]string{"Cache-Control": "no-store"}
	if f.Code.Retryable() {
		wait := jitter(max(f.RetryAfter, k.retry))
		body["retryAfterMs"] = wait.Milliseconds()
		header["Retry-After"] = strconv.FormatInt(int64((wait+time.Second-1)/time.Second), 10)
	}
	switch f.Code {
	case fault.Unauthenticated:
		header["WWW-Authenticate"] = "Bearer"
	case fault.ReservationUnconfirmed:
		if id, named := f.Members["orderId"]; named {
			header["Location"] = orderLocation(id)
		}
	}
	response := mustJSON(k.status, body)
	for name, value := range header {
		response.Header[name] = value
	}
	response.Header["Content-Type"] = "application/problem+json"
	response.code = f.Code
	return response
}

// jitter spreads a wait over up to half of itself again, at most two seconds, so that refused callers do not come back at once;
// never before the wait is over.
func jitter(wait time.Duration) time.Duration {
	spread := min(wait/2, 2*time.Second)
	if spread < time.Millisecond {
		return wait
	}
	return (wait + rand.N(spread)).Round(time.Millisecond)
}
