package mutants

const (
	moneyTests  = "shared/money"
	walletTests = "shared/wallet"
	noticeTests = "shared/notice"
	payAPITests = "shared/edge/api"
	ledgerTests = "shared/reconcile/invariant"
)

// moneyMutants are defects of what is reckoned and booked, and of payments, refunds and late money.
func moneyMutants() []Mutant {
	return []Mutant{
		{
			Name: "money-in-float", Sentence: "a part of an amount is reckoned in binary fractions",
			File:    "shared/money/reckon.go",
			Old:     `return Amount{Value: a.Value.Mul(ratio).Round(digits), Currency: a.Currency}`,
			New:     `return Amount{Value: decimal.NewFromFloat(a.Value.InexactFloat64() * ratio.InexactFloat64()).Round(digits), Currency: a.Currency}`,
			Killers: []Suite{in(moneyTests, "TestPartIsRoundedHalfUpToTheCurrencysDigits", "TestAPartAndTheRestMakeTheWholeToTheCent")},
		},
		{
			Name: "money-bankers-rounding", Sentence: "half a cent is rounded to the even one",
			File:    "shared/money/reckon.go",
			Old:     `a.Value.Mul(ratio).Round(digits)`,
			New:     `a.Value.Mul(ratio).RoundBank(digits)`,
			Killers: []Suite{in(moneyTests, "TestPartIsRoundedHalfUpToTheCurrencysDigits")},
		},
		{
			Name: "money-rounds-each-part", Sentence: "what comes back of a deposit is rounded by itself, and a cent is lost or made",
			File:    "shared/deposit/deposit.go",
			Old:     `r.Penalty, r.Refunded = r.PenaltyDue, r.Deposit.Minus(r.PenaltyDue)`,
			New:     `r.Penalty, r.Refunded = r.PenaltyDue, r.Deposit.Part(decimal.NewFromInt(1).Sub(r.PenaltyRatio))`,
			Killers: []Suite{in("shared/deposit", "TestPenaltyAndTheRestMakeTheDepositToTheCent")},
		},
		{
			Name: "money-apply-twice", Sentence: "a movement that was written before is written again",
			File:    "shared/wallet/apply.go",
			Old:     `case there == nil:`,
			New:     `case there == nil || there.same(s):`,
			Killers: []Suite{in(walletTests, "TestMovementIsWrittenOnceHoweverOftenItIsAskedFor")},
		},
		{
			Name: "money-rollup-by-watermark", Sentence: "the roll-up waits for nothing and takes what a number says, and movements that commit late are lost",
			File:    "shared/wallet/roll_up.go",
			Old:     `ORDER BY inbox_id LIMIT ? FOR UPDATE SKIP LOCKED`,
			New:     `ORDER BY inbox_id LIMIT ?`,
			Killers: []Suite{in(walletTests, "TestRollUpBesideMovementsLosesNothing", "TestRollUpLeavesAloneWhatIsNotCommittedAndFindsItLater")},
		},
		{
			Name: "money-freeze-unchecked", Sentence: "a wallet may go below zero",
			File:    "shared/wallet/apply.go",
			Old:     `case available.IsNegative():`,
			New:     `case available.IsNegative() && s.Type != DepositFreeze:`,
			Killers: []Suite{in(walletTests, "TestTwentyFreezesAtOnceNeverSpendABalanceTwice", "TestShortMovementsAreNamedAndTheRestGoesThroughWithoutThem")},
		},
		{
			Name: "money-penalty-to-house", Sentence: "the club's penalty goes to the house",
			File:    "shared/wallet/movement.go",
			Old:     `to = club`,
			New:     `to = House`,
			Killers: []Suite{in(walletTests, "TestEveryMovementTakesFromOneAccountAndBringsToTheOther"), in(checkoutTests, "TestMissedDeadlineCostsThePenaltyAndFreesTheSeat")},
		},
		{
			Name: "money-refund-without-debit", Sentence: "a refund is a row, and no money leaves the house for it",
			File:    "shared/checkout/refund_order.go",
			Old:     `return &b.refund, wallet.Apply(ctx, tx, b.moves, now)`,
			New:     `return &b.refund, nil`,
			Killers: []Suite{in(checkoutTests, "TestRefundWithLostAnswersGoesOutOnceAndTrueOnesAllGo", "TestRefundsAtOnceNeverExceedWhatWasPaid")},
		},
		{
			Name: "money-refund-not-counted", Sentence: "what went back is not noted in the order, so that it goes back again",
			File:    "shared/order/money.go",
			Old:     `after := o.Refunded.Plus(amount)`,
			New:     `after := o.Refunded`,
			Killers: []Suite{in(checkoutTests, "TestRefundsAtOnceNeverExceedWhatWasPaid", "TestRefundWithLostAnswersGoesOutOnceAndTrueOnesAllGo")},
		},
		{
			Name: "money-refund-final-again", Sentence: "a refund that was answered for good ends once more",
			File:    "shared/checkout/refund_send.go",
			Old:     `if r.Status.Final() {`,
			New:     `if r.Status == "" {`,
			Killers: []Suite{in(checkoutTests, "TestRefundThatIsPendingEndsByTheProvidersNewsOnce", "TestRefundThatTheProviderRefusesWaitsInSuspenseForAPerson")},
		},
		{
			Name: "money-disposition-unguarded", Sentence: "what becomes of a success may be decided twice",
			File:    "shared/payment/mysql.go",
			Old:     `status = 'SUCCEEDED' AND disposition IS NULL`,
			New:     `status = 'SUCCEEDED' AND 1 = 1`,
			Killers: []Suite{in("shared/payment", "TestWhatBecomesOfASuccessIsDecidedOnceByTheRowItself")},
		},
		{
			Name: "money-surplus-kept", Sentence: "a success of an order that is paid already counts as another one of it",
			File:    "shared/checkout/pay_news.go",
			Old:     `if o.Status != order.Unpaid || a.CancelledAt != nil {`,
			New:     `if a.CancelledAt != nil {`,
			Killers: []Suite{in(checkoutTests, "TestFailureEndsAPaymentAndASuccessAfterItCountsAllTheSame", "TestPaymentOfAnOrderThatItsBuyerCancelledGoesBack")},
		},
		{
			Name: "money-expiry-beats-payment", Sentence: "a success that comes after the deadline goes back though the order still holds its units",
			File:    "shared/checkout/pay_news.go",
			Old:     `if o.Status != order.Unpaid || a.CancelledAt != nil {`,
			New:     `if o.Status != order.Unpaid || a.CancelledAt != nil || o.ExpiredAt(now) {`,
			Killers: []Suite{in(checkoutTests, "TestPaymentBeatsAnExpiryThatComesLater")},
		},
		{
			Name: "money-late-success-dropped", Sentence: "an undecided success is left to nobody",
			File:    "shared/checkout/late_order.go",
			Old:     `if err != nil || locked.Status != payment.Succeeded || locked.Disposition != "" {`,
			New:     `if err != nil || locked.Status == payment.Succeeded || locked.Disposition != "" {`,
			Killers: []Suite{in(checkoutTests, "TestSuccessThatWasNotDecidedIsDecidedByALaterPass", "TestLatePaymentMakesANewOrderWhileAUnitIsFree")},
		},
		{
			Name: "money-webhook-unsigned", Sentence: "the webhook believes whoever calls",
			File:    "shared/edge/provider/signature.go",
			Old:     `if err != nil || len(key) == 0 || !hmac.Equal(given, mac(key, timestamp, body)) {`,
			New:     `if err != nil || len(key) == 0 || len(given) == 0 {`,
			Killers: []Suite{in(payAPITests, "TestWebhookTakesOnlyWhatTheProviderSignedLately"), in("shared/edge/provider", "TestSignatureIsOfTimestampAndBodyUnderTheKey")},
		},
		{
			Name: "money-webhook-stale", Sentence: "a notification that was signed long ago is taken again",
			File:    "shared/edge/provider/signature.go",
			Old:     `if apart := now.Sub(time.Unix(seconds, 0)).Abs(); apart > Tolerance {`,
			New:     `if apart := now.Sub(time.Unix(seconds, 0)).Abs(); apart > 1000*Tolerance {`,
			Killers: []Suite{in(payAPITests, "TestWebhookTakesOnlyWhatTheProviderSignedLately"), in("shared/edge/provider", "TestSignatureIsOfTimestampAndBodyUnderTheKey")},
		},
		{
			Name: "money-another-amount", Sentence: "news of another amount than was asked for pays an order",
			File:    "shared/checkout/pay_news.go",
			Old:     `news.Amount.Currency != p.Amount.Currency || news.Amount.Cmp(p.Amount) != 0`,
			New:     `news.Amount.Currency != p.Amount.Currency`,
			Killers: []Suite{in(checkoutTests, "TestNewsOfAnUnknownPaymentOrAnotherAmountChangeNothing")},
		},
		{
			Name: "money-paid-by-no-payment", Sentence: "an order is paid from the wallet, and its payment is not written",
			File:    "shared/checkout/pay_wallet.go",
			Old:     `if err := payment.Insert(ctx, tx, p); err != nil {`,
			New:     `if p == nil {`,
			Killers: []Suite{in("shared/reconcile/certificate", "TestACertificateOfASoldOutSaleWithAWaitlistPasses")},
		},
		{
			Name: "money-provider-unheard", Sentence: "money that the provider took and nobody heard of is no difference",
			File:    "shared/reconcile/money/provider_again.go",
			Old:     `codes = append(codes, reconcile.NewsLost)`,
			New:     `codes = nil`,
			Killers: []Suite{in("shared/reconcile/money", "TestWhatTheProviderListsIsHeldAgainstWhatWeHave", "TestNothingFallsBetweenTheIntervalsOfTwoRounds")},
		},
		{
			Name: "money-provider-gap", Sentence: "what the provider did not answer counts as asked, and no round asks again",
			File: "shared/reconcile/money/provider.go",
			Old: `if err == nil {
		next.AskedUntil = c.until`,
			New: `if next.AskedUntil = next.AskUntil; err == nil {
		next.AskedUntil = c.until`,
			Killers: []Suite{in("shared/reconcile/money", "TestAProviderThatIsAwayKeepsNothingElseAndIsAskedForAllOfItLater")},
		},
		{
			Name: "money-checker-blind", Sentence: "the certificate takes half of each entry for the whole",
			File:    "shared/reconcile/invariant/money.go",
			Old:     `received += max(0, e.into("HOUSE"))`,
			New:     `received += max(0, e.into("HOUSE")) / 2`,
			Killers: []Suite{in(ledgerTests, "TestMoneyInOrderHoldsWhereverAPageEnds")},
		},
	}
}

