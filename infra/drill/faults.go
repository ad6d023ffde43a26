package drill

import (
	"context"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"holdfast/infra/local/sns"
	"holdfast/infra/local/states"
)

// fault is one thing that the nemesis does: it breaks something, lets it be broken for a while, and mends what would not come back by
// itself.
type fault struct {
	name string
	step string // of an order's way, where it strikes
	cost cost   // what of it is gone for good
	does func(ctx context.Context, w *world, random *rand.Rand) error
}

// cost is a copy of reservations that a fault destroys. A promised reservation that is no order yet has two: the message in the queue
// and the entry in Redis.
type cost int

const (
	nothing  cost = iota
	messages      // the queue took them and has them no more, which no queue of AWS does
	redisSet      // Redis lost some or all of what it held
)

// Steps of an order's way.
const (
	stepReserve = "reserve" // units taken in Redis
	stepSend    = "send"    // the message handed to the queue
	stepCreate  = "create"  // the transaction
	stepAck     = "acknowledge"
	stepRelease = "release"
	stepAny     = "any"
)

// faults are all there are.
var faults = []fault{
	{"create-orders killed", stepCreate, nothing, kill("create-orders")},
	{"functions killed", stepAny, nothing, kill("reserve-ticket", "cancel-order", "operate-sales", "compensate-orders", "expire-orders", "get-order")},
	{"functions of money killed", stepAny, nothing, kill("pay-order", "notify-payment", "confirm-deposit", "my-waitlist", "send-notices",
		"remind-deposit", "settle-deposit")},
	{"MariaDB killed, restarted", stepCreate, nothing, killMariaDB},
	{"Redis killed, restarts empty", stepAny, redisSet, killRedis},
	{"Redis killed, restarts from an old copy", stepAny, redisSet, redisFromOldCopy},
	{"failover to a stalled replica", stepAny, redisSet, failOver},
	{"Redis: black hole", stepAny, nothing, blackHole(redisWire)},
	{"Redis: answers lost", stepAny, nothing, answersLost(redisWire)},
	{"Redis: connections reset", stepAny, nothing, resets(redisWire)},
	{"database: black hole", stepCreate, nothing, blackHole(dbWire)},
	{"database: answers lost", stepCreate, nothing, answersLost(dbWire)},
	{"database: connections reset", stepCreate, nothing, resets(dbWire)},
	{"queue: unreachable", stepSend, nothing, unreachable},
	{"queue: refuses", stepSend, nothing, switched("queue.send", "refuse", 2)},
	{"queue: answers lost", stepSend, nothing, switched("queue.send", "lose-answer", 2)},
	{"queue: messages doubled", stepSend, nothing, switched("queue.send", "duplicate", 2)},
	{"queue: messages dropped", stepSend, messages, switched("queue.send", "drop", 4)},
	{"queue: deliveries doubled", stepCreate, nothing, switched("queue.receive", "duplicate", 2)},
	{"queue: deletions dropped", stepCreate, nothing, switched("queue.delete", "drop", 2)},
	{"Redis: answers to reserve lost", stepReserve, nothing, switched("redis.reserve", "lose-answer", 3)},
	{"Redis: ack refused", stepAck, nothing, switched("redis.ack", "refuse", 1)},
	{"Redis: answers to ack lost", stepAck, nothing, switched("redis.ack", "lose-answer", 2)},
	{"Redis: release refused", stepRelease, nothing, switched("redis.release", "refuse", 1)},
	{"Redis: answers to release lost", stepRelease, nothing, switched("redis.release", "lose-answer", 2)},
	{"workflows: starts refused", stepAny, nothing, switched(states.PointStart, "refuse", 1)},
	{"notices: answers of the topic lost", stepAny, nothing, switched(sns.PointPublish, "lose-answer", 2)},
	{"provider: tells late, and twice", stepAny, nothing, provides(map[string]any{"events": []map[string]any{{"status": "SUCCEEDED", "after": "20s", "times": 2}}})},
	{"provider: tells of a failure, then of a success", stepAny, nothing, provides(map[string]any{"events": []map[string]any{
		{"status": "FAILED", "after": "200ms"}, {"status": "SUCCEEDED", "after": "2s"}}})},
	{"provider: answers lost", stepAny, nothing, provides(map[string]any{"loseAnswers": 10,
		"events": []map[string]any{{"status": "SUCCEEDED", "after": "200ms"}}})},
}

