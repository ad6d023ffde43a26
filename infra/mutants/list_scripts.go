package mutants

const stockTests = "shared/stock"

// scriptMutants are defects of what one script does to a set that sells.
func scriptMutants() []Mutant {
	return []Mutant{
		{
			Name: "replay-forgotten", Sentence: "the dedupe is dropped: a repeated wish takes units again",
			File:    "lua/reserve.lua",
			Old:     `if known[2] then return {'REPLAY', known[2], known[3], known[4], call('ZSCORE', pending, order)} end`,
			New:     ``,
			Killers: []Suite{in(stockTests, "TestReplayAnswersTheFirstReservationAndChangesNothing", "TestOneIdAtOnceFromManySidesTakesOnce")},
		},
		{
			Name: "limit-off-by-one", Sentence: "a user may hold one unit more than the limit",
			File:    "lua/reserve.lua",
			Old:     `if held + wanted > limit + 0 then`,
			New:     `if held + wanted > limit + 1 then`,
			Killers: []Suite{in(stockTests, "TestLimitCountsAllLiveOrdersOfAUser")},
		},
		{
			Name: "closing-late", Sentence: "the window closes a millisecond late",
			File:    "lua/reserve.lua",
			Old:     `if now >= closes * 1000 then`,
			New:     `if now >= closes * 1000 + 1000 then`,
			Killers: []Suite{in(stockTests, "TestWindowIsKeptToTheMillisecond")},
		},
		{
			Name: "rest-of-a-bucket-lost", Sentence: "a bucket that gives a part of what it has is emptied",
			File:    "lua/reserve.lua",
			Old:     `if units > need then units, count, rest = need, need, units - need end`,
			New:     `if units > need then units, count = need, need end`,
			Killers: []Suite{in(stockTests, "TestBucketsAreCombinedAllOrNothing")},
		},
		{
			Name: "pending-mark-dropped", Sentence: "a reservation is not marked pending, so that no repair can find it",
			File:    "lua/reserve.lua",
			Old:     `call('ZADD', pending, stamp or seq, order) -- first, because pending is the one key whose type no read has proved`,
			New:     ``,
			Killers: []Suite{in(stockTests, "TestTakenUnitsLeaveCountersAndStandInLogMarkAndPending")},
		},
		{
			Name: "seq-falls", Sentence: "the sequence number follows the clock alone, and falls with it",
			File:    "lua/reserve.lua",
			Old:     `if now >= seq then seq = now else`,
			New:     `seq = now if now < seq then`,
			Killers: []Suite{in(stockTests, "TestSeqRisesWhileTheClockGoesBack")},
		},
		{
			Name: "release-twice", Sentence: "a second release gives the units back again",
			File:    "lua/release.lua",
			Old:     `if known[3] or quantity == '0' then`,
			New:     `if quantity == '0' then`,
			Killers: []Suite{in(stockTests, "TestReleaseGivesBackWhatTheLogSaysOnceForEver")},
		},
		{
			Name: "release-by-arguments", Sentence: "release takes the owner from its caller in place of the log",
			File:    "lua/release.lua",
			Old:     `quantity, kind, alloc, user = string.match(entry, '^%d+ (%d+) %-?%d+ (%S+) (%S+) (.+)$')`,
			New:     `quantity, kind, alloc = string.match(entry, '^%d+ (%d+) %-?%d+ (%S+) (%S+) (.+)$')`,
			Killers: []Suite{in(stockTests, "TestReleaseGivesBackWhatTheLogSaysOnceForEver")},
		},
		{
			Name: "release-before-move", Sentence: "release gives back the allocation of the taking, though MySQL has moved it",
			File:    "lua/release.lua",
			Old:     `alloc = known[4] and string.match(known[4], '^%d+ (%S+)$') or alloc`,
			New:     ``,
			Killers: []Suite{in(stockTests, "TestOrderThatMySQLAllocatedOtherwiseIsMovedOnce", "TestReleaseGivesBackWhatTheLogSaysOnceForEver")},
		},
		{
			Name: "dead-marker-skipped", Sentence: "an unknown id gets no dead marker, so that who comes late revives it",
			File:    "lua/release.lua",
			Old:     `call('HSET', log, order, seq .. ' 0 0 ' .. reason .. ' - ' .. user)`,
			New:     ``,
			Killers: []Suite{in(stockTests, "TestUnknownIdGetsADeadMarkerThatGivesNothing")},
		},
		{
			Name: "held-figure-kept", Sentence: "release gives the units back and leaves them on the buyer",
			File:    "lua/release.lua",
			Old:     `local held = string.sub(mark, 1, -18) - quantity`,
			New:     `local held = string.sub(mark, 1, -18)`,
			Killers: []Suite{in(stockTests, "TestUserMayBuyAgainAfterRelease")},
		},
		{
			Name: "ack-without-epoch", Sentence: "acknowledgements write into a set of which a part is lost",
			File:    "lua/ack.lua",
			Old:     `if not epoch or call('HGET', log, '#') ~= epoch or call('HGET', buyers, '#') ~= epoch then`,
			New:     `if not epoch then`,
			Killers: []Suite{in(stockTests, "TestMissingSetIsNotLoadedAndNothingIsWritten", "TestPartOfTheSetLostMeansNotLoadedAndNothingIsTaken")},
		},
		{
			Name: "ack-revives", Sentence: "an acknowledgement takes an id that has died for alive",
			File:    "lua/ack.lua",
			Old:     `if taken == '0' or look('x' .. order) then return 'DEAD' end`,
			New:     ``,
			Killers: []Suite{in(stockTests, "TestDeadOrdersAndContradictionsChangeNothing")},
		},
		{
			Name: "log-overwritten", Sentence: "a move overwrites the entry of the taking",
			File:    "lua/ack.lua",
			Old:     `write('m' .. order, alloc)`,
			New:     `write(order, quantity .. ' -1 ' .. kind .. ' ' .. alloc .. ' ' .. user)`,
			Killers: []Suite{in(stockTests, "TestOrderThatMySQLAllocatedOtherwiseIsMovedOnce")},
		},
		{
			Name: "ack-keeps-pending", Sentence: "an acknowledged order stays pending for ever",
			File:    "lua/ack.lua",
			Old:     `if #settled > 0 then call('ZREM', pending, unpack(settled)) end`,
			New:     ``,
			Killers: []Suite{in(stockTests, "TestAcknowledgedOrderIsPendingNoMoreAndNothingElseChanges")},
		},
		{
			Name: "cache-downward", Sentence: "a slow writer puts an order back to where it was",
			File:    "lua/cache_order.lua",
			Old:     `rank > ARGV[1] or`,
			New:     ``,
			Killers: []Suite{in(stockTests, "TestCachedOrderOnlyMovesForward")},
		},
		{
			Name: "old-rules-applied", Sentence: "older rules replace newer ones, so that a stopped sale goes on",
			File:    "lua/change_rules.lua",
			Old:     `if r[2] + 0 >= ARGV[1] + 0 then return {'OLDER', r[2]} end`,
			New:     ``,
			Killers: []Suite{in(stockTests, "TestOlderRulesNeverReplaceNewerOnes")},
		},
		{
			Name: "undone-adjustment-redone", Sentence: "an adjustment that was taken back is made again",
			File:    "lua/adjust_stock.lua",
			Old:     `if known[3] then return {'UNDONE'} end`,
			New:     ``,
			Killers: []Suite{in(stockTests, "TestUndoneAdjustmentStaysUndone", "TestAdjustmentThatComesAfterItsUndoingChangesNothing")},
		},
		{
			Name: "grace-ignored", Sentence: "a reservation of this moment counts as one that was left behind",
			File:    "lua/list_pending.lua",
			Old:     `ARGV[4] * 1000, ARGV[2] * 1000`,
			New:     `ARGV[4] * 1000, 0`,
			Killers: []Suite{in(stockTests, "TestPendingEntriesAreListedOldestFirstByPagesAndGrace")},
		},
	}
}
