// Command record-dead-letters records messages that were given up.
package main

import (
	"log"

	"github.com/aws/aws-lambda-go/lambda"

	"holdfast/shared/edge/boot"
	"holdfast/shared/edge/queue"
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
	handler := queue.NewRecordDeadLetters(deps)
	lambda.Start(handler)
}
