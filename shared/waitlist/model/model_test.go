package model_test

import (
	"testing"

	"holdfast/shared/modelcheck"
	"holdfast/shared/waitlist/model"
)

// scenarios are walked through whole under the protocol's rules.
var scenarios = []model.Scenario{
	{Name: "two entries, two fillers", Second: true, Fillers: 2},
	{Name: "two taps of one who can buy or leaves", Free: true, Fillers: 1, Leaver: true, Taps: true},
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
	modelcheck.Holds(t, scenarios, name, func(sc model.Scenario) modelcheck.Result { return model.Explore(sc, model.Protocol()) })
}

func TestWithoutAnyOneOfItsRulesTheProtocolFails(t *testing.T) {
	modelcheck.NeedsEveryRule(t, model.Protocol(), scenarios, name, model.Explore)
}

func name(sc model.Scenario) string { return sc.Name }
