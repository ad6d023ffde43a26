package mutants

// passMutants are defects of the passes that expire, and of adjustments.
func passMutants() []Mutant {
	return []Mutant{
		{
			Name: "deadline-not-reached", Sentence: "an order whose deadline is this instant does not expire",
			File:    "shared/order/overdue.go",
			Old:     "WHERE status = 'UNPAID' AND pay_deadline <= ?\n AND pay_deadline >= ?",
			New:     "WHERE status = 'UNPAID' AND pay_deadline < ?\n AND pay_deadline >= ?",
			Killers: []Suite{in(orderTests, "TestOverdueTakesADeadlineThatIsReachedAndPassesOverLockedRows")},
		},
		{
			Name: "paid-order-expires", Sentence: "expiry takes orders that were paid after they were listed",
			File:    "shared/order/overdue.go",
			Old:     "` AND status = 'UNPAID' AND pay_deadline <= ? ORDER BY id FOR UPDATE SKIP LOCKED`",
			New:     "` AND status <> 'CANCELLED' AND pay_deadline <= ? ORDER BY id FOR UPDATE SKIP LOCKED`",
			Killers: []Suite{in(orderTests, "TestOrderThatWasPaidAfterItWasListedDoesNotExpire")},
		},
		{
			Name: "adjustment-refused-first", Sentence: "a refused adjustment stays in Redis",
			File:    "shared/reconcile/adjust_stock.go",
			Old:     `if err := r.stock.UndoAdjustment(ctx, a.ActivityID, a.ID); err != nil {`,
			New:     `if err := error(nil); err != nil {`,
			Killers: []Suite{in(reconcileTests, "TestAdjustmentThatMySQLRefusesIsTakenBackInRedis")},
		},
	}
}
