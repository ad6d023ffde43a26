package mutants

// layerMutants are defects of the first two layers of repair, and of how a loss of Redis is noticed.
func layerMutants() []Mutant {
	return []Mutant{
		{
			Name: "failure-not-kept", Sentence: "what the first layer gives up is not written down for the second",
			File:    "shared/checkout/repair.go",
			Old:     `keepFailures(ctx, tx, t.failed, now)`,
			New:     `keepFailures(ctx, tx, t.failed[:0], now)`,
			Killers: []Suite{in(checkoutTests, "TestWhatRedisDoesNotTakeIsKeptOnceForTheSecondLayer")},
		},
		{
			Name: "release-believed", Sentence: "an order counts as released though Redis did not answer",
			File: "shared/checkout/settle.go",
			Old: `			t.fail([]order.Order{*o}, failedRelease, err)
			return
`,
			New: `			t.fail([]order.Order{*o}, failedRelease, err)
`,
			Killers: []Suite{in(checkoutTests, "TestRedisThatIsDownUndoesNoCommitAndIsLeftToRepair")},
		},
		{
			Name: "loss-not-reported", Sentence: "an order that Redis had lost is adopted, and nobody looks what else it lost",
			File: "shared/checkout/repair.go",
			Old: `		if err := stock.ReportLoss(ctx, tx, id, now); err != nil {
			return err
		}
`,
			New:     ``,
			Killers: []Suite{in(checkoutTests, "TestLiveOrderThatRedisHadLostIsAdoptedAndItsLossReportedOnce")},
		},
		{
			Name: "failure-never-retried", Sentence: "what the first layer gave up is never tried again",
			File:    "shared/reconcile/failures.go",
			Old:     `FROM compensation_fail WHERE status = 'OPEN' AND due_at <= ?`,
			New:     `FROM compensation_fail WHERE status = 'DONE' AND due_at <= ?`,
			Killers: []Suite{in(reconcileTests, "TestAcknowledgementThatFailedIsMadeUpForByTheNextPass")},
		},
		{
			Name: "failure-releases-the-living", Sentence: "a failure that was written down releases its order whatever it is by now",
			File:    "shared/reconcile/failures.go",
			Old:     `case page[i].kind == "RELEASE" && o.Status == order.Cancelled && o.ReleasedAt == nil:`,
			New:     `case page[i].kind == "RELEASE" && o.ReleasedAt == nil:`,
			Killers: []Suite{in(reconcileTests, "TestFailureNeverReleasesALiveOrder")},
		},
		{
			Name: "fifth-failure-untold", Sentence: "nobody is told of what failed five times",
			File:    "shared/reconcile/failures.go",
			Old:     `if finished || tries < alertAfter {`,
			New:     `if finished || tries > alertAfter {`,
			Killers: []Suite{in(reconcileTests, "TestFailureIsTriedAtLongerIntervalsAndTheFifthTimeAPersonIsTold")},
		},
		{
			Name: "paid-order-released", Sentence: "the minute pass gives back the units of PAID orders",
			File: "shared/order/overdue.go",
			Old: `WHERE status = 'CANCELLED' AND released_at IS NULL AND id > ?
 AND cancelled_at <= ?`,
			New: `WHERE status <> 'UNPAID' AND released_at IS NULL AND id > ?
 AND updated_at <= ?`,
			Killers: []Suite{in(reconcileTests, "TestMinutePassLeavesLiveOrdersAlone")},
		},
		{
			Name: "live-order-released", Sentence: "the sweep releases pending orders that are PAID already",
			File: "shared/reconcile/sweep.go",
			Old: `		case o.Status.Live():
			known.Live = append(known.Live, o)`,
			New: `		case o.Status == order.Unpaid:
			known.Live = append(known.Live, o)`,
			Killers: []Suite{in(reconcileTests, "TestMinutePassLeavesLiveOrdersAlone")},
		},
		{
			Name: "orphan-passed-over", Sentence: "the sweep passes over reservations that have no row",
			File:    "shared/reconcile/sweep.go",
			Old:     `case e.Found && e.HasTaken && e.Standing != stock.Dead:`,
			New:     `case e.Found && e.HasTaken && e.Standing == stock.Dead:`,
			Killers: []Suite{in(reconcileTests, "TestReservationThatWasNeverSentBecomesAnOrderAfterTheGrace")},
		},
		{
			Name: "lost-order-not-adopted", Sentence: "an order that only MySQL knows is not found by the minute pass",
			File:    "shared/reconcile/recent.go",
			Old:     `		if !entries[i].Found {`,
			New:     `		if !entries[i].Found && entries[i].HasTaken {`,
			Killers: []Suite{in(reconcileTests, "TestOrderThatOnlyMySQLKnowsIsAdoptedByTheNextPassAndItsLossReported")},
		},
		{
			Name: "rules-not-compared", Sentence: "rules that a failover took back stay as they are",
			File:    "shared/reconcile/compensate.go",
			Old:     `	if sameRules(a, s) {`,
			New:     `	if !sameRules(a, s) {`,
			Killers: []Suite{in(reconcileTests, "TestRulesThatRedisMissedAreAppliedByTheNextPass", "TestSuspensionThatAFailoverTookBackIsAppliedAgainByTheNextPass")},
		},
		{
			Name: "newer-rules-believed", Sentence: "rules in Redis that are newer than MySQL's are left alone, after MySQL came back from a backup",
			File:    "shared/reconcile/rules.go",
			Old:     `	if a.RulesVersion <= s.RulesVersion {`,
			New:     `	if a.RulesVersion < 0 {`,
			Killers: []Suite{in(reconcileTests, "TestRulesOfMySQLWinOverAnyThatRedisHas")},
		},
		{
			Name: "old-copy-believed", Sentence: "a set of an older epoch counts as loaded",
			File:    "shared/reconcile/activities.go",
			Old:     `return err == nil && s.State == stock.Open && s.Epoch == a.Epoch`,
			New:     `return err == nil && s.State == stock.Open`,
			Killers: []Suite{in(reconcileTests, "TestSetOfAnOlderEpochIsLoadedAgain")},
		},
		{
			Name: "facts-not-missed", Sentence: "a set whose facts alone are gone counts as loaded, whoever asks for it",
			File:    "shared/reconcile/activities.go",
			Old:     `	if errors.Is(err, stock.ErrNoFacts) {`,
			New:     `	if errors.Is(err, stock.ErrNoFacts) && a.ID == "" {`,
			Killers: []Suite{in(reconcileTests, "TestLossOfTheFactsAloneIsLoadedOnceSomebodyAsks")},
		},
		{
			Name: "run-id-not-checked", Sentence: "nobody notices that another run of the server has the set now",
			File:    "shared/reconcile/compensate.go",
			Old:     `	if err != nil || proven {`,
			New:     `	if err != nil || proven || activityID != "" {`,
			Killers: []Suite{in(reconcileTests, "TestAnotherRunOfTheServerAsksForAFullReconcile")},
		},
		{
			Name: "loaded-on-two-runs", Sentence: "a load that began on one run of the server is opened on the next, which lacks a part of it",
			File:    "lua/open_load.lua",
			Old:     `if r[3] ~= run then return {'OTHER_RUN'} end`,
			New:     ``,
			Killers: []Suite{in(stockTests, "TestLoadThatBeganOnAnotherRunIsNotOpened")},
		},
		{
			Name: "whole-on-another-run", Sentence: "a set is marked as proven whole under a run of the server that nobody looked at",
			File:    "lua/mark_whole.lua",
			Old:     `if ARGV[2] ~= run then return {'OTHER_RUN'} end`,
			New:     ``,
			Killers: []Suite{in(stockTests, "TestRunIsAnotherOneAfterARestartAndTheSetIsNotProvenUntilMarked")},
		},
	}
}
