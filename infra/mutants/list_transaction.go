package mutants

const (
	checkoutTests = "shared/checkout"
	orderTests    = "shared/order"
)

// transactionMutants are defects of what is written into MySQL, and of what happens around a COMMIT.
func transactionMutants() []Mutant {
	return []Mutant{
		{
			Name: "ack-before-commit", Sentence: "acknowledge and commit are swapped: Redis is told of orders that may never be",
			File: "shared/checkout/create_orders.go",
			Old: `	out.told = len(fresh) > 0
	return out, nil`,
			New: `	out.told = len(fresh) > 0
	return out, c.Settle(ctx, out)`,
			Killers: []Suite{in(checkoutTests, "TestBatchWhoseCommitNeverArrivedIsDeliveredAgainAndNoTombstoneIsMade")},
		},
		{
			Name: "commit-repeated-blindly", Sentence: "a COMMIT without answer runs the transaction again",
			File: "shared/sqltx/run.go",
			Old: `		case errors.Is(err, ErrCommitUnclear):
			return err
`,
			New:     ``,
			Killers: []Suite{in("shared/sqltx", "TestCommitCutOffAfterItHappenedIsUnclearAndTheRowIsFoundByKey", "TestCommitErrorIsUnclearUnlessTheServerSaidNo")},
		},
		{
			Name: "commit-unclear-is-failure", Sentence: "a COMMIT without answer counts as one that did not happen, and is never looked up",
			File: "shared/checkout/create_orders.go",
			Old: `	if errors.Is(err, sqltx.ErrCommitUnclear) {
		return c.resolve(ctx, out, err)
	}
	return out, err`,
			New:     `	return out, err`,
			Killers: []Suite{in(checkoutTests, "TestBatchWhoseCommitStaysWithoutAnswerIsFoundAndDoneOnce")},
		},
		{
			Name: "commit-unclear-is-success", Sentence: "a COMMIT without answer counts as done though no row is there",
			File: "shared/checkout/resolve.go",
			Old: `			return Outcome{}, cause
`,
			New: `			row = *o
`,
			Killers: []Suite{in(checkoutTests, "TestBatchWhoseCommitNeverArrivedIsDeliveredAgainAndNoTombstoneIsMade")},
		},
		{
			Name: "claim-ignores", Sentence: "INSERT IGNORE: orders that break a rule are left out without a word",
			File:    "shared/order/claim.go",
			Old:     "claimHead     = `INSERT INTO trade_order (",
			New:     "claimHead     = `INSERT IGNORE INTO trade_order (",
			Killers: []Suite{in(orderTests, "TestClaimRefusesARowThatBreaksARule", "TestSeveralRowsThatBreakARuleAreRefusedAndNotLeftOut")},
		},
		{
			Name: "limit-ignores", Sentence: "INSERT IGNORE: users beyond their limit keep the figure that they had, and their orders",
			File:    "shared/order/limit.go",
			Old:     `INSERT INTO purchase_limit`,
			New:     `INSERT IGNORE INTO purchase_limit`,
			Killers: []Suite{in(orderTests, "TestHoldIsRefusedBeyondTheLimitAndGiveBackBelowZero", "TestSeveralRowsThatBreakARuleAreRefusedAndNotLeftOut")},
		},
		{
			Name: "dead-row-revived", Sentence: "a claim takes a known id over, so that a cancelled order is written again",
			File:    "shared/order/claim.go",
			Old:     `ON DUPLICATE KEY UPDATE id = id`,
			New:     `ON DUPLICATE KEY UPDATE batch_id = VALUES(batch_id)`,
			Killers: []Suite{in(orderTests, "TestClaimTellsItsOwnIDsFromKnownOnes"), in(checkoutTests, "TestReservationWithoutARowBecomesATombstoneThatStopsItsMessage")},
		},
		{
			Name: "tombstone-skipped", Sentence: "a reservation is cancelled without a row, and its message makes an order of it",
			File:    "shared/checkout/cancel.go",
			Old:     `o, err := c.tombstone(ctx, entry.Reservation, by.reason(), by.Wish, by.record)`,
			New:     `o, err := deadOrder(a, entry.Reservation, by.reason(), entry.Reservation.At), error(nil)`,
			Killers: []Suite{in(checkoutTests, "TestReservationWithoutARowBecomesATombstoneThatStopsItsMessage", "TestCancelAndCreateAtOnceEndInOneCancelledOrder")},
		},
		{
			Name: "closed-sale-sells", Sentence: "messages of a closed sale become orders",
			File:    "shared/checkout/create_orders.go",
			Old:     `case a.Status == sale.Closed, a.Status == sale.Cancelled, a.CancelledAt != nil:`,
			New:     `case a.Status == sale.Cancelled, a.CancelledAt != nil:`,
			Killers: []Suite{in(checkoutTests, "TestMessagesOfAClosedSaleBecomeCancelledOrdersAndTheirUnitsComeBack")},
		},
		{
			Name: "another-wish-already-done", Sentence: "an id that is known for another wish is reported as done",
			File:    "shared/checkout/create_orders.go",
			Old:     `case found && o.SameWish(m.ActivityID, m.UserID, m.TicketType, m.Quantity):`,
			New:     `case found:`,
			Killers: []Suite{in(checkoutTests, "TestIDThatIsKnownForAnotherWishIsPoisonAndNeverAlreadyDone")},
		},
		{
			Name: "bucket-gate-open", Sentence: "a bucket row that is short does not stop the transaction",
			File:    "shared/stock/buckets.go",
			Old:     `if got != int64(want) {`,
			New:     `if got > int64(want) {`,
			Killers: []Suite{in(stockTests, "TestBucketsChangeTogetherOrNotAtAll")},
		},
		{
			Name: "judge-favours-latecomers", Sentence: "who took units last in Redis keeps them when there are too few",
			File:    "shared/checkout/judge.go",
			Old:     `cmp.Compare(orders[a].Seq, orders[b].Seq)`,
			New:     `cmp.Compare(orders[b].Seq, orders[a].Seq)`,
			Killers: []Suite{in(checkoutTests, "TestWhoTookUnitsFirstInRedisKeepsThem")},
		},
		{
			Name: "limit-only-in-redis", Sentence: "the database's own limit is wider than the activity's",
			File:    "shared/checkout/create_orders.go",
			Old:     `limits[id] = a.PerUserLimit`,
			New:     `limits[id] = 2 * a.PerUserLimit`,
			Killers: []Suite{in(checkoutTests, "TestLimitThatRedisForgotIsKeptByMySQL")},
		},
		{
			Name: "sold-units-freed-as-frozen", Sentence: "cancelling a PAID order sets frozen units free in place of sold ones",
			File:    "shared/checkout/transaction.go",
			Old:     `buckets.Add(o.ActivityID, o.TicketType, o.Allocations, 0, -1)`,
			New:     `buckets.Add(o.ActivityID, o.TicketType, o.Allocations, -1, 0)`,
			Killers: []Suite{in(checkoutTests, "TestPaidOrderIsCancelledAsTheRefundRuleLeavesIt")},
		},
		{
			Name: "anybody-cancels", Sentence: "a user may cancel somebody else's order",
			File:    "shared/checkout/cancel.go",
			Old:     `by.Operator != nil || by.UserID == userID`,
			New:     `by.Operator != nil || by.UserID != ""`,
			Killers: []Suite{in(checkoutTests, "TestOrderOfSomebodyElseIsNotFound")},
		},
		{
			Name: "paid-money-kept", Sentence: "a user cancels a PAID order, and the payment is gone",
			File:    "shared/checkout/cancel.go",
			Old:     `if !due.IsZero() {`,
			New:     `if due.IsZero() {`,
			Killers: []Suite{in(checkoutTests, "TestPaidOrderIsCancelledAsTheRefundRuleLeavesIt")},
		},
	}
}
