package mapping_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-lambda-go/lambda"

	"holdfast/infra/local/mapping"
)

// echo answers its event; the answer is long, so that a mix-up shows.
func echo() lambda.Handler {
	return lambda.NewHandler(func(_ context.Context, event string) (string, error) { return strings.Repeat(event, 50), nil })
}

// foreign counts the answers of 16 goroutines that are not their own event's.
func foreign(h lambda.Handler) int64 {
	var wrong atomic.Int64
	var all sync.WaitGroup
	for g := range 16 {
		all.Go(func() {
			event := fmt.Sprintf("(%d)", g)
			payload, want := []byte(`"`+event+`"`), `"`+strings.Repeat(event, 50)+`"`
			for range 2000 {
				answer, err := h.Invoke(context.Background(), payload)
				if err != nil || string(answer) != want {
					wrong.Add(1)
				}
			}
		})
	}
	all.Wait()
	return wrong.Load()
}

func TestEachCallerGetsTheAnswerToItsOwnEvent(t *testing.T) {
	t.Parallel()
	var made atomic.Int64
	h := mapping.NewInstances(func() lambda.Handler { made.Add(1); return echo() })
	if n := foreign(h); n != 0 {
		t.Errorf("%d answers were another's", n)
	}
	if n := made.Load(); n < 1 || n > 16 {
		t.Errorf("%d instances for 16 callers", n)
	}
}

// scratch answers each event out of one buffer, as a handler of the Lambda library may.
type scratch struct{ buffer [8]byte }

func (s *scratch) Invoke(_ context.Context, event []byte) ([]byte, error) {
	return s.buffer[:copy(s.buffer[:], event)], nil
}

func TestAnAnswerOutlivesTheNextInvocation(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		handler lambda.Handler
		lives   bool
	}{
		"an instance's":               {mapping.NewInstances(func() lambda.Handler { return &scratch{} }), true},
		"not that of a plain handler": {&scratch{}, false},
	} {
		first, _ := c.handler.Invoke(t.Context(), []byte("first"))
		_, _ = c.handler.Invoke(t.Context(), []byte("other"))
		if lives := string(first) == "first"; lives != c.lives {
			t.Errorf("%s: the first answer became %q", name, first)
		}
	}
}

func TestAnInstanceThatPanickedIsNotUsedAgain(t *testing.T) {
	t.Parallel()
	made := 0
	h := mapping.NewInstances(func() lambda.Handler {
		made++
		return lambda.NewHandler(func(_ context.Context, event string) error {
			if event == "die" {
				panic("no")
			}
			return nil
		})
	})
	invoke := func(event string) (panicked bool) {
		defer func() { panicked = recover() != nil }()
		_, _ = h.Invoke(t.Context(), []byte(`"`+event+`"`))
		return false
	}
	first, second := invoke("live"), invoke("live")
	if first || second || made != 1 {
		t.Errorf("%d instances for two events, one after the other", made)
	}
	if !invoke("die") || invoke("live") || made != 2 {
		t.Errorf("%d instances after one died", made)
	}
}
