package bench

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"holdfast/infra/local"
	"holdfast/shared/sale"
)

// synchronous is the baseline of the whole system: an HTTP server that makes the order inside the request. It takes the same
// requests as ours, checks the same kind of token, writes the same rows, and knows neither Redis nor a queue.
type synchronous struct {
	issuer *local.Issuer
	sale   atomic.Pointer[syncSale]
	server *http.Server
	url    string
}

// syncSale is the sale that is running.
type syncSale struct {
	orders *perOrder
	facts  sale.Facts
	left   atomic.Int64 // only for the figures of the stock log; the database decides
}

// startSynchronous serves on a free port.
func startSynchronous(issuer *local.Issuer) (*synchronous, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &synchronous{issuer: issuer, url: "http://" + listener.Addr().String()}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/activities/{activityId}/reservations", s.reserve)
	s.server = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = s.server.Serve(listener) }() // ends with Close
	return s, nil
}

// open makes a sale the one that runs.
func (s *synchronous) open(p *perOrder) {
	next := &syncSale{orders: p, facts: p.activity.Facts()}
	next.left.Store(int64(p.activity.TicketTypes[0].Capacity))
	s.sale.Store(next)
}

func (s *synchronous) reserve(w http.ResponseWriter, r *http.Request) {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	claims, err := s.issuer.Verify(token)
	if err != nil {
		http.Error(w, "Unauthorized", http.StatusUnauthorized)
		return
	}
	user, _ := claims["sub"].(string)
	var wish struct {
		TicketType string `json:"ticketType"`
		Quantity   int    `json:"quantity"`
	}
	running := s.sale.Load()
	if err := json.NewDecoder(io.LimitReader(r.Body, 16<<10)).Decode(&wish); err != nil || r.PathValue("activityId") != running.facts.ActivityID {
		http.Error(w, "Bad Request", http.StatusBadRequest)
		return
	}
	now := time.Now().UTC()
	id := running.facts.OrderID(user, r.Header.Get("Idempotency-Key"))
	after := running.left.Add(-int64(wish.Quantity))
	reservation := sale.Reservation{OrderID: id, ActivityID: running.facts.ActivityID, UserID: user, TicketType: wish.TicketType,
		Quantity: wish.Quantity, Allocations: sale.Allocations{{Bucket: id.StartBucket(buckets), Count: wish.Quantity}},
		Seq: now.UnixMicro(), At: now, Before: int(after) + wish.Quantity}
	if err := running.orders.create(r.Context(), reservation, id.String()); err != nil {
		http.Error(w, "Internal Server Error", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusAccepted)
	_ = json.NewEncoder(w).Encode(map[string]any{"orderId": id, "status": "UNPAID"}) // a client that went away has nobody to be told
}

func (s *synchronous) close() { s.server.Close() }
