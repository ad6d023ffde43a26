package crowd

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"holdfast/infra/progress"
	"holdfast/shared/sale"
)

// unconfirmed is the 503 that means "a unit may be held for you": the same key has to be sent again.
const unconfirmed = "RESERVATION_UNCONFIRMED"

// soldOut is the refusal after which a buyer may wait.
const soldOut = "INSUFFICIENT_STOCK"

// doubleTaps is the share of buyers who tap twice: the same wish, the same key, sent again at some moment.
const doubleTaps = 0.15

// loadResult is what came of the rush.
type loadResult struct {
	metrics  vegeta.Metrics // of the rush itself
	repeats  int            // requests that were sent again after it
	promises map[sale.OrderID]Promise
	refusals map[string]int // by code
	broken   []string       // answers that break the contract, at most a few
	again    []int          // buyers whose answer says to send the same key again
	answered map[int]bool   // buyers who were promised something, or refused for good
	soldOut  map[int]bool   // buyers who were refused because too few units are left
}

// without lists the buyers of an order that were not answered, each once.
func (r *loadResult) without(order []int) []int {
	var left []int
	seen := make(map[int]bool, len(order))
	for _, i := range order {
		if !r.answered[i] && !seen[i] {
			seen[i] = true
			left = append(left, i)
		}
	}
	return left
}

// answer is the part of an order or a problem that the crowd reads. Status is a word in an order and a number in a problem.
type answer struct {
	OrderID sale.OrderID `json:"orderId"`
	Status  any          `json:"status"`
	Code    string       `json:"code"`
}

// rush sends every buyer's wish, and some twice, at the fixed rate, and journals each 202 as it comes. When ctx ends it sends no more.
func (c *Crowd) rush(ctx context.Context, buyers []buyer, order []int, name string) (*loadResult, error) {
	var next atomic.Int64
	targeter := func(target *vegeta.Target) error {
		i := int(next.Add(1)) - 1
		if i >= len(order) {
			return vegeta.ErrNoTargets
		}
		b := &buyers[order[i]]
		target.Method = http.MethodPost
		target.URL = c.o.Addresses.API + "/v1/activities/" + c.o.ActivityID + "/reservations"
		target.Body = fmt.Appendf(nil, `{"ticketType":%q,"quantity":%d}`, b.Type, b.quantity)
		target.Header = http.Header{"Authorization": {"Bearer " + b.token}, "Content-Type": {"application/json"},
			"Idempotency-Key": {b.key}, "X-Request-Id": {"crowd-" + strconv.Itoa(order[i])}}
		return nil
	}
	attacker := vegeta.NewAttacker(vegeta.Timeout(30*time.Second), vegeta.KeepAlive(true), vegeta.Connections(256), vegeta.MaxWorkers(2048))
	rate := vegeta.Rate{Freq: c.o.Rate, Per: time.Second}
	bar := progress.Bar(c.o.Out, len(order), name)
	defer func() { _ = bar.Finish() }()
	result := &loadResult{promises: make(map[sale.OrderID]Promise), refusals: make(map[string]int), answered: make(map[int]bool),
		soldOut: make(map[int]bool)}
	defer context.AfterFunc(ctx, func() { attacker.Stop() })()
	for r := range attacker.Attack(targeter, rate, 0, name) {
		if r.Error == vegeta.ErrNoTargets.Error() {
			attacker.Stop()
			continue
		}
		result.metrics.Add(r)
		_ = bar.Add(1)
		if err := c.read(buyers, r, result); err != nil {
			attacker.Stop()
			return nil, err
		}
	}
	result.metrics.Close()
	return result, nil
}

// read takes one answer into the result.
func (c *Crowd) read(buyers []buyer, r *vegeta.Result, result *loadResult) error {
	i, err := strconv.Atoi(strings.TrimPrefix(r.Headers.Get("X-Request-Id"), "crowd-"))
	if err != nil || i < 0 || i >= len(buyers) {
		result.refusals[fmt.Sprintf("no answer (%d)", r.Code)]++
		return nil
	}
	var a answer
	if err := json.Unmarshal(r.Body, &a); err != nil {
		result.breaks("answer %d is not JSON", r.Code)
		return nil
	}
	if r.Code != http.StatusAccepted {
		result.refusals[a.Code]++
		result.answered[i] = r.Code < http.StatusInternalServerError
		if a.Code == soldOut {
			result.soldOut[i] = true
		}
		if a.Code == unconfirmed || a.Code == "SALE_NOT_READY" || a.Code == "STOCK_STORE_UNAVAILABLE" {
			result.again = append(result.again, i)
		}
		if a.Code == "" {
			result.breaks("answer %d has no code", r.Code)
		}
		return nil
	}
	result.answered[i] = true
	b := &buyers[i]
	promise := Promise{At: r.Timestamp.Add(r.Latency), OrderID: a.OrderID, UserID: b.userID, Type: b.Type, Quantity: b.quantity,
		Replayed: r.Headers.Get("Idempotency-Replayed") == "true"}
	if known, seen := result.promises[a.OrderID]; seen && known.UserID != b.userID {
		result.breaks("order %s was promised to two users", a.OrderID)
	}
	if _, seen := result.promises[a.OrderID]; !seen {
		result.promises[a.OrderID] = promise
	}
	return c.journal.Add(promise)
}

// add takes in what a later rush of the same buyers brought.
func (r *loadResult) add(later *loadResult) {
	r.repeats += int(later.metrics.Requests)
	for id, p := range later.promises {
		if _, seen := r.promises[id]; !seen {
			r.promises[id] = p
		}
	}
	for code, n := range later.refusals {
		r.refusals[code] += n
	}
	for i := range later.answered {
		r.answered[i] = r.answered[i] || later.answered[i]
	}
	maps.Copy(r.soldOut, later.soldOut)
	r.broken = append(r.broken, later.broken...)
}

// breaks notes an answer that breaks the contract.
func (r *loadResult) breaks(format string, args ...any) {
	if len(r.broken) < 10 {
		r.broken = append(r.broken, fmt.Sprintf(format, args...))
	}
}

// tapOrder is the order in which buyers tap: shuffled, with the double taps strewn in.
func (c *Crowd) tapOrder(n int) []int {
	random := rand.New(rand.NewPCG(c.o.Seed, 2))
	var order []int
	for i := range n {
		order = append(order, i)
		if random.Float64() < doubleTaps {
			order = append(order, i)
		}
	}
	random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	return order
}
