// Command record-workflow-failure records that an execution gave a deposit up.
package main

import (
	"log"

	"github.com/aws/aws-lambda-go/lambda"

	"holdfast/shared/edge/boot"
	"holdfast/shared/edge/workflow"
)

func main() {
	config, err := boot.FromEnv(boot.MySQL)
	if err != nil {
		log.Fatal(err)
	}
	clients, err := boot.Open(config)
	if err != nil {
		log.Fatal(err)
	}
	deps := clients.Deps(config.Claims)
	handler := workflow.NewRecordWorkflowFailure(deps)
	lambda.Start(handler)
}
