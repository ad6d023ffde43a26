// Package workflows holds the state machines as they are deployed. template.yaml names the same files, and the local stack runs them.
package workflows

import (
	_ "embed" // of the definitions
	"strings"
)

//go:embed deposit.asl.json
var deposit string

// invoke is the resource of a task that runs a function; the template gives that of the partition that it is deployed in.
const invoke = "arn:aws:states:::lambda:invoke"

// Deposit is the definition of the clock of a deposit, with the functions that it calls filled in: arn gives the ARN of a function by the
// name of its folder.
func Deposit(arn func(function string) string) []byte {
	return []byte(strings.NewReplacer("${InvokeFunction}", invoke,
		"${RemindDepositFunctionArn}", arn("remind-deposit"),
		"${SettleDepositFunctionArn}", arn("settle-deposit"),
		"${RecordWorkflowFailureFunctionArn}", arn("record-workflow-failure")).Replace(deposit))
}
