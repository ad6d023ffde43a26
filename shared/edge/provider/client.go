package provider

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"holdfast/shared/money"
	"holdfast/shared/payment"
	"holdfast/shared/sale"
)

// How long parts of a call may take, beside what the caller's context says. There is no second attempt.
const (
	callTimeout = 5 * time.Second
	maxAnswer   = 1 << 20 // bytes; a full page of the list takes a quarter of it
)

// Client is a payment.Provider over HTTP. It is safe for use by many goroutines.
type Client struct {
	url string
	key func(ctx context.Context) ([]byte, error)
	now func() time.Time
	web *http.Client
}

// New makes a client of the provider at a URL, which signs by the key. now is the clock of the signatures.
func New(url string, key func(ctx context.Context) ([]byte, error), now func() time.Time) *Client {
	return &Client{url: strings.TrimSuffix(url, "/"), key: key, now: now, web: &http.Client{
		Timeout: callTimeout,
		// A redirect would send a signed body to somebody else.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

type chargeCall struct {
	PaymentID string       `json:"paymentId"`
	OrderID   sale.OrderID `json:"orderId"`
	Amount    money.Amount `json:"amount"`
	ReturnURL string       `json:"returnUrl,omitempty"`
	ExpiresAt *time.Time   `json:"expiresAt,omitempty"`
}

// Begin opens a charge, as payment.Provider says.
func (c *Client) Begin(ctx context.Context, charge payment.Charge) (payment.Action, error) {
	call := chargeCall{PaymentID: charge.PaymentID, OrderID: charge.OrderID, Amount: charge.Amount, ReturnURL: charge.ReturnURL}
	if !charge.ExpiresAt.IsZero() {
		at := charge.ExpiresAt.UTC()
		call.ExpiresAt = &at
	}
	var answer struct {
		Reference string         `json:"reference"`
		Action    payment.Action `json:"action"`
	}
	if err := c.call(ctx, "/charges", call, &answer); err != nil {
		return payment.Action{}, err
	}
	if answer.Reference == "" || len(answer.Reference) > 191 || answer.Action.Type == "" {
		return payment.Action{}, fmt.Errorf("%w: its answer to a charge makes no sense", payment.ErrNoProvider)
	}
	answer.Action.Reference = answer.Reference
	return answer.Action, nil
}

type refundCall struct {
	RefundID  string       `json:"refundId"`
	PaymentID string       `json:"paymentId"`
	Amount    money.Amount `json:"amount"`
}

// Refund sends a refund, as payment.Provider says.
func (c *Client) Refund(ctx context.Context, r payment.RefundOrder) (payment.RefundState, error) {
	var answer struct {
		Status  string `json:"status"`
		Failure string `json:"failure"`
	}
	if err := c.call(ctx, "/refunds", refundCall{r.RefundID, r.PaymentID, r.Amount}, &answer); err != nil {
		return payment.RefundState{}, err
	}
	switch answer.Status {
	case "PENDING":
		return payment.RefundState{Status: payment.RefundSent}, nil
	case "SUCCEEDED":
		return payment.RefundState{Status: payment.RefundSucceeded}, nil
	case "FAILED":
		return payment.RefundState{Status: payment.RefundFailed, Failure: Code(answer.Failure)}, nil
	}
	return payment.RefundState{}, fmt.Errorf("%w: its answer to a refund makes no sense", payment.ErrNoProvider)
}

// call makes one signed call. It returns payment.ErrRefused or payment.ErrNoProvider.
func (c *Client) call(ctx context.Context, path string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("provider: write a call: %w", err)
	}
	key, err := c.key(ctx)
	if err != nil {
		return fmt.Errorf("%w: its key cannot be read: %w", payment.ErrNoProvider, err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+path, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("%w: its address cannot be used", payment.ErrNoProvider)
	}
	timestamp, signature := Sign(key, body, c.now())
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set(TimestampHeader, timestamp)
	request.Header.Set(SignatureHeader, signature)
	response, err := c.web.Do(request)
	if err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("%w in time", payment.ErrNoProvider)
		}
		return payment.ErrNoProvider // the cause would name the address
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	switch {
	case err != nil:
		return payment.ErrNoProvider
	case response.StatusCode == http.StatusOK, response.StatusCode == http.StatusCreated:
		if json.Unmarshal(text, out) != nil {
			return fmt.Errorf("%w: its answer is no JSON", payment.ErrNoProvider)
		}
		return nil
	case response.StatusCode == http.StatusBadRequest, response.StatusCode == http.StatusNotFound,
		response.StatusCode == http.StatusConflict, response.StatusCode == http.StatusUnprocessableEntity:
		return fmt.Errorf("%w: status %d", payment.ErrRefused, response.StatusCode)
	}
	return fmt.Errorf("%w: status %d", payment.ErrNoProvider, response.StatusCode)
}

// Code makes a text of the provider's into a code that can be kept and shown: capitals, digits and underscores, 1..64 of them.
func Code(s string) string {
	var b strings.Builder
	for _, r := range strings.ToUpper(s) {
		if b.Len() == 64 {
			break
		}
		switch {
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_':
			b.WriteRune(r)
		default:
			b.WriteByte('_')
		}
	}
	if strings.Trim(b.String(), "_") == "" {
		return "FAILED"
	}
	return b.String()
}
