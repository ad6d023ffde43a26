// Command expire-orders cancels unpaid orders past their deadline, every minute.
package main

import (
	"log"

	"github.com/aws/aws-lambda-go/lambda"

	"holdfast/shared/edge/boot"
	"holdfast/shared/edge/schedule"
)

func main() {
	config, err := boot.FromEnv(boot.Redis, boot.MySQL, boot.NoticesQueue)
	if err != nil {
		log.Fatal(err)
	}
	clients, err := boot.Open(config)
	if err != nil {
		log.Fatal(err)
	}
	deps := clients.Deps(config.Claims)
	handler := schedule.NewExpireOrders(deps)
	lambda.Start(handler)
}
