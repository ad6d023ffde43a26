package mutants

const (
	queueTests = "shared/edge/queue"
	apiTests   = "shared/edge/api"
)

// edgeMutants are defects of what callers and queues are told.
func edgeMutants() []Mutant {
	return []Mutant{
		{
			Name: "partial-answer-empty", Sentence: "messages that failed are not named, so that the queue deletes them",
			File:    "shared/edge/queue/batch.go",
			Old:     `		if failed[m.MessageId] {`,
			New:     `		if failed[m.MessageId] && m.Body == "" {`,
			Killers: []Suite{in(queueTests, "TestWhatCannotBeSentAgainIsReportedFailed", "TestTwoOfTenThatCannotBeSetAsideAreTheOnesReported")},
		},
		{
			Name: "outage-uses-up-receives", Sentence: "messages are reported failed while the database is away, until the queue gives them up",
			File: "shared/edge/queue/create_orders.go",
			Old:  `		w.again = append(w.again, messages...)`,
			New: `		for _, m := range messages {
			w.failed[m.MessageID] = true
		}`,
			Killers: []Suite{in(queueTests, "TestAnOutageOfTheDatabaseUsesUpNoReceives")},
		},
		{
			Name: "half-a-batch-sent-again", Sentence: "the answer of the queue to a batch is believed as a whole",
			File:    "shared/edge/queue/sqs.go",
			Old:     `outcomes[i] = ErrNotAccepted // until the answer says otherwise`,
			New:     `outcomes[i] = nil`,
			Killers: []Suite{in(queueTests, "TestWhatCannotBeSentAgainIsReportedFailed")},
		},
		{
			Name: "promised-too-early", Sentence: "202 is answered before the queue has accepted the message",
			File: "shared/edge/api/reserve_ticket.go",
			Old: `	case stock.Taken:
		if err := h.deliver(ctx, f, r); err != nil {
			return nil, err
		}`,
			New: `	case stock.Taken:
		go func() { _ = h.deliver(context.WithoutCancel(ctx), f, r) }()`,
			Killers: []Suite{in(apiTests, "TestAQueueThatRefusesLeavesTheReservationToItsKey", "TestAReservationIsSentBeforeItIsPromised")},
		},
		{
			Name: "replay-not-sent", Sentence: "a repeated tap on a pending reservation is answered 202 and sent nowhere",
			File: "shared/edge/api/reserve_ticket.go",
			Old: `	case stock.Pending:
		if err := h.deliver(ctx, f, r); err != nil {
			return nil, err
		}`,
			New:     `	case stock.Pending:`,
			Killers: []Suite{in(apiTests, "TestAPendingReservationIsPromisedOnlyWhenItsMessageIsAccepted")},
		},
	}
}
