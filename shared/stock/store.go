package stock

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"holdfast/lua"
)

// Store is the Redis side of the stock. It holds no state besides its client and is safe for use by many goroutines.
type Store struct {
	rdb    redis.UniversalClient
	offset func() time.Duration
}

// New makes a Store. offset is added to the clock of Redis wherever a script reads it; nil means none, as in production.
func New(rdb redis.UniversalClient, offset func() time.Duration) *Store {
	if offset == nil {
		offset = func() time.Duration { return 0 }
	}
	return &Store{rdb: rdb, offset: offset}
}

// offsetMs is the clock's offset as scripts take it.
func (s *Store) offsetMs() string { return strconv.FormatInt(s.offset().Milliseconds(), 10) }

// once keeps go-redis from sending a command again by itself: a cluster client would do that after a lost answer even with
// MaxRetries -1. Redirects are still followed, for a redirect ran nothing.
type once struct{ *redis.Cmd }

// NoRetry tells go-redis so.
func (once) NoRetry() bool { return true }

// run runs a script: args are what its header numbers singly, more is what it repeats. EVAL follows EVALSHA only when Redis said
// that it does not know the script, so nothing runs twice. It returns ErrUnavailable or ErrNoAnswer.
func (s *Store) run(ctx context.Context, script *lua.Script, keys []string, args []any, more ...any) (any, error) {
	if err := spent(ctx); err != nil {
		return nil, err
	}
	cmd := command(ctx, "evalsha", script.SHA, keys, args, more)
	err := s.rdb.Process(ctx, once{cmd})
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		cmd = command(ctx, "eval", script.Source, keys, args, more)
		err = s.rdb.Process(ctx, once{cmd})
	}
	if err != nil {
		return nil, classify(err)
	}
	return cmd.Val(), nil
}

func command(ctx context.Context, verb, script string, keys []string, args, more []any) *redis.Cmd {
	line := make([]any, 0, 3+len(keys)+len(args)+len(more))
	line = append(line, verb, script, len(keys))
	for _, key := range keys {
		line = append(line, key)
	}
	line = append(line, args...)
	return redis.NewCmd(ctx, append(line, more...)...)
}

// answer is a script's tuple: a word, then what belongs to it.
type answer []any

// tuple reads a script's answer; it returns ErrNotLoaded for that word, and ErrBadReply for what is no tuple.
func tuple(script *lua.Script, reply any, err error) (answer, error) {
	if err != nil {
		return nil, err
	}
	list, ok := reply.([]any)
	if !ok || len(list) == 0 {
		return nil, badReply(script, reply)
	}
	if list[0] == "NOT_LOADED" {
		return nil, ErrNotLoaded
	}
	return list, nil
}

// word is the first element.
func (a answer) word() string { return a.text(0) }

// text is the i-th element as a string; "" for nil, for a missing one, and for what is no string.
func (a answer) text(i int) string {
	if i >= len(a) {
		return ""
	}
	text, _ := a[i].(string)
	return text
}

// badReply shows the shape of a reply, never its content, which may name a user.
func badReply(script *lua.Script, reply any) error {
	if list, ok := reply.([]any); ok {
		return fmt.Errorf("%w: %s.lua: %d elements", ErrBadReply, script.Name, len(list))
	}
	return fmt.Errorf("%w: %s.lua: %T", ErrBadReply, script.Name, reply)
}
