package states

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// ErrDefinition is returned for a definition that this package does not run; its text says where and why.
var ErrDefinition = errors.New("states: bad definition")

// definition is a state machine as it is written.
type definition struct {
	Comment string
	StartAt string
	States  map[string]*state
}

// state holds the fields of all types of states; fields says which of them a type may have.
type state struct {
	Type    string
	Comment string
	Next    string

	TimestampPath string // Wait
	SecondsPath   string

	Resource       string // Task
	Parameters     any    // Task, Pass: an object in which a member "x.$" is filled by a path
	ResultSelector any
	ResultPath     string // "" = "$", the result is all that goes on
	TimeoutSeconds int
	Retry          []*retrier
	Catch          []*catcher

	Choices []*choice // Choice
	Default string

	Error string // Fail
	Cause string
}

// retrier says which errors of a task are tried again, and when.
type retrier struct {
	ErrorEquals     []string
	IntervalSeconds float64
	BackoffRate     float64
	MaxAttempts     int
	MaxDelaySeconds float64
	JitterStrategy  string // FULL or NONE
}

// catcher says where an error leads that is not tried again.
type catcher struct {
	ErrorEquals []string
	ResultPath  string
	Next        string
}

// choice is one rule, or the condition of one.
type choice struct {
	And             []*choice
	Variable        string
	StringEquals    *string
	NumericLessThan *json.Number
	Next            string
}

// fields are what a state of a type may and must (true) have besides Type and Comment.
var fields = map[string]map[string]bool{
	"Wait": {"Next": true, "TimestampPath": false, "SecondsPath": false},
	"Task": {"Next": true, "Resource": true, "Parameters": true, "ResultSelector": false, "ResultPath": false,
		"TimeoutSeconds": true, "Retry": false, "Catch": false},
	"Choice":  {"Choices": true, "Default": true},
	"Pass":    {"Next": true, "Parameters": true},
	"Succeed": {},
	"Fail":    {"Error": true, "Cause": true},
}

// invokeResource is the only thing that a task does here.
const invokeResource = "arn:aws:states:::lambda:invoke"

// parse reads a definition. It returns ErrDefinition.
func parse(text []byte) (*definition, error) {
	var d definition
	if err := strictly(text, &d); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDefinition, err)
	}
	var raw struct {
		States map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(text, &raw); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDefinition, err)
	}
	var faults []error
	if d.States[d.StartAt] == nil {
		faults = append(faults, fmt.Errorf("%w: StartAt names no state", ErrDefinition))
	}
	for name, s := range d.States {
		for _, fault := range append(fieldFaults(s.Type, raw.States[name]), d.faultsOf(s)...) {
			faults = append(faults, fmt.Errorf("%w: %s: %s", ErrDefinition, name, fault))
		}
	}
	return &d, errors.Join(faults...)
}

// strictly decodes JSON; members that nobody reads are an error, and numbers stay as they are written.
func strictly(text []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	decoder.UseNumber()
	return decoder.Decode(into)
}

func fieldFaults(kind string, given map[string]json.RawMessage) (faults []string) {
	allowed, known := fields[kind]
	if !known {
		return []string{fmt.Sprintf("states of type %q are not run here", kind)}
	}
	for field := range given {
		if _, fine := allowed[field]; !fine && field != "Type" && field != "Comment" {
			faults = append(faults, "a "+kind+" has no "+field+" here")
		}
	}
	for field, must := range allowed {
		if must && given[field] == nil {
			faults = append(faults, field+" is missing")
		}
	}
	return faults
}

// faultsOf looks at what the fields say: targets that exist, paths and numbers that can be read.
func (d *definition) faultsOf(s *state) (faults []string) {
	target := func(name string) {
		if d.States[name] == nil {
			faults = append(faults, fmt.Sprintf("there is no state %q to go to", name))
		}
	}
	path := func(text string) {
		if _, err := parsePath(text); err != nil {
			faults = append(faults, err.Error())
		}
	}
	if fields[s.Type]["Next"] {
		target(s.Next)
	}
	switch s.Type {
	case "Wait":
		if (s.TimestampPath == "") == (s.SecondsPath == "") {
			return append(faults, "a wait has either TimestampPath or SecondsPath")
		}
		path(s.TimestampPath + s.SecondsPath)
	case "Choice":
		target(s.Default)
		for _, c := range s.Choices {
			target(c.Next)
			faults = append(faults, c.faults()...)
		}
	case "Task":
		faults = append(faults, taskFaults(s, target)...)
	}
	for _, template := range []any{s.Parameters, s.ResultSelector} {
		if template != nil {
			faults = append(faults, templateFaults(template)...)
		}
	}
	return faults
}

func (c *choice) faults() (faults []string) {
	if c.And != nil {
		for _, part := range c.And {
			faults = append(faults, part.faults()...)
		}
		return faults
	}
	if (c.StringEquals == nil) == (c.NumericLessThan == nil) {
		faults = append(faults, "a condition is StringEquals or NumericLessThan, or And of such")
	}
	if _, err := parsePath(c.Variable); err != nil {
		faults = append(faults, err.Error())
	}
	return faults
}

func taskFaults(s *state, target func(string)) (faults []string) {
	if s.Resource != invokeResource {
		faults = append(faults, "a task can only be "+invokeResource)
	}
	if s.TimeoutSeconds < 1 {
		faults = append(faults, "TimeoutSeconds is below 1")
	}
	for _, r := range s.Retry {
		if r.IntervalSeconds < 1 || r.BackoffRate < 1 || r.MaxAttempts < 1 || r.MaxDelaySeconds <= r.IntervalSeconds ||
			!slices.Contains([]string{"FULL", "NONE"}, r.JitterStrategy) || len(r.ErrorEquals) == 0 {
			faults = append(faults, "a retrier needs ErrorEquals, IntervalSeconds, BackoffRate and MaxAttempts from 1, MaxDelaySeconds above the interval, and a JitterStrategy")
		}
	}
	for _, c := range s.Catch {
		target(c.Next)
		if len(c.ErrorEquals) == 0 {
			faults = append(faults, "a catcher needs ErrorEquals")
		}
		if err := resultPathFault(c.ResultPath); err != nil {
			faults = append(faults, err.Error())
		}
	}
	if err := resultPathFault(s.ResultPath); err != nil {
		faults = append(faults, err.Error())
	}
	return faults
}
