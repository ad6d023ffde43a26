package server

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

func startRedis(t *testing.T, o RedisOptions) *Process {
	t.Helper()
	if o.Dir == "" {
		o.Dir = scratchDir(t)
	}
	p, err := Redis(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return p
}

func clientOf(t *testing.T, p *Process) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: p.Addr, MaxRetries: -1, DialerRetries: 1})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestRedisKeepsNothingAndEvictsNothing(t *testing.T) {
	t.Parallel()
	p := startRedis(t, RedisOptions{Args: []string{"--maxmemory", "7mb"}})
	c := clientOf(t, p)
	for name, want := range map[string]string{
		"save": "", "appendonly": "no", "maxmemory-policy": "noeviction", "bind": "127.0.0.1", "maxmemory": "7340032",
	} {
		if got := c.ConfigGet(t.Context(), name).Val()[name]; got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if err := c.Set(t.Context(), "k", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if err := p.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(p.Dir())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if f.Name() != "redis.log" && f.Name() != "lock" {
			t.Errorf("a stopped server left %s", f.Name())
		}
	}
}

func TestRedisStopsKillsAndRestartsOnTheSamePort(t *testing.T) {
	t.Parallel()
	p := startRedis(t, RedisOptions{})
	c := clientOf(t, p)
	for name, end := range map[string]func(){
		"Stop": func() {
			if err := p.Stop(t.Context()); err != nil {
				t.Error(err)
			}
		},
		"Kill": p.Kill,
	} {
		before, done := p.PID(), p.Done()
		end()
		select {
		case <-done:
		default:
			t.Fatalf("%s returned before the server had ended", name)
		}
		if p.Running() || processLives(before) {
			t.Fatalf("the server lives after %s", name)
		}
		if err := c.Ping(t.Context()).Err(); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Fatalf("after %s: %v, want connection refused", name, err)
		}
		if err := p.Stop(t.Context()); err != nil {
			t.Fatalf("stopping a stopped server: %v", err)
		}
		if err := p.Restart(t.Context()); err != nil {
			t.Fatalf("restart after %s: %v", name, err)
		}
		if err := c.Ping(t.Context()).Err(); err != nil || p.PID() == before {
			t.Fatalf("after the restart: %v, process id %d, before %d", err, p.PID(), before)
		}
	}
}

func TestRedisThatDoesNotHeedStopIsKilled(t *testing.T) {
	t.Parallel()
	p := startRedis(t, RedisOptions{})
	if err := p.Pause(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := p.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v, want the context's deadline", err)
	}
	if p.Running() {
		t.Fatal("the server still runs")
	}
	if err := p.Wait(t.Context()); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Fatalf("Wait says %v, want that it was killed", err)
	}
}

func TestRedisPausedAnswersOnlyAfterResume(t *testing.T) {
	t.Parallel()
	p := startRedis(t, RedisOptions{})
	c := clientOf(t, p)
	if err := p.Pause(); err != nil {
		t.Fatal(err)
	}
	answered := make(chan error, 1)
	go func() { answered <- c.Ping(t.Context()).Err() }()
	select {
	case err := <-answered:
		t.Fatalf("a paused server answered: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	if err := p.Resume(); err != nil {
		t.Fatal(err)
	}
	if err := <-answered; err != nil {
		t.Fatal(err)
	}
}

func TestAskedPortThatIsTakenIsRefusedWithAdvice(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := taken.Addr().(*net.TCPAddr).Port
	_, redisErr := Redis(t.Context(), RedisOptions{Dir: scratchDir(t), Port: port})
	_, mariaErr := MariaDB(t.Context(), MariaDBOptions{Dir: scratchDir(t), Port: port})
	for _, err := range []error{redisErr, mariaErr} {
		if !errors.Is(err, ErrPortTaken) || !strings.Contains(err.Error(), "ask for another port") {
			t.Errorf("got %v", err)
		}
	}
}

func TestPortLostBetweenTheLookAndTheBindIsRecognised(t *testing.T) {
	t.Parallel()
	// The extra --port wins over the free one that was chosen: the servers meet a taken port, as in a lost race.
	first := startRedis(t, RedisOptions{})
	taken := first.Addr[strings.LastIndex(first.Addr, ":")+1:]
	_, redisErr := Redis(t.Context(), RedisOptions{Dir: scratchDir(t), Args: []string{"--port", taken}})
	_, mariaErr := MariaDB(t.Context(), MariaDBOptions{Dir: scratchDir(t), Args: []string{"--port=" + taken}})
	for _, err := range []error{redisErr, mariaErr} {
		if !errors.Is(err, ErrPortTaken) {
			t.Errorf("got %v, want ErrPortTaken", err)
		}
	}
}

func TestServerThatCannotStartSaysWhyAndLeavesNothingRunning(t *testing.T) {
	t.Parallel()
	dir := scratchDir(t)
	_, err := Redis(t.Context(), RedisOptions{Dir: dir, Args: []string{"--maxmemory", "nonsense"}})
	if err == nil || !strings.Contains(err.Error(), "nonsense") || !strings.Contains(err.Error(), filepath.Join(dir, "redis.log")) {
		t.Fatalf("got %v; want the server's own words and the name of its log", err)
	}
}

// processLives says whether a process with this id exists.
func processLives(pid int) bool { return syscall.Kill(pid, 0) == nil }
