package server

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"strings"
	"testing"
	"time"
)

func TestRunGivesTheCommandBothServersAndPassesItsStatusOn(t *testing.T) {
	t.Parallel()
	var out, errOut strings.Builder
	status, err := Run(t.Context(), &out, &errOut,
		[]string{"sh", "-c", `echo "$` + EnvTestRedis + ` $` + EnvTestMySQL + `"; echo told >&2; exit 7`}, TestEnv)
	if status != 7 || err != nil {
		t.Fatalf("status %d, %v; want 7", status, err)
	}
	addr, dsn, _ := strings.Cut(strings.TrimSpace(out.String()), " ")
	if !strings.HasPrefix(addr, "127.0.0.1:") || !strings.HasPrefix(dsn, "holdfast:") || errOut.String() != "told\n" {
		t.Fatalf("the command saw %q; on the error output stood %q", addr, errOut.String())
	}
	if c, err := net.Dial("tcp4", addr); err == nil {
		_ = c.Close()
		t.Error("the server outlived the command")
	}
}

func TestRunReportsACommandThatDoesNotExist(t *testing.T) {
	t.Parallel()
	status, err := Run(t.Context(), io.Discard, io.Discard, []string{"no-such-command-anywhere"}, TestEnv)
	if status != -1 || err == nil {
		t.Fatalf("status %d, %v", status, err)
	}
	if status, err := Run(t.Context(), io.Discard, io.Discard, nil, TestEnv); status != -1 || err == nil {
		t.Fatalf("no command: status %d, %v", status, err)
	}
}

func TestRunEndsTheCommandWithItsContext(t *testing.T) {
	t.Parallel()
	ready := scratchDir(t) + "/ready"
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		for {
			if _, err := os.Stat(ready); !errors.Is(err, fs.ErrNotExist) {
				cancel()
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	status, err := Run(ctx, io.Discard, io.Discard, []string{"sh", "-c", `touch "` + ready + `"; exec sleep 600`}, TestEnv)
	if status != 128+15 || err != nil {
		t.Fatalf("status %d, %v; want that of SIGTERM", status, err)
	}
}
