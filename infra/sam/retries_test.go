package sam

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"testing"
)

// serviceErrors are what Lambda itself may answer a workflow with, for a moment; its developer guide asks for all four to be retried.
var serviceErrors = []string{"Lambda.ServiceException", "Lambda.AWSLambdaException", "Lambda.SdkClientException", "Lambda.TooManyRequestsException"}

// retrier is one entry of a task's Retry.
type retrier struct {
	ErrorEquals    []string
	BackoffRate    float64
	MaxAttempts    int
	JitterStrategy string
}

// task is what this test wants to know of a state.
type task struct {
	Type           string
	TimeoutSeconds int
	Retry          []retrier
	Catch          []struct{ ErrorEquals []string }
}

// taskFaults says which tasks of a definition give up on what passes, wait in step with others, or fail unseen.
func taskFaults(states map[string]*task) (faults []string) {
	for name, state := range states {
		if state.Type != "Task" {
			continue
		}
		if state.TimeoutSeconds == 0 {
			faults = append(faults, name+" may hang")
		}
		for _, wanted := range append(serviceErrors, "States.Timeout") {
			i := slices.IndexFunc(state.Retry, func(r retrier) bool { return slices.Contains(r.ErrorEquals, wanted) })
			if i < 0 {
				faults = append(faults, fmt.Sprintf("%s does not retry %s", name, wanted))
			} else if r := state.Retry[i]; r.BackoffRate <= 1 || r.MaxAttempts < 3 || r.JitterStrategy != "FULL" {
				faults = append(faults, fmt.Sprintf("%s retries %s without backoff, jitter or patience", name, wanted))
			}
		}
		if !slices.ContainsFunc(state.Catch, func(c struct{ ErrorEquals []string }) bool {
			return slices.Equal(c.ErrorEquals, []string{"States.ALL"})
		}) {
			faults = append(faults, name+" ends the execution when it fails")
		}
	}
	sort.Strings(faults)
	return faults
}

func TestTasksRetryWhatPassesAndCatchTheRest(t *testing.T) {
	read := func() map[string]*task {
		text, err := os.ReadFile(filepath.Join(moduleRoot(), "infra/workflows/deposit.asl.json"))
		if err != nil {
			t.Fatal(err)
		}
		var definition struct{ States map[string]*task }
		if err := json.Unmarshal(text, &definition); err != nil {
			t.Fatal(err)
		}
		return definition.States
	}
	for _, fault := range taskFaults(read()) {
		t.Error(fault)
	}
	for name, plant := range map[string]func(*task){
		"no retry of the service's errors": func(s *task) { s.Retry = s.Retry[1:] },
		"one error less":                   func(s *task) { s.Retry[0].ErrorEquals = s.Retry[0].ErrorEquals[1:] },
		"all at once again":                func(s *task) { s.Retry[0].JitterStrategy = "NONE" },
		"no backoff":                       func(s *task) { s.Retry[0].BackoffRate = 1 },
		"no catch":                         func(s *task) { s.Catch = nil },
		"no timeout":                       func(s *task) { s.TimeoutSeconds = 0 },
	} {
		states := read()
		plant(states["Settle"])
		if len(taskFaults(states)) == 0 {
			t.Errorf("%s is not found", name)
		}
	}
}