// seatMutants are defects of deposits, the waitlist and notices.
func seatMutants() []Mutant {
	return []Mutant{
		{
			Name: "seat-settled-early", Sentence: "a deposit is settled before its deadline",
			File:    "shared/deposit/deposit.go",
			Old:     `return !r.ConfirmDeadline.After(now)`,
			New:     `return !r.ConfirmDeadline.After(now.Add(time.Second))`,
			Killers: []Suite{in(checkoutTests, "TestDeadlineIsReachedAtItsInstantAndNotBefore", "TestMissedDeadlineCostsThePenaltyAndFreesTheSeat")},
		},
		{
			Name: "seat-confirmed-late", Sentence: "a deposit is confirmed after its deadline",
			File: "shared/checkout/deposit_confirm.go",
			Old: `	case d.DueAt(now):
		return false, ErrDepositDeadlinePassed
`,
			New:     ``,
			Killers: []Suite{in(checkoutTests, "TestConfirmationIsRefusedAndMovesNothing", "TestDeadlineIsReachedAtItsInstantAndNotBefore")},
		},
		{
			Name: "seat-status-unchecked", Sentence: "money follows a deposit whose state was not the one to leave",
			File:    "shared/deposit/change.go",
			Old:     `if got != int64(want) {`,
			New:     `if got > int64(want) {`,
			Killers: []Suite{in(checkoutTests, "TestStateThatIsNotTheOneToLeaveMovesNoMoney")},
		},
		{
			Name: "seat-status-last", Sentence: "a deposit that is no longer FROZEN is settled all the same, and its money moves first",
			File:    "shared/checkout/deposit_settle.go",
			Old:     `case s.deposit.Status != deposit.Frozen:`,
			New:     `case s.deposit.Status == deposit.Deducted:`,
			Killers: []Suite{in(checkoutTests, "TestSettlingThreeTimesAtOnceIsOnePenaltyOneRefundOneRelease")},
		},
		{
			Name: "seat-all-back-of-a-missed-one", Sentence: "who lets the deadline pass pays no penalty",
			File:    "shared/checkout/deposit_settle.go",
			Old:     `reason: order.DepositForfeited, penalise: true`,
			New:     `reason: order.DepositForfeited, penalise: false`,
			Killers: []Suite{in(checkoutTests, "TestMissedDeadlineCostsThePenaltyAndFreesTheSeat")},
		},
		{
			Name: "seat-poor-buyer-holds-it", Sentence: "who has too little money for the deposit gets the seat",
			File:    "shared/checkout/judge.go",
			Old:     `return found && !have.Available.Less(d.Deposit)`,
			New:     `return found || !have.Available.Less(d.Deposit)`,
			Killers: []Suite{in(checkoutTests, "TestBatchWithPoorBuyersCancelsOnlyThem", "TestMoneyForExactlyOneOfTwoAtOnceFreezesOne")},
		},
		{
			Name: "seat-frozen-unpromised", Sentence: "repair freezes money of a buyer who was told that it did not work",
			File:    "shared/reconcile/sweep.go",
			Old:     `e.Standing != stock.Dead && holdsMoney && !e.Sent:`,
			New:     `e.Standing != stock.Dead && holdsMoney && len(ids) == 0:`,
			Killers: []Suite{in(checkoutTests, "TestRepairFreezesMoneyOnlyForWhoWasPromisedASeat")},
		},
		{
			Name: "seat-called-off-penalised", Sentence: "deposits of a sale that was called off are penalised at their deadline",
			File:    "shared/checkout/deposit_settle.go",
			Old:     `case s.sale.CancelledAt != nil:`,
			New:     `case s.sale.Status == sale.Draft:`,
			Killers: []Suite{in(checkoutTests, "TestSweepGivesEverythingBackOfASaleThatWasCalledOff")},
		},
		{
			Name: "seat-extended-backwards", Sentence: "a deadline may be moved to before",
			File:    "shared/checkout/deposit_operate.go",
			Old:     `case !deadline.After(d.ConfirmDeadline) || !deadline.After(now):`,
			New:     `case !deadline.After(now):`,
			Killers: []Suite{in(checkoutTests, "TestDeadlineMovesLaterOnlyAndOnlyByWhoHasReadIt")},
		},
		{
			Name: "extension-twice", Sentence: "a job that is killed moves the deadlines of a page once more",
			File:    "shared/checkout/extend_deadlines.go",
			Old:     `j.at.After = &ids[len(ids)-1]`,
			New:     `j.at.After = &ids[(len(ids)-1)/2]`,
			Killers: []Suite{in(checkoutTests, "TestDeadlinesAreMovedOnceHoweverOftenTheJobIsKilled")},
		},
		{
			Name: "waitlist-gate-open", Sentence: "the public buys past those who wait",
			File:    "lua/reserve.lua",
			Old:     `if ARGV[8] == '0' and call('SCARD', waiters) > 0 then return 0 end`,
			New:     `if ARGV[8] == '2' and call('SCARD', waiters) > 0 then return 0 end`,
			Killers: []Suite{in(stockTests, "TestPublicIsToldThatNothingIsLeftWhileAnybodyWaits")},
		},
		{
			Name: "waitlist-offers-twice", Sentence: "an entry that does not wait any more is offered to",
			File:    "shared/checkout/waitlist_offer.go",
			Old:     `waits := e.Status == waitlist.Waiting && e.Attempt == f.attempt`,
			New:     `waits := e.Attempt == f.attempt`,
			Killers: []Suite{in(checkoutTests, "TestReservationOfAnEarlierAttemptBecomesNoOrder", "TestReservationForAnEntryThatLeftBecomesNoOrder")},
		},
		{
			Name: "waitlist-adds-who-has-ended", Sentence: "an entry that ended before it was added stays in the set and shuts the public out",
			File:    "shared/checkout/join_waitlist.go",
			Old:     `if err != nil || stands.Status == waitlist.Waiting {`,
			New:     `if stands = e; err != nil || stands.Status == waitlist.Waiting {`,
			Killers: []Suite{in(checkoutTests, "TestEntryThatEndedBeforeItWasAddedIsInNoSet", "TestTwoTapsOfOneWhoCanBuyShutNobodyOut")},
		},
		{
			Name: "waitlist-lapse-forgotten", Sentence: "an offer whose order runs out stays OFFERED",
			File:    "shared/checkout/transaction.go",
			Old:     `waitlist.Lapse(ctx, tx, offered, now)`,
			New:     `waitlist.Lapse(ctx, tx, offered[:0], now)`,
			Killers: []Suite{in(checkoutTests, "TestOfferLapsesAtItsInstantAndTheNextIsServed")},
		},
		{
			Name: "seat-accepted-for-nothing", Sentence: "an offered seat is accepted, and no money is frozen for it",
			File:    "shared/checkout/deposit_operate.go",
			Old:     `err := wallet.Apply(ctx, tx, []wallet.Movement{freezeMove(&d)}, now)`,
			New:     `err := wallet.Apply(ctx, tx, nil, now)`,
			Killers: []Suite{in(checkoutTests, "TestSeatIsAcceptedOnceByManyKeysAtOnceAndTheKeyAnswersTheSame", "TestRefusedAcceptanceLeavesTheSeatOfferedAndMovesNothing")},
		},
		{
			Name: "seat-accepted-and-still-offered", Sentence: "who accepts an offered seat is still waited for",
			File:    "shared/checkout/deposit_operate.go",
			Old:     `waitlist.Accept(ctx, tx, []sale.OrderID{o.ID}, now)`,
			New:     `waitlist.Accept(ctx, tx, nil, now)`,
			Killers: []Suite{in(checkoutTests, "TestSeatIsAcceptedOnceByManyKeysAtOnceAndTheKeyAnswersTheSame")},
		},
		{
			Name: "seat-accepted-too-late", Sentence: "an offered seat is accepted when nobody could confirm it any more",
			File:    "shared/checkout/deposit_operate.go",
			Old:     `case p == nil || a.CancelledAt != nil || !p.FreezesAt(now):`,
			New:     `case p == nil || a.CancelledAt != nil:`,
			Killers: []Suite{in(checkoutTests, "TestRefusedAcceptanceLeavesTheSeatOfferedAndMovesNothing")},
		},
		{
			Name: "waitlist-accept-forgotten", Sentence: "who pays an offer is still waited for",
			File:    "shared/checkout/pay.go",
			Old:     `if o.Source == order.FromOffer {`,
			New:     `if o.Source == order.FromSweep {`,
			Killers: []Suite{in("shared/reconcile/certificate", "TestAnOfferThatIsPaidIsAcceptedWithIt")},
		},
		{
			Name: "notice-twice", Sentence: "a second notice of a kind about a subject is written over the first",
			File:    "shared/notice/add.go",
			Old:     `ON DUPLICATE KEY UPDATE notice_id = notice_id`,
			New:     `ON DUPLICATE KEY UPDATE data = VALUES(data)`,
			Killers: []Suite{in(noticeTests, "TestANoticeIsWrittenOncePerSubjectAndKind"), in(checkoutTests, "TestNewsOfAPaymentThreeTimesAndMessagesThreeTimesTellOnceThatAnOrderIsPaid")},
		},
		{
			Name: "notice-outside", Sentence: "notices of orders are written beside the transaction that makes them",
			File: "shared/checkout/create_orders.go",
			Old:  `	if err := writeFresh(ctx, tx, fresh, limits, now, out.frozen...); err != nil {`,
			New: `	_ = c.db.Run(ctx, func(ctx context.Context, beside *sql.Tx) error { return notice.Add(ctx, beside, freshNotices(fresh), now) })
	if err := writeFresh(ctx, tx, fresh, limits, now, out.frozen...); err != nil {`,
			Killers: []Suite{in(checkoutTests, "TestAnOrderThatWasRolledBackTellsNobody")},
		},
		{
			Name: "notice-of-other-amounts", Sentence: "who pays a penalty is told what comes back as what is kept",
			File:    "shared/checkout/deposit_notices.go",
			Old:     `penalty, refund := e.deposit.Penalty, e.deposit.Refunded`,
			New:     `refund, penalty := e.deposit.Penalty, e.deposit.Refunded`,
			Killers: []Suite{in(checkoutTests, "TestMissedDeadlineCostsThePenaltyAndFreesTheSeat", "TestBuyerCancelsAsThePolicySays")},
		},
		{
			Name: "notice-of-what-is-untrue", Sentence: "a reminder goes out though nothing is left to confirm",
			File:    "shared/checkout/send_notices.go",
			Old:     `n.Kind == notice.DepositReminder && !open[n.OrderID]`,
			New:     `n.Kind == notice.DepositReminder && !open[n.OrderID] && n.Attempts > 9`,
			Killers: []Suite{in(checkoutTests, "TestWhatIsTooLateOrNoLongerTrueIsSkipped")},
		},
	}
}
