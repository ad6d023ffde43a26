package mutants

const reconcileTests = "shared/reconcile"

// loadingMutants are defects of keys, of the fold, and of how a set is built anew.
func loadingMutants() []Mutant {
	return []Mutant{
		{
			Name: "hash-tag-forgotten", Sentence: "the keys of an activity lie on several slots",
			File:    "shared/stock/keys.go",
			Old:     `keys{tag: "hf:{" + activityID + "}:"}`,
			New:     `keys{tag: "hf:" + activityID + ":"}`,
			Killers: []Suite{in(stockTests, "TestEveryScriptWorksInAClusterForEveryLegalLookingId")},
		},
		{
			Name: "script-sent-twice", Sentence: "the client of a cluster repeats a script whose answer was lost",
			File:    "shared/stock/store.go",
			Old:     `func (once) NoRetry() bool { return true }`,
			New:     `func (once) NoRetry() bool { return false }`,
			Killers: []Suite{in(stockTests, "TestClusterClientSendsNoSecondTimeAfterALostAnswer")},
		},
		{
			Name: "fold-clamped", Sentence: "the fold clamps at zero and hides what was sold twice",
			File: "shared/stock/fold.go",
			Old: `t.Left += units
		types[ticketType] = t`,
			New: `t.Left = max(0, t.Left+units)
		types[ticketType] = t`,
			Killers: []Suite{in(stockTests, "TestFoldCountsEachMovementOnceInAnyOrder")},
		},
		{
			Name: "fold-ignores-the-dead", Sentence: "the fold counts reservations that have died",
			File:    "shared/stock/fold.go",
			Old:     `case KindDead, KindMarked:`,
			New:     `case KindMarked:`,
			Killers: []Suite{in(stockTests, "TestFoldCountsEachMovementOnceInAnyOrder")},
		},
		{
			Name: "foreign-epoch-adopted", Sentence: "a loader whose time is over goes on adopting into the set of the next",
			File:    "lua/adopt.lua",
			Old:     `if epoch ~= ARGV[1] then return {'EPOCH', epoch} end`,
			New:     ``,
			Killers: []Suite{in(stockTests, "TestOnlyTheLatestLoaderMayWrite")},
		},
		{
			Name: "adopt-revives", Sentence: "loading writes over the entry of an order that has died meanwhile",
			File:    "lua/adopt.lua",
			Old:     `if not (fresh[field] or call('HGET', log, field)) then`,
			New:     `if not fresh[field] then`,
			Killers: []Suite{in(stockTests, "TestLoadingRebuildsTheSetFromWhatMySQLKnows", "TestReleaseAndAcknowledgeWorkWhileLoading")},
		},
		{
			Name: "dead-orders-not-loaded", Sentence: "a load leaves cancelled ids out, so that their keys buy again",
			File:    "shared/reconcile/load.go",
			Old:     `page.Dead = append(page.Dead, stock.DeadMark{OrderID: o.ID, UserID: o.UserID, Reason: string(o.Reason)})`,
			New:     `_ = stock.DeadMark{OrderID: o.ID}`,
			Killers: []Suite{in(reconcileTests, "TestLoadAfterALossKnowsEveryOrderAdjustmentAndBuyer")},
		},
		{
			Name: "open-by-an-old-loader", Sentence: "a loader whose time is over opens the half-built set of the next",
			File:    "lua/open_load.lua",
			Old:     `if epoch ~= ARGV[1] then return {'EPOCH', epoch} end`,
			New:     ``,
			Killers: []Suite{in(stockTests, "TestOnlyTheLatestLoaderMayWrite")},
		},
		{
			Name: "old-epoch-begins", Sentence: "a loader with an old epoch throws away the set of a newer one",
			File:    "lua/begin_load.lua",
			Old:     `if stands and (tonumber(stands) or 0) >= epoch + 0 then return {'EPOCH', stands} end`,
			New:     ``,
			Killers: []Suite{in(stockTests, "TestOnlyTheLatestLoaderMayWrite")},
		},
		{
			Name: "epoch-for-everybody", Sentence: "two loaders that read the same epoch both get the next one",
			File:    "shared/catalog/mysql.go",
			Old:     `updated_at = ? WHERE activity_id = ? AND epoch = ?`,
			New:     `updated_at = ? WHERE activity_id = ? AND epoch >= ?`,
			Killers: []Suite{in("shared/catalog", "TestEpochRisesOnceForOneOfManyLoaders")},
		},
		{
			Name: "queue-not-awaited", Sentence: "a load opens before the orders in the queue have come, and new buyers overtake them",
			File:    "shared/reconcile/load.go",
			Old:     `	r.awaitQueue(ctx)`,
			New:     ``,
			Killers: []Suite{in(reconcileTests, "TestOrderThatArrivesWhileLoadingComesBeforeNewBuyers")},
		},
		{
			Name: "lease-taken-while-held", Sentence: "a lease is given away though its holder still works",
			File:    "shared/sqltx/lease.go",
			Old:     `WHERE name = ? AND expires_at <= ?`,
			New:     `WHERE name = ? AND expires_at >= ?`,
			Killers: []Suite{in(reconcileTests, "TestLeaseIsGivenToOneAtATime", "TestLoadersAtOnceLeaveOneWholeSet")},
		},
	}
}
