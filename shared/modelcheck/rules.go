package modelcheck

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

// longestTrace is what a person can still follow, in steps.
const longestTrace = 18

// Holds fails the test unless the protocol holds in every reachable state of every scenario.
func Holds[S any](t *testing.T, scenarios []S, name func(S) string, explore func(S) Result) {
	t.Helper()
	for _, s := range scenarios {
		t.Run(name(s), func(t *testing.T) {
			began := time.Now()
			r := explore(s)
			if r.Violation != "" {
				t.Fatalf("%s\n%s", r.Violation, strings.Join(r.Trace, "\n"))
			}
			t.Logf("%d states, settled from %d rests, %v", r.States, r.Settled, time.Since(began).Round(time.Millisecond))
		})
	}
}

// NeedsEveryRule fails the test unless some scenario goes wrong for each of the rules, a struct of bool fields that are all true, when that
// one alone is switched off.
func NeedsEveryRule[S, R any](t *testing.T, rules R, scenarios []S, name func(S) string, explore func(S, R) Result) {
	t.Helper()
	names := reflect.TypeFor[R]()
	for i := range names.NumField() {
		t.Run(names.Field(i).Name, func(t *testing.T) {
			without := rules
			field := reflect.ValueOf(&without).Elem().Field(i)
			if !field.Bool() {
				t.Fatal("the protocol does not follow this rule")
			}
			field.SetBool(false)
			for _, s := range scenarios {
				r := explore(s, without)
				if r.Violation == "" {
					continue
				}
				t.Logf("%s: %s\n  %s", name(s), r.Violation, strings.Join(r.Trace, "\n  "))
				if len(r.Trace) > longestTrace {
					t.Errorf("the trace has %d steps", len(r.Trace))
				}
				return
			}
			t.Error("nothing goes wrong without this rule")
		})
	}
}
