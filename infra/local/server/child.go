package server

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// Child is a program that dies with this process. Its methods may be called from several goroutines.
type Child struct {
	process *os.Process
	done    chan struct{} // closed once the process was waited for
	err     error         // what Wait said; read it after done
}

// StartChild starts the command in a process group of its own: Ctrl-C in a terminal must reach us first, so that we stop our children
// in our order. The kernel sends the parent-death signal when the *thread* that forked ends, not the process; therefore one goroutine
// keeps its thread from the fork until the child is gone. It returns the errors of exec.
func StartChild(cmd *exec.Cmd) (*Child, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieWithParent(cmd.SysProcAttr)
	c := &Child{done: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := cmd.Start(); err != nil {
			started <- err
			return
		}
		c.process = cmd.Process
		dismiss, err := killAfterUs(cmd.Process.Pid)
		if err != nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			started <- err
			return
		}
		started <- nil
		c.err = cmd.Wait()
		dismiss()
		close(c.done)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return c, nil
}

// PID is the child's process id.
func (c *Child) PID() int { return c.process.Pid }

// Done is closed when the child has ended, by whatever cause.
func (c *Child) Done() <-chan struct{} { return c.done }

// Kill ends the child at once (SIGKILL) and returns when it is gone.
func (c *Child) Kill() {
	_ = c.process.Kill()
	<-c.done
}

// Err says how the child has ended, once Done is closed: nil for exit status 0.
func (c *Child) Err() error { return c.err }
