// Command create-orders makes orders of the messages that reservations were sent as.
package main

import (
	"log"

	"github.com/aws/aws-lambda-go/lambda"

	"holdfast/shared/edge/boot"
	"holdfast/shared/edge/queue"
)

func main() {
	config, err := boot.FromEnv(boot.Redis, boot.MySQL, boot.OrdersQueue, boot.DeadLetterQueue, boot.StateMachine, boot.NoticesQueue)
	if err != nil {
		log.Fatal(err)
	}
	clients, err := boot.Open(config)
	if err != nil {
		log.Fatal(err)
	}
	deps := clients.Deps(config.Claims)
	handler := queue.NewCreateOrders(deps)
	lambda.Start(handler)
}