// faultNamed finds a fault; nil when there is none of that name.
func faultNamed(name string) *fault {
	i := slices.IndexFunc(faults, func(f fault) bool { return f.name == name })
	if i < 0 {
		return nil
	}
	return &faults[i]
}

// faultNames lists the names of all faults.
func faultNames() []string {
	names := make([]string, len(faults))
	for i := range faults {
		names[i] = faults[i].name
	}
	return names
}

// How long faults last.
const (
	shortest = 1500 * time.Millisecond
	longest  = 5 * time.Second
)

func hold(random *rand.Rand) time.Duration {
	return shortest + time.Duration(random.Int64N(int64(longest-shortest)))
}

// kill ends instances of the functions, again and again.
func kill(names ...string) func(context.Context, *world, *rand.Rand) error {
	return func(ctx context.Context, w *world, random *rand.Rand) error {
		for end := time.Now().Add(hold(random)); time.Now().Before(end) && ctx.Err() == nil; {
			w.stack.Processes().Kill(names[random.IntN(len(names))])
			pause(ctx, 50*time.Millisecond+time.Duration(random.Int64N(int64(400*time.Millisecond))))
		}
		return nil
	}
}

// switched switches a fault point of the stack on for a while.
func switched(point, mode string, every int) func(context.Context, *world, *rand.Rand) error {
	return func(ctx context.Context, w *world, random *rand.Rand) error {
		if err := w.stack.Faults().Set(point, mode, every); err != nil {
			return err
		}
		pause(ctx, hold(random))
		w.stack.Faults().Clear()
		return nil
	}
}

// provides has the payment provider follow a plan for a while, and then do again what it does at first.
func provides(plan map[string]any) func(context.Context, *world, *rand.Rand) error {
	return func(ctx context.Context, w *world, random *rand.Rand) error {
		if err := w.ask(ctx, http.MethodPost, providerPlan, "", plan, nil); err != nil {
			return err
		}
		pause(ctx, hold(random))
		return w.ask(context.WithoutCancel(ctx), http.MethodPost, providerPlan, "", map[string]any{
			"events": []map[string]any{{"status": "SUCCEEDED", "after": "200ms"}}}, nil)
	}
}

const providerPlan = "/local/provider/plan"

// pick chooses a wire of the world.
type pick func(*world) *wire

func redisWire(w *world) *wire { return w.redis }
func dbWire(w *world) *wire    { return w.db }

// blackHole lets nothing through in either direction, and ends nothing.
func blackHole(of pick) func(context.Context, *world, *rand.Rand) error {
	return func(ctx context.Context, w *world, random *rand.Rand) error {
		one := of(w)
		if err := one.swallow("upstream", 1); err != nil {
			return err
		}
		if err := one.swallow("downstream", 1); err != nil {
			return err
		}
		pause(ctx, hold(random))
		return one.mend(context.WithoutCancel(ctx))
	}
}

// answersLost lets calls through and half of the connections' answers not.
func answersLost(of pick) func(context.Context, *world, *rand.Rand) error {
	return func(ctx context.Context, w *world, random *rand.Rand) error {
		one := of(w)
		if err := one.swallow("downstream", 0.5); err != nil {
			return err
		}
		pause(ctx, hold(random))
		return one.mend(context.WithoutCancel(ctx))
	}
}

// resets ends all connections several times.
func resets(of pick) func(context.Context, *world, *rand.Rand) error {
	return func(ctx context.Context, w *world, random *rand.Rand) error {
		for end := time.Now().Add(hold(random)); time.Now().Before(end) && ctx.Err() == nil; {
			if err := of(w).reset(); err != nil {
				return err
			}
			pause(ctx, time.Duration(random.Int64N(int64(300*time.Millisecond))))
		}
		return nil
	}
}

// unreachable has nothing listen where the queue was.
func unreachable(ctx context.Context, w *world, random *rand.Rand) error {
	w.queue.cut()
	pause(ctx, hold(random))
	return w.queue.mend(context.WithoutCancel(ctx))
}
