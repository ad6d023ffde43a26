package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"holdfast/infra/local"
	"holdfast/infra/local/mapping"
	"holdfast/shared/sale"
)

// synchronous is the baseline of the whole system: the same gateway as ours in front of a function that makes the order inside the
// request. It takes the same requests, checks the same kind of token, writes the same rows, and knows neither Redis nor a queue.
type synchronous struct {
	issuer   *local.Issuer
	function lambda.Handler
	sale     atomic.Pointer[syncSale]
	server   *http.Server
	url      string
}

// syncSale is the sale that is running.
type syncSale struct {
	orders *perOrder
	facts  sale.Facts
	left   atomic.Int64 // only for the figures of the stock log; the database decides
}

// startSynchronous serves on a free port; dir is for the clock of the gateway.
func startSynchronous(dir string) (*synchronous, error) {
	clock, err := local.OpenClock(dir)
	if err != nil {
		return nil, err
	}
	s := &synchronous{}
	if s.issuer, err = local.NewIssuer(clock.Now); err != nil {
		return nil, err
	}
	s.function = mapping.NewInstances(func() lambda.Handler { return lambda.NewHandler(s.reserve) })
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s.url = "http://" + listener.Addr().String()
	s.server = &http.Server{Handler: local.NewFront(s, s.issuer, clock), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = s.server.Serve(listener) }() // ends with Close
	return s, nil
}

// open makes a sale the one that runs.
func (s *synchronous) open(p *perOrder) {
	next := &syncSale{orders: p, facts: p.activity.Facts()}
	next.left.Store(int64(p.activity.TicketTypes[0].Capacity))
	s.sale.Store(next)
}

// Invoke implements mapping.Invoker: whatever the route, there is one function.
func (s *synchronous) Invoke(ctx context.Context, _ string, event []byte) ([]byte, error) {
	return s.function.Invoke(ctx, event)
}

func (s *synchronous) reserve(ctx context.Context, r events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
	running := s.sale.Load()
	var wish struct {
		TicketType string `json:"ticketType"`
		Quantity   int    `json:"quantity"`
	}
	if err := json.Unmarshal([]byte(r.Body), &wish); err != nil || r.PathParameters["activityId"] != running.facts.ActivityID {
		return events.APIGatewayV2HTTPResponse{StatusCode: http.StatusBadRequest}, nil
	}
	user, now := r.RequestContext.Authorizer.JWT.Claims["sub"], time.Now().UTC()
	id := running.facts.OrderID(user, r.Headers["idempotency-key"])
	after := running.left.Add(-int64(wish.Quantity))
	reservation := sale.Reservation{OrderID: id, ActivityID: running.facts.ActivityID, UserID: user, TicketType: wish.TicketType,
		Quantity: wish.Quantity, Allocations: sale.Allocations{{Bucket: id.StartBucket(buckets), Count: wish.Quantity}},
		Seq: now.UnixMicro(), At: now, Before: int(after) + wish.Quantity}
	if err := running.orders.sell(ctx, reservation, id.String()); err != nil {
		return events.APIGatewayV2HTTPResponse{}, err
	}
	return events.APIGatewayV2HTTPResponse{StatusCode: http.StatusAccepted, Headers: map[string]string{"Content-Type": "application/json"},
		Body: fmt.Sprintf(`{"orderId":%q,"status":"UNPAID"}`, id)}, nil
}

func (s *synchronous) close() { s.server.Close() }
