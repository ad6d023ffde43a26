package model_test

import (
	"testing"

	"holdfast/shared/modelcheck"
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
	modelcheck.Holds(t, scenarios, name, func(sc model.Scenario) modelcheck.Result { return model.Explore(sc, model.Protocol()) })
}

func TestWithoutAnyOneOfItsRulesTheProtocolFails(t *testing.T) {
	modelcheck.NeedsEveryRule(t, model.Protocol(), scenarios, name, model.Explore)
}

func name(sc model.Scenario) string { return sc.Name }
