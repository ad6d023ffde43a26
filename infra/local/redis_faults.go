package local

import (
	"context"
	"io"
	"net"
	"slices"
	"syscall"

	"github.com/redis/go-redis/v9"

	"holdfast/infra/local/sqs"
	"holdfast/lua"
)

// What can go wrong with a script call: refused before it was sent, run with its answer lost, or no answer at all.
const (
	modeRefuse     = string(sqs.Refuse)
	modeLoseAnswer = string(sqs.LoseAnswer)
	modeHang       = string(sqs.Hang)
)

// redisPoints lists one fault point for each script.
func redisPoints() []string {
	var points []string
	for _, script := range lua.All() {
		points = append(points, "redis."+script.Name)
	}
	slices.Sort(points)
	return points
}

// redisFaults is the hook that makes script calls fail as the faults say.
type redisFaults struct {
	faults *Faults
	names  map[string]string // SHA-1 -> script name
}

func newRedisFaults(faults *Faults) *redisFaults {
	h := &redisFaults{faults: faults, names: make(map[string]string)}
	for _, script := range lua.All() {
		h.names[script.SHA] = script.Name
	}
	return h
}

// DialHook leaves dialling alone.
func (h *redisFaults) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook strikes at EVALSHA calls of the scripts.
func (h *redisFaults) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		name := h.scriptOf(cmd)
		if name == "" {
			return next(ctx, cmd)
		}
		switch string(h.faults.Next("redis." + name)) {
		case modeRefuse:
			err := &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
			cmd.SetErr(err)
			return err
		case modeLoseAnswer:
			_ = next(ctx, cmd) // it takes effect; whatever it answers is lost
			cmd.SetErr(io.EOF)
			return io.EOF
		case modeHang:
			<-ctx.Done()
			cmd.SetErr(ctx.Err())
			return ctx.Err()
		}
		return next(ctx, cmd)
	}
}

// ProcessPipelineHook leaves pipelines alone: the scripts that matter are called one by one.
func (h *redisFaults) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (h *redisFaults) scriptOf(cmd redis.Cmder) string {
	if cmd.Name() != "evalsha" || len(cmd.Args()) < 2 {
		return ""
	}
	sha, _ := cmd.Args()[1].(string)
	return h.names[sha]
}
