package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"holdfast/infra/local/server"
	"holdfast/infra/progress"
)

// The runtime interface emulator of Lambda, and the folder that it is built into, once.
const (
	emulator        = "github.com/aws/aws-lambda-runtime-interface-emulator/cmd/aws-lambda-rie"
	emulatorVersion = "v0.0.0-20261030222936-bef5c4ba774d"
	toolsVariable   = "HOLDFAST_TOOLS"
	toolsDefault    = ".tools"
)

// fullStarts is how often the binary is started; the first start, which reads it from the disk, does not count.
const fullStarts = 11

// measureStart starts the binary of reserve-ticket under the emulator.
func measureStart(ctx context.Context, o Options, starts int) ([]Figure, error) {
	root, err := sourceTree(ctx)
	if err != nil {
		return nil, err
	}
	rie, err := installEmulator(ctx, root, o)
	if err != nil {
		return nil, err
	}
	binary, err := buildFunction(ctx, root, "reserve-ticket", runtime.GOARCH, o.Dir)
	if err != nil {
		return nil, err
	}
	event, err := os.ReadFile(filepath.Join(root, "infra", "events", "reserve-ticket.json"))
	if err != nil {
		return nil, err
	}
	bar := progress.Bar(o.Out, starts, "starts of reserve-ticket")
	defer func() { _ = bar.Finish() }()
	var took []float64
	for i := range starts {
		ms, err := startOnce(ctx, rie, binary, event)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			took = append(took, ms)
		}
		_ = bar.Add(1)
	}
	return []Figure{{Key: "init_ms", Title: fmt.Sprintf("INIT of reserve-ticket under the runtime emulator, on %s", runtime.GOARCH),
		Value: median(took), Unit: "ms", Target: Target{atMost, 25}}}, nil
}

// installEmulator returns the emulator's path, after building it when the tools' folder does not have it.
func installEmulator(ctx context.Context, root string, o Options) (string, error) {
	folder := os.Getenv(toolsVariable)
	if folder == "" {
		folder = filepath.Join(root, toolsDefault)
	}
	folder, err := filepath.Abs(filepath.Join(folder, "bin"))
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, "aws-lambda-rie-"+emulatorVersion)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	fmt.Fprintln(o.Out, "building aws-lambda-rie, once …")
	cmd := exec.CommandContext(ctx, "go", "install", emulator+"@"+emulatorVersion)
	cmd.Env = append(os.Environ(), "GOBIN="+folder, "GOFLAGS=")
	if said, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build aws-lambda-rie: %w\n%s", err, said)
	}
	return path, os.Rename(filepath.Join(folder, "aws-lambda-rie"), path)
}

// startOnce starts the emulator, has it start the binary for one event, and returns how long the binary took until it asked for
// work, in ms. No store has to be there: the binary connects to none before its first event, whose answer then is a refusal.
func startOnce(ctx context.Context, rie, binary string, event []byte) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	front, err := server.FreePort()
	if err != nil {
		return 0, err
	}
	back, err := server.FreePort()
	if err != nil {
		return 0, err
	}
	var said lockedBuffer
	cmd := exec.CommandContext(ctx, rie, "--runtime-interface-emulator-address", fmt.Sprintf("127.0.0.1:%d", front),
		"--runtime-api-address", fmt.Sprintf("127.0.0.1:%d", back), binary)
	cmd.Dir, cmd.Stderr, cmd.Stdout = filepath.Dir(binary), &said, io.Discard
	// The emulator hands its whole environment on, so it gets no more than a function in Lambda would have.
	cmd.Env = []string{"AWS_LAMBDA_FUNCTION_NAME=reserve-ticket", "AWS_LAMBDA_FUNCTION_TIMEOUT=10", "AWS_REGION=us-east-1",
		"AWS_ACCESS_KEY_ID=local", "AWS_SECRET_ACCESS_KEY=local", "HOLDFAST_REDIS_ADDR=127.0.0.1:1",
		"HOLDFAST_MYSQL_DSN=user:password@tcp(127.0.0.1:1)/holdfast", "HOLDFAST_ORDERS_QUEUE_URL=http://127.0.0.1:1/orders"}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	defer func() { _ = cmd.Wait() }() // it was told to end
	defer cancel()
	if err := invoke(ctx, fmt.Sprintf("http://127.0.0.1:%d/2015-03-31/functions/function/invocations", front), event); err != nil {
		return 0, fmt.Errorf("%w; the emulator said:\n%s", err, said.String())
	}
	return initMilliseconds(said.String())
}

// invoke sends the event as soon as the emulator listens. The answer must be one of our function.
func invoke(ctx context.Context, url string, event []byte) error {
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(event))
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(request)
		if errors.Is(err, syscall.ECONNREFUSED) {
			time.Sleep(20 * time.Millisecond)
			continue
		}
		if err != nil {
			return err
		}
		answer, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err == nil && !bytes.Contains(answer, []byte(`"statusCode"`)) {
			err = fmt.Errorf("reserve-ticket answered %s", answer)
		}
		return err
	}
}

var initReport = regexp.MustCompile(`INIT REPORT\(durationMs: ([0-9.]+)\)`)

// initMilliseconds finds the duration of the start in what the emulator logs. "Init Duration" in its REPORT line is something else.
func initMilliseconds(log string) (float64, error) {
	found := initReport.FindStringSubmatch(log)
	if found == nil {
		return 0, fmt.Errorf("the emulator reported no INIT:\n%s", log)
	}
	return strconv.ParseFloat(found[1], 64)
}

// lockedBuffer is read while a process still writes to it.
type lockedBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
