package model_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"holdfast/shared/waitlist/model"
)

// scenarios are walked through whole under the protocol's rules.
var scenarios = []model.Scenario{
	{Name: "two entries, two fillers", Second: true, Fillers: 2},
	{Name: "leaves between two fillers", Fillers: 2, Leaver: true, Pass: true},
	{Name: "the sets go back while one leaves", Fillers: 1, Leaver: true, Pass: true, Failover: true},
	{Name: "saving up, with lapses", Second: true, Pair: true, Fillers: 1, Lapses: true},
	{Name: "Redis offers what is sold", Fillers: 2, Forgotten: true},
	{Name: "a unit is free when they join", Second: true, Free: true, Fillers: 1, Pass: true},
	{Name: "two ticket types", Second: true, TwoTypes: true, Fillers: 1},
	{Name: "saving up for a pair", Second: true, Pair: true, Fillers: 2},
	{Name: "one leaves", Second: true, Fillers: 1, Leaver: true, Pass: true},
	{Name: "offers lapse and are accepted", Second: true, Fillers: 2, Lapses: true},
	{Name: "offers lapse under the minute pass", Second: true, Fillers: 1, Lapses: true, Pass: true},
	{Name: "the sets go back", Second: true, Fillers: 1, Pass: true, Failover: true},
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
