package processes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"holdfast/infra/progress"
)

// buildTags are the tags of the deployed build, and the one that lets a function follow the stack's clock, which deployed code cannot.
const buildTags = "lambda.norpc,rehearsal"

// groups are the folders under functions/ whose functions run in a stack.
var groups = []string{"api", "queue", "schedule", "workflow"}

// ErrNoSource is returned where the module's source is not at hand.
var ErrNoSource = errors.New("the functions are built from their source: run this in the project's folder, with Go installed")

// SourceTree is the module's folder. It returns ErrNoSource outside of it.
func SourceTree(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Path}} {{.Dir}}").Output()
	dir, found := strings.CutPrefix(strings.TrimSpace(string(out)), "holdfast ")
	if err != nil || !found {
		return "", ErrNoSource
	}
	return dir, nil
}

// Build builds every function for this machine, as it is built for Lambda, and puts the binaries into dir under the functions' names.
// What has not changed since the last build is not built again. It shows its progress on out, and returns what the compiler said.
func Build(ctx context.Context, root, dir string, out io.Writer) error {
	shared := filepath.Join(root, "bin", "functions")
	if err := os.MkdirAll(shared, 0o700); err != nil {
		return err
	}
	release, err := takeTurn(filepath.Join(shared, ".lock"))
	if err != nil {
		return err
	}
	defer release()
	names, err := functionNames(root)
	if err != nil {
		return err
	}
	if err := compile(ctx, root, shared, len(names), out); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, name := range names {
		if err := takeOver(filepath.Join(shared, name), filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("the binary of %s: %w", name, err)
		}
	}
	return nil
}

// compile runs the compiler over all functions at once, so that what they share is compiled once.
func compile(ctx context.Context, root, into string, count int, out io.Writer) error {
	args := []string{"build", "-trimpath", "-buildvcs=false", "-tags", buildTags, "-ldflags=-s -w", "-o", into + string(filepath.Separator)}
	for _, group := range groups {
		args = append(args, "./functions/"+group+"/...")
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH)
	bar := progress.Bar(out, count, "building the functions")
	began := time.Now()
	stop := make(chan struct{})
	counted := make(chan struct{})
	go func() {
		defer close(counted)
		for {
			select {
			case <-stop:
				return
			case <-time.After(300 * time.Millisecond):
				_ = bar.Set(min(freshFiles(into, began), count-1)) // the last step is the end of the compiler
			}
		}
	}()
	said, err := cmd.CombinedOutput()
	close(stop)
	<-counted
	if err != nil {
		return fmt.Errorf("build the functions: %w\n%s", errors.Join(ctx.Err(), err), said)
	}
	_ = bar.Finish()
	return nil
}

// freshFiles counts the files of a folder that were written since an instant.
func freshFiles(dir string, since time.Time) int {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0
	}
	n := 0
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && !info.ModTime().Before(since) {
			n++
		}
	}
	return n
}

// takeOver gives a binary a second name that a later build, which writes a new file, does not touch: instances of one stack are all of
// one build.
func takeOver(from, to string) error {
	if err := os.Remove(to); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if os.Link(from, to) == nil {
		return nil
	}
	text, err := os.ReadFile(from) // another file system
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o700)
}

// functionNames lists the functions that run in a stack, by their folders.
func functionNames(root string) ([]string, error) {
	var names []string
	for _, group := range groups {
		entries, err := os.ReadDir(filepath.Join(root, "functions", group))
		if err != nil {
			return nil, err
		}
		for _, entry := range entries {
			names = append(names, entry.Name())
		}
	}
	return names, nil
}

// takeTurn waits for the file's lock, so that two builds do not write the same binaries at once.
func takeTurn(path string) (release func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		_ = file.Close()
		return nil, err
	}
	return func() { _ = file.Close() }, nil
}
