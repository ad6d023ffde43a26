package metric

// DepositWorkflowFailed counts executions that gave a deposit up, once per try to record it; the minute pass does what is overdue.
const DepositWorkflowFailed = "deposit_workflow_failed_total"
