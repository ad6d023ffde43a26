package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// startLimit bounds a start whose context has no deadline. A busy machine may need long to recover a large log.
const startLimit = 90 * time.Second

// bindAttempts is how many free ports are tried when the caller leaves the choice to us.
const bindAttempts = 8

// ErrPortTaken says that the port that was asked for belongs to another program.
var ErrPortTaken = errors.New("port is taken")

// errExited marks a server that ended before it was ready.
var errExited = errors.New("it ended before it was ready")

// spec is all that is needed to start one kind of server, and to start it again.
type spec struct {
	name    string // for messages: "redis-server"
	program string // absolute path
	dir     string // the server's own folder, absolute
	logFile string // absolute; the program's output is appended too
	args    func(port int) []string
	// ready returns nil once the server with this process id answers real requests. It is called until it does.
	ready func(ctx context.Context, port, pid int) error
}

// Process is one server. Its methods may be called from several goroutines.
type Process struct {
	// Addr is "127.0.0.1:port". It stays the same over Restart.
	Addr string
	// Port is the port of Addr.
	Port int

	spec spec
	mu   sync.Mutex
	run  *Child
}

// launch starts a server on the port, or on a free one when port is 0, and waits until it is ready.
func launch(ctx context.Context, s spec, port int) (*Process, error) {
	if port != 0 {
		if !portFree(port) {
			return nil, fmt.Errorf("%s cannot listen on 127.0.0.1:%d: %w: stop the program that uses it, or ask for another port (0 picks a free one)", s.name, port, ErrPortTaken)
		}
		return launchOn(ctx, s, port)
	}
	var err error
	for range bindAttempts {
		var free int
		if free, err = FreePort(); err != nil {
			return nil, err
		}
		var p *Process
		if p, err = launchOn(ctx, s, free); err == nil {
			return p, nil
		}
		// Between our look and the server's bind another process may have been faster.
		if !errors.Is(err, ErrPortTaken) {
			return nil, err
		}
	}
	return nil, err
}

func launchOn(ctx context.Context, s spec, port int) (*Process, error) {
	p := &Process{Addr: "127.0.0.1:" + strconv.Itoa(port), Port: port, spec: s}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.start(ctx); err != nil {
		return nil, err
	}
	return p, nil
}

// start begins a new life and waits until it is ready; p.mu is held. On an error nothing is left running.
func (p *Process) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	logFrom := fileSize(p.spec.logFile)
	r, err := p.spawn()
	if err != nil {
		return fmt.Errorf("start %s: %w", p.spec.name, err)
	}
	err = p.awaitReady(ctx, r)
	if err == nil {
		p.run = r
		return nil
	}
	r.Kill()
	said := logTail(p.spec.logFile, logFrom)
	if strings.Contains(said, "Address already in use") {
		err = fmt.Errorf("127.0.0.1:%d: %w", p.Port, ErrPortTaken)
	}
	return fmt.Errorf("start %s: %w; its log %s ends with:\n%s", p.spec.name, err, p.spec.logFile, said)
}

// spawn starts the program.
func (p *Process) spawn() (*Child, error) {
	out, err := os.OpenFile(p.spec.logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	cmd := exec.Command(p.spec.program, p.spec.args(p.Port)...)
	cmd.Dir = p.spec.dir
	cmd.Stdout, cmd.Stderr = out, out
	return StartChild(cmd)
}

func (p *Process) awaitReady(ctx context.Context, r *Child) error {
	for {
		err := p.spec.ready(ctx, p.Port, r.process.Pid)
		if err == nil {
			return nil
		}
		select {
		case <-r.done:
			return errExited
		case <-ctx.Done():
			return fmt.Errorf("not ready in time: %w", errors.Join(ctx.Err(), err))
		case <-time.After(15 * time.Millisecond):
		}
	}
}

func (p *Process) current() *Child {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.run
}

// PID is the process id of the latest start.
func (p *Process) PID() int { return p.current().PID() }

// Dir is the server's own folder.
func (p *Process) Dir() string { return p.spec.dir }

// Done is closed when the server of the latest start has ended, by whatever cause. Restart makes a new channel.
func (p *Process) Done() <-chan struct{} { return p.current().done }

// Running says whether the server is alive.
func (p *Process) Running() bool {
	select {
	case <-p.Done():
		return false
	default:
		return true
	}
}

// Wait blocks until the server has ended and returns how (nil for exit status 0), or until ctx is done.
func (p *Process) Wait(ctx context.Context) error {
	r := p.current()
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Stop asks the server to end (SIGTERM) and kills it when ctx is done before it has. It returns nil once the server is gone
// by its own will, and an error when it had to be killed. Stopping a stopped server is fine.
func (p *Process) Stop(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stop(ctx)
}

func (p *Process) stop(ctx context.Context) error {
	select {
	case <-p.run.done:
		return nil
	default:
	}
	_ = p.run.process.Signal(syscall.SIGTERM)
	select {
	case <-p.run.done:
		return nil
	case <-ctx.Done():
		p.run.Kill()
		return fmt.Errorf("stop %s: killed: %w", p.spec.name, ctx.Err())
	}
}

// Kill ends the server at once (SIGKILL), as a crash would, and returns when it is gone.
func (p *Process) Kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.run.Kill()
}

// Pause stops the server's clock (SIGSTOP): connections stay open and nothing is answered. Resume ends it.
func (p *Process) Pause() error { return p.current().process.Signal(syscall.SIGSTOP) }

// Resume undoes Pause.
func (p *Process) Resume() error { return p.current().process.Signal(syscall.SIGCONT) }

// Restart starts the server again in the same folder and on the same port, after stopping it when it still runs. It
// returns once the server is ready. A Redis comes back empty, a MariaDB with what it had committed.
func (p *Process) Restart(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.stop(ctx); err != nil {
		return err
	}
	return p.start(ctx)
}
