// Package workflow is what the executions of Step Functions call, and what starts them.
//
// One execution waits for the instants of one deposit. It is named by the order id and knows the instants that the deposit was frozen
// with:
//
//	wait until remindAt -> remind-deposit -> DONE? end
//	wait until deadline -> settle-deposit -> NOT_DUE? wait so many seconds, settle again (100 turns, then end)
//	what stays impossible -> record-workflow-failure -> fail
//
// The row of the deposit is the record, the execution only a clock: it decides nothing, may come late, twice or never. Whatever it leaves
// undone the minute pass does, and nothing is ever restarted under a name that was used. A start is one attempt in bounded time.
package workflow
