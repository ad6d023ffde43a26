package sam

import (
	"cmp"
	"fmt"
	"regexp"
)

// legalSchedule is what EventBridge Scheduler takes of what we use: the unit agrees with the number.
var legalSchedule = regexp.MustCompile(`^rate\((1 (minute|hour|day)|([2-9]|[1-9][0-9]+) (minutes|hours|days))\)$`)

func (all templates) mappings() []resource {
	return resources("template.yaml", all.Expanded, "AWS::Lambda::EventSourceMapping")
}

var queueRules = []rule{
	{
		name: "a message stays invisible six times as long as its function may work, and the window",
		faults: func(all templates) (faults []string) {
			for _, mapping := range all.mappings() {
				queue, function := all.named(target(mapping.property("EventSourceArn"))), all.named(target(mapping.property("FunctionName")))
				visible, ok := number(queue.property("VisibilityTimeout"))
				timeout, timed := number(function.property("Timeout"))
				window, _ := number(mapping.property("MaximumBatchingWindowInSeconds"))
				if !ok || !timed || visible < 6*timeout+window {
					faults = append(faults, fmt.Sprintf("%s: visibility %v s, timeout of %s %v s, window %v s", queue.name, visible, function.name, timeout, window))
				}
			}
			return faults
		},
		plant: func(all templates) { all.named("OrdersQueue").set(100.0, "VisibilityTimeout") },
	},
	{
		name: "a consumer reports which messages failed",
		faults: func(all templates) (faults []string) {
			for _, mapping := range all.mappings() {
				// Lambda takes a misspelt value without a word and then deletes what failed.
				if text(mapping.property("FunctionResponseTypes")) != `["ReportBatchItemFailures"]` {
					faults = append(faults, mapping.name+": "+text(mapping.property("FunctionResponseTypes")))
				}
			}
			return faults
		},
		plant: func(all templates) {
			all.named("CreateOrdersFunctionReservations").set([]any{"ReportBatchResponseFailures"}, "FunctionResponseTypes")
		},
	},
	{
		name: "orders are made in batches of 100, which needs a window, by a bounded number of consumers",
		faults: func(all templates) (faults []string) {
			mapping := all.named("CreateOrdersFunctionReservations")
			size, _ := number(mapping.property("BatchSize"))
			window, _ := number(mapping.property("MaximumBatchingWindowInSeconds"))
			if size != 100 || window < 1 {
				faults = append(faults, fmt.Sprintf("batch of %v, window of %v s", size, window))
			}
			for _, mapping := range all.mappings() {
				if mapping.property("ScalingConfig", "MaximumConcurrency") == nil {
					faults = append(faults, mapping.name+" has no MaximumConcurrency")
				}
			}
			least, _ := number(in(all.Expanded, "Parameters", "OrdersMaximumConcurrency", "MinValue"))
			if least < 2 {
				faults = append(faults, "Lambda takes no MaximumConcurrency below 2")
			}
			return faults
		},
		plant: func(all templates) {
			all.named("CreateOrdersFunctionReservations").set(0.0, "MaximumBatchingWindowInSeconds")
		},
	},
	{
		name: "a message is given up after five tries at the earliest, into a queue that keeps it at least as long",
		faults: func(all templates) (faults []string) {
			for _, name := range []string{"OrdersQueue", "NoticesQueue"} {
				queue := all.named(name)
				letters := all.named(target(queue.property("RedrivePolicy", "deadLetterTargetArn")))
				if letters.kind != "AWS::SQS::Queue" {
					faults = append(faults, name+" has no dead-letter queue")
					continue
				}
				tries, fixed := number(queue.property("RedrivePolicy", "maxReceiveCount"))
				if !fixed {
					tries, _ = number(in(all.Expanded, "Parameters", target(queue.property("RedrivePolicy", "maxReceiveCount")), "MinValue"))
				}
				if tries < 5 {
					faults = append(faults, fmt.Sprintf("%s: maxReceiveCount may be %v", name, tries))
				}
				kept, _ := number(queue.property("MessageRetentionPeriod"))
				buried, _ := number(letters.property("MessageRetentionPeriod"))
				// Messages of the notices' queue say only that there are notices: nothing is lost with one.
				if kept < 345600 || name == "OrdersQueue" && buried < kept {
					faults = append(faults, fmt.Sprintf("%s keeps messages %v s, and dead letters are kept %v s", name, kept, buried))
				}
			}
			return faults
		},
		plant: func(all templates) { all.named("OrdersQueue").set(3.0, "RedrivePolicy", "maxReceiveCount") },
	},
	{
		name: "queues are encrypted",
		faults: func(all templates) (faults []string) {
			for _, queue := range all.everywhere("AWS::SQS::Queue") {
				if queue.property("SqsManagedSseEnabled") != true {
					faults = append(faults, queue.name)
				}
			}
			return faults
		},
		plant: func(all templates) { all.named("DeadLetterQueue").set(false, "SqsManagedSseEnabled") },
	},
	{
		name: "schedules are legal, as often as repair promises, and by a role of ours",
		faults: func(all templates) (faults []string) {
			schedules := all.everywhere("AWS::Scheduler::Schedule")
			if len(schedules) != 4 {
				faults = append(faults, fmt.Sprintf("%d schedules", len(schedules)))
			}
			wanted := map[string]string{"ReconcileStockFunctionEveryFiveMinutes": "rate(5 minutes)",
				"ReconcileDepositsFunctionEveryDay": "rate(1 day)"}
			for _, schedule := range schedules {
				expression, _ := schedule.property("ScheduleExpression").(string)
				if !legalSchedule.MatchString(expression) || expression != cmp.Or(wanted[schedule.name], "rate(1 minute)") {
					faults = append(faults, schedule.name+": "+expression)
				}
				if target(schedule.property("Target", "RoleArn")) != "SchedulerRole" {
					faults = append(faults, schedule.name+" lets SAM make a role")
				}
			}
			return faults
		},
		plant: func(all templates) {
			all.named("ExpireOrdersFunctionEveryMinute").set("rate(1 minutes)", "ScheduleExpression")
		},
	},
}
