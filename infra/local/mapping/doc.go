// Package mapping is what stands between the local stack's queues or clock and its functions: the event source mapping as Lambda runs it for
// SQS, the schedule as EventBridge Scheduler runs it for Lambda, and the instances that run a function in this process.
//
//	queue ──take──> gather ──batch──> invoke ──answer──> delete what succeeded
//	                                                └──> leave the rest to its visibility timeout
//
// # Mapping
//
//	m, err := mapping.Start(mapping.Options{
//		Queue: orders, Function: "create-orders", Invoker: functions,
//		BatchSize: 100, Window: time.Second, Concurrency: 8, ReportBatchItemFailures: true, Log: log,
//	})
//	m.Pause(); m.Resume(); err = m.Stop(ctx)
//
// A batch is gathered until it has BatchSize messages, or Window has passed since its first, or the next message would push the event over
// 6 MB. Nothing is taken from the queue before the function may run: a mapping at its concurrency leaves messages visible, so that waiting
// does not use up their receive count. One batch is gathered at a time, which keeps batches full; up to Concurrency run at once.
//
// How an answer is read, with ReportBatchItemFailures:
//
//	{"batchItemFailures":[]}, null list, {} or null    all succeeded
//	a list of {"itemIdentifier":"<messageId>"}         those failed, the others succeeded
//	an identifier that is empty, null, missing,        all failed
//	misnamed or of no message of this batch; a list
//	that is none; no object; no JSON
//	an error or a panic of the function                all failed
//
// Names count letter by letter: "BatchItemFailures" is an unknown field, so that answer says that all succeeded, as it does on AWS. Without
// ReportBatchItemFailures the answer is not read: everything succeeded unless the function returned an error.
//
// Limits are Lambda's and refused as it refuses them: see [Options]. What is not imitated: scaling up by and by, polling less after errors,
// throttling. The window is real time; visibility follows the queue's clock.
//
// The mapping of a dead-letter queue is the same type with another function.
//
// # Schedule
//
//	s, err := mapping.StartSchedule(mapping.ScheduleOptions{
//		Function: "compensate-orders", Every: time.Minute, Invoker: functions, Now: clock.Now, Log: log,
//	})
//	clock.OnMove(s.Wake)
//	answer, err := s.RunNow(ctx)
//
// A schedule invokes its function each time Every has passed on the injected clock, without waiting for the run before: runs may overlap,
// as with the real service. However far the clock is moved forward, one jump is one run.
//
// # Instances
//
//	handlers["create-orders"] = mapping.NewInstances(func() lambda.Handler { return queue.NewCreateOrders(deps) })
//
// A handler made by lambda.NewHandler must run one event at a time, as it does in Lambda; [Instances] keeps as many as run at once.
package mapping
