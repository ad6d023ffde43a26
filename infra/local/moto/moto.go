// Package moto starts moto's server, a simulation of AWS by other people, for tests that run one table against ours and theirs.
package moto

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"
)

// program serves moto on a free loopback port until its standard input ends, so that it does not outlive a test run that was killed.
const program = `
import os, sys, threading
threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
from moto.server import main
main(["-H", "127.0.0.1", "-p", "0"])
`

// Start starts a server, installing moto when it is missing, and answers where it listens and how to stop it. env is added to its
// environment.
func Start(env ...string) (endpoint string, stop func(), err error) {
	_, here, _, _ := runtime.Caller(0)
	install := exec.Command("sh", filepath.Join(filepath.Dir(here), "..", "sqs", "moto.sh"))
	install.Stderr = os.Stderr
	python, err := install.Output()
	if err != nil {
		return "", nil, fmt.Errorf("install moto: %w", err)
	}
	cmd := exec.Command(strings.TrimSpace(string(python)), "-u", "-c", program)
	cmd.Env = append(append(os.Environ(), "TZ=UTC", "AWS_ACCESS_KEY_ID=local", "AWS_SECRET_ACCESS_KEY=local"), env...)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return "", nil, err
	}
	output, err := cmd.StderrPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	stop = func() {
		_ = stdin.Close()
		_ = cmd.Process.Kill() // by its own id; it may have ended already
		_ = cmd.Wait()
	}
	found := make(chan string, 1)
	go func() {
		running := regexp.MustCompile(`Running on (http://127\.0\.0\.1:\d+)`)
		var said []string
		lines := bufio.NewScanner(output)
		for lines.Scan() {
			said = append(said, lines.Text())
			if m := running.FindStringSubmatch(lines.Text()); m != nil {
				found <- m[1]
				said = nil
			}
		}
		found <- "ended: " + strings.Join(said, "\n")
	}()
	select {
	case line := <-found:
		if !strings.HasPrefix(line, "http") {
			stop()
			return "", nil, fmt.Errorf("moto %s", line)
		}
		return line, stop, nil
	case <-time.After(60 * time.Second):
		stop()
		return "", nil, fmt.Errorf("moto did not say within 60 s where it runs")
	}
}
