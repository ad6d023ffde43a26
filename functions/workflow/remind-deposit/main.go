// Command remind-deposit reminds the buyer of a deposit, called by its execution.
package main

import (
	"log"

	"github.com/aws/aws-lambda-go/lambda"

	"holdfast/shared/edge/boot"
	"holdfast/shared/edge/workflow"
)

func main() {
	config, err := boot.FromEnv(boot.MySQL, boot.NoticesQueue)
	if err != nil {
		log.Fatal(err)
	}
	clients, err := boot.Open(config)
	if err != nil {
		log.Fatal(err)
	}
	deps := clients.Deps(config.Claims)
	handler := workflow.NewRemindDeposit(deps)
	lambda.Start(handler)
}
