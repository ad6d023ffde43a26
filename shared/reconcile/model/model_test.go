package model_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"holdfast/shared/reconcile/model"
)

// scenarios are walked through whole under the protocol's rules.
var scenarios = []model.Scenario{
	{Name: "rivals and a cancellation", Rival: true, Canceller: true, Compensator: true, Reconciler: true},
	{Name: "Redis wiped", Rival: true, Canceller: true, Loaders: 1, Wipe: true},
	{Name: "Redis wiped, two loaders", Canceller: true, Loaders: 2, Wipe: true},
	{Name: "Redis wiped under repair", Canceller: true, Compensator: true, Reconciler: true, Loaders: 1, Wipe: true},
	{Name: "failover to an older copy", Rival: true, Canceller: true, Compensator: true, Failover: true},
	{Name: "failover under repair", Canceller: true, Compensator: true, Reconciler: true, Failover: true},
	{Name: "failover to a copy that was being loaded", Canceller: true, Compensator: true, Reconciler: true, Loaders: 1, Unloaded: true,
		Failover: true},
}

func TestTheProtocolHoldsInEveryReachableState(t *testing.T) {
	for _, sc := range scenarios {
		t.Run(sc.Name, func(t *testing.T) {
			began := time.Now()
			r := model.Explore(sc, model.Protocol())
			if r.Violation != "" {
				t.Fatalf("%s\n%s", r.Violation, strings.Join(r.Trace, "\n"))
			}
			t.Logf("%d states, settled from %d states of the stores, %v", r.States, r.Settled, time.Since(began).Round(time.Millisecond))
		})
	}
}

// longestTrace is what a person can still follow.
const longestTrace = 18

func TestWithoutAnyOneOfItsRulesTheProtocolFails(t *testing.T) {
	names := reflect.TypeFor[model.Rules]()
	for i := range names.NumField() {
		t.Run(names.Field(i).Name, func(t *testing.T) {
			rules := model.Protocol()
			field := reflect.ValueOf(&rules).Elem().Field(i)
			if !field.Bool() {
				t.Fatal("the protocol does not follow this rule")
			}
			field.SetBool(false)
			for _, sc := range scenarios {
				r := model.Explore(sc, rules)
				if r.Violation == "" {
					continue
				}
				t.Logf("%s: %s\n  %s", sc.Name, r.Violation, strings.Join(r.Trace, "\n  "))
				if len(r.Trace) > longestTrace {
					t.Errorf("the trace has %d steps", len(r.Trace))
				}
				return
			}
			t.Error("nothing goes wrong without this rule")
		})
	}
}
