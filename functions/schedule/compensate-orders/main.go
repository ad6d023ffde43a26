// Command compensate-orders finishes, every minute, what was left between Redis and MySQL.
package main

import (
	"log"

	"github.com/aws/aws-lambda-go/lambda"

	"holdfast/shared/edge/boot"
	"holdfast/shared/edge/schedule"
)

func main() {
	config, err := boot.FromEnv(boot.Redis, boot.MySQL, boot.OrdersQueue, boot.StateMachine, boot.NoticesQueue, boot.Provider, boot.ExportsBucket)
	if err != nil {
		log.Fatal(err)
	}
	clients, err := boot.Open(config)
	if err != nil {
		log.Fatal(err)
	}
	deps := clients.Deps(config.Claims)
	handler := schedule.NewCompensateOrders(deps)
	lambda.Start(handler)
}
