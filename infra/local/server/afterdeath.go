package server

import (
	"os"
	"os/exec"
	"sync"
	"syscall"
)

// held keeps files reachable whose being open means that we live. The collector closes a file that nobody refers to, and
// with it goes the lock or the pipe.
var held sync.Map

// afterDeath leaves a shell behind that runs the script once this process is gone, however it ended: the shell waits for
// the end of a pipe whose other end only we hold. dismiss ends the shell without running the script.
func afterDeath(script string, args ...string) (dismiss func(), err error) {
	theirs, ours, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command("/bin/sh", append([]string{"-c", "read -r _; " + script, "sh"}, args...)...)
	cmd.Stdin = theirs
	cmd.Dir = "/"
	// Its own process group, so that Ctrl-C does not end it before its time.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err = cmd.Start()
	_ = theirs.Close()
	if err != nil {
		_ = ours.Close()
		return nil, err
	}
	held.Store(ours, nil)
	return func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = ours.Close()
		held.Delete(ours)
	}, nil
}
