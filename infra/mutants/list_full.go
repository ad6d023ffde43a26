package mutants

// fullMutants are defects of the full reconcile, of what a person does about differences, and of what proves that all is well.
func fullMutants() []Mutant {
	return []Mutant{
		{
			Name: "counter-overwritten", Sentence: "a counter that nothing explains is written over, and nobody hears of it",
			File: "shared/reconcile/full.go",
			Old: `func (p *pass) counterDiffers(subject string, counter, log int) {
`,
			New: `func (p *pass) counterDiffers(subject string, counter, log int) {
	_, _ = p.r.stock.CorrectCounter(context.Background(), p.a.ID, stock.Counter{TicketType: subject, Bucket: -1}, log-counter, 1, p.shot.Epoch)
`,
			Killers: []Suite{in(reconcileTests, "TestCounterThatDriftedIsFoundBySchedulesAndLeftAsItIs")},
		},
		{
			Name: "difference-suppressed", Sentence: "differences are found and not written down",
			File: "shared/reconcile/full.go",
			Old: `	p.found = kept
`,
			New: `	p.found = kept[:0]
`,
			Killers: []Suite{in(reconcileTests, "TestEveryInjectedCounterAndBucketIsFoundAndCorrectedByItsAction")},
		},
		{
			Name: "full-fold-clamped", Sentence: "the fold of the full reconcile clamps at zero and hides what was sold twice",
			File:    "shared/reconcile/log_index.go",
			Old:     `		t.Left += units`,
			New:     `		t.Left = max(0, t.Left+units)`,
			Killers: []Suite{in(reconcileTests, "TestFoldOfTheFullReconcileGoesBelowZero")},
		},
		{
			Name: "fold-beyond-its-seq", Sentence: "the fold counts what was taken after the counters were read",
			File:    "shared/reconcile/log_index.go",
			Old:     `return e.flags&isTaken != 0 && e.flags&takenLate == 0 && (`,
			New:     `return e.flags&isTaken != 0 && (`,
			Killers: []Suite{in(reconcileTests, "TestFoldLeavesOutWhatLiesBehindItsSeq")},
		},
		{
			Name: "epoch-not-compared-again", Sentence: "what was read of two lives of a set is believed",
			File:    "shared/reconcile/full.go",
			Old:     `	if run != p.run || shot.Epoch != p.shot.Epoch || shot.State != stock.Open {`,
			New:     `	if run == "" && shot.Epoch == 0 {`,
			Killers: []Suite{in(reconcileTests, "TestWhatWasReadOfTwoLivesIsThrownAway")},
		},
		{
			Name: "dry-run-mends", Sentence: "a dry run does what it was only to list",
			File:    "shared/reconcile/judge.go",
			Old:     `	if p.x.run.Mode == Repairing {`,
			New:     `	if p.x.run.Mode != "" {`,
			Killers: []Suite{in(reconcileTests, "TestEveryInjectedLossIsMended")},
		},
		{
			Name: "contradiction-ignored", Sentence: "an order that is live in MySQL and dead in Redis is nobody's business",
			File: "shared/reconcile/judge.go",
			Old: `	case e.Standing == stock.Dead:
		j.finding = pairFinding(LiveButDead, row.ID, e, row)
`,
			New: `	case e.Standing == stock.Dead:
`,
			Killers: []Suite{in(reconcileTests, "TestEveryInjectedDifferenceIsFoundAndNoneIsMended")},
		},
		{
			Name: "lost-row-made-again", Sentence: "an order whose row was deleted is made anew, though other tables know it",
			File:    "shared/reconcile/judge.go",
			Old:     `		case traces[j.id]:`,
			New:     `		case traces[j.id] && !mayCreate:`,
			Killers: []Suite{in(reconcileTests, "TestEveryInjectedDifferenceIsFoundAndNoneIsMended")},
		},
		{
			Name: "sale-goes-on-in-contradiction", Sentence: "a sale goes on while MySQL contradicts itself about what is left",
			File:    "shared/reconcile/full.go",
			Old:     `suspend = suspend || f.kind.withinMySQL()`,
			New:     `suspend = suspend && f.kind.withinMySQL()`,
			Killers: []Suite{in(reconcileTests, "TestEveryInjectedDifferenceIsFoundAndNoneIsMended")},
		},
		{
			Name: "moved-and-passed-over", Sentence: "a sale whose counters drifted counts as not moved",
			File:    "shared/reconcile/last_consistent.go",
			Old:     ` && bytes.Equal(figures, l.figures[:]) && p.shot.Run == p.run`,
			New:     ` && bytes.Equal(figures, figures) && p.shot.Run == p.run`,
			Killers: []Suite{in(reconcileTests, "TestCounterThatDriftedIsFoundBySchedulesAndLeftAsItIs")},
		},
		{
			Name: "run-taken-from-the-living", Sentence: "a run is taken from a runner who is at it",
			File:    "shared/reconcile/run_mysql.go",
			Old:     `(status = 'QUEUED' OR (status = 'RUNNING' AND updated_at <= ?))`,
			New:     `(status = 'QUEUED' OR (status = 'RUNNING' AND updated_at > ?))`,
			Killers: []Suite{in(reconcileTests, "TestPassesAtOnceAndOneKilledMidwayMendEachOrphanOnce", "TestRunThatDiedIsTakenUpAndOneThatLivesIsNot")},
		},
		{
			Name: "correction-twice", Sentence: "a correction of a counter that is asked for again moves it again",
			File:    "lua/correct_counter.lua",
			Old:     `if r[4] and r[4] + 0 >= ARGV[3] + 0 then return {'ALREADY'} end`,
			New:     ``,
			Killers: []Suite{in(stockTests, "TestCorrectionMovesTheCounterOnceAndOnlyInItsOwnEpoch")},
		},
		{
			Name: "changed-difference-resolved", Sentence: "a difference that has changed since it was read is acted upon",
			File: "shared/reconcile/resolve.go",
			Old: `	case d.Revision != w.Revision:
		return d, ErrDifferenceChanged
`,
			New:     ``,
			Killers: []Suite{in(reconcileTests, "TestDifferenceThatChangedSinceItWasReadIsNotActedUpon")},
		},
		{
			Name: "redriven-twice", Sentence: "a dead letter that was sent again is sent again each time",
			File:    "shared/reconcile/redrive.go",
			Old:     `l.RedrivenAt == nil {`,
			New:     `l != nil {`,
			Killers: []Suite{in(apiTests, "TestARedriveIsSafeToRepeat")},
		},
		{
			Name: "certificate-always-passes", Sentence: "a certificate says PASS whatever its equations say",
			File:    "shared/reconcile/certificate/certificate.go",
			Old:     `one.Verdict, c.Verdict = Fail, Fail`,
			New:     `one.Verdict = Fail`,
			Killers: []Suite{in("shared/reconcile/certificate", "TestEachEquationFindsItsErrorInTheStoresAndNamesIt")},
		},
		{
			Name: "checker-off-by-one", Sentence: "the checker allows every user one unit above the limit",
			File:    "shared/reconcile/invariant/equations.go",
			Old:     `if held[o.userID] > r.limit {`,
			New:     `if held[o.userID] > r.limit+1 {`,
			Killers: []Suite{in("shared/reconcile/invariant", "TestEachEquationFindsItsPlantedErrorAndNamesIt")},
		},
		{
			Name: "lost-promise-kept", Sentence: "a promised order that both stores have lost counts as kept",
			File:    "shared/reconcile/invariant/journal.go",
			Old:     `case w.Answer == Promised && (!known || !w.is(row, logged)):`,
			New:     `case w.Answer == Promised && known && !w.is(row, logged):`,
			Killers: []Suite{in("shared/reconcile/invariant", "TestAJournalTellsLostPhantomAndRecoveredOrders")},
		},
	}
}
