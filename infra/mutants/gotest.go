package mutants

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// testLimit bounds the tests of one package, in minutes of go test's own clock. A mutant that makes them hang is noticed by that.
const testLimit = 4 * time.Minute

// outcome is what one run of go test said.
type outcome struct {
	passed    map[string]bool // "package Test", of whole tests
	failed    string          // the first "package Test" that failed; "" when none did
	hung      bool            // tests of a package did not end within testLimit
	unbuilt   bool            // something did not compile
	succeeded bool            // go test ended with 0
	tail      string          // the last lines of its output
}

// event is one line of go test -json, as far as it is read.
type event struct {
	Action, Package, Test, Output, FailedBuild string
}

// goTest runs the suites of one call in the module at root. overlay and env may be empty. It returns an error only when go itself
// could not run, or ctx has ended.
func goTest(ctx context.Context, root, overlay string, suites []Suite, env []string) (outcome, error) {
	args := []string{"test", "-json", "-vet=off", "-count=1", "-timeout=" + testLimit.String()}
	if overlay != "" {
		args = append(args, "-failfast", "-overlay="+overlay)
	}
	var names, packages []string
	for _, s := range suites {
		names = append(names, s.Tests...)
		packages = append(packages, "./"+s.Package)
	}
	args = append(append(args, "-run=^("+strings.Join(names, "|")+")$"), packages...)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = root, append(os.Environ(), env...)
	// The tests are grandchildren: the whole group has to go when this ends early.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 10 * time.Second
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	err := cmd.Run()
	if ctx.Err() != nil {
		return outcome{}, ctx.Err()
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return outcome{}, fmt.Errorf("mutants: go test: %w", err)
	}
	out, readErr := readOutcome(&said)
	out.succeeded = err == nil
	return out, readErr
}

// readOutcome reads what go test -json wrote; lines that are no JSON are go's own words.
func readOutcome(said io.Reader) (outcome, error) {
	out := outcome{passed: make(map[string]bool)}
	const kept = 30
	var tail []string
	lines := bufio.NewScanner(said)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			e = event{Action: "output", Output: lines.Text() + "\n"}
		}
		if e.Output != "" {
			tail = append(tail, e.Output)
			tail = tail[max(0, len(tail)-kept):]
		}
		name := strings.TrimPrefix(e.Package, modulePrefix) + " " + e.Test
		switch {
		case e.Action == "build-fail" || e.FailedBuild != "":
			out.unbuilt = true
		case strings.HasPrefix(e.Output, "panic: test timed out"):
			out.hung = true
		case e.Action == "fail" && e.Test != "" && out.failed == "":
			out.failed = name
		case e.Action == "pass" && e.Test != "" && !strings.Contains(e.Test, "/"):
			out.passed[name] = true
		}
	}
	out.tail = strings.Join(tail, "")
	return out, lines.Err()
}

// modulePrefix is cut off names of packages.
const modulePrefix = "holdfast/"
