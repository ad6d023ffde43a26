package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// functionID is the function that is run, by its name in the template.
const functionID = "CreateOrdersFunction"

// stopTime is how long sam may take to remove its container when it is told to end.
const stopTime = 10 * time.Second

// invoke runs the function once and returns its answer. sam ends with 0 even when the function fails or times out, so the answer
// itself is judged: anything but a report without failures is an error, and holds what sam printed.
func invoke(ctx context.Context, o options, folder string, s *stores) (string, error) {
	dsn, err := s.containerDSN(ctx)
	if err != nil {
		return "", err
	}
	variables, err := json.Marshal(map[string]map[string]string{functionID: {
		"HOLDFAST_REDIS_ADDR": s.containerRedis(), "HOLDFAST_REDIS_CLUSTER": "false", "HOLDFAST_REDIS_TLS": "false",
		"HOLDFAST_REDIS_AUTH_SECRET": "none", "HOLDFAST_MYSQL_DSN": dsn,
		// Only a message that must be sent again or set aside goes to these, and nothing listens there.
		"HOLDFAST_ORDERS_QUEUE_URL": "http://127.0.0.1:9/orders", "HOLDFAST_DEAD_LETTER_QUEUE_URL": "http://127.0.0.1:9/dead-letters",
		"HOLDFAST_NOTICES_QUEUE_URL": "http://127.0.0.1:9/notices",
		"HOLDFAST_STATE_MACHINE_ARN": "arn:aws:states:us-east-1:000000000000:stateMachine:nowhere",
		"HOLDFAST_AWS_ENDPOINT":      "http://127.0.0.1:9",
	}})
	if err != nil {
		return "", err
	}
	file := filepath.Join(folder, "variables.json")
	if err := os.WriteFile(file, variables, 0o600); err != nil {
		return "", err
	}
	command := exec.CommandContext(ctx, o.sam, "local", "invoke", functionID, "--template", o.template, "--event", orderEvent,
		"--env-vars", file, "--skip-pull-image", "--invoke-image", o.image)
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = stopTime
	command.Env = append(os.Environ(), "SAM_CLI_TELEMETRY=0", "AWS_DEFAULT_REGION=us-east-1")
	var log bytes.Buffer
	command.Stderr = &log
	output, err := command.Output()
	answer, judged := judge(string(output))
	if err = errors.Join(err, judged); err != nil {
		return "", fmt.Errorf("%w\n%s", err, log.String())
	}
	return answer, nil
}

// judge reads what sam printed for an answer: one line of JSON, without failures.
func judge(output string) (string, error) {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	answer := strings.TrimSpace(lines[len(lines)-1])
	var report struct {
		Failures     []json.RawMessage `json:"batchItemFailures"`
		ErrorMessage *string           `json:"errorMessage"`
	}
	switch err := json.Unmarshal([]byte(answer), &report); {
	case err != nil:
		return "", fmt.Errorf("the function gave no answer, but %q", answer)
	case report.ErrorMessage != nil:
		return "", fmt.Errorf("the function failed: %s", answer)
	case len(report.Failures) != 0 || !strings.Contains(answer, "batchItemFailures"):
		return "", fmt.Errorf("the function reported failures: %s", answer)
	}
	return answer, nil
}
