// Command cancel-order answers POST /v1/orders/{orderId}/cancellation.
package main

import (
	"log"

	"github.com/aws/aws-lambda-go/lambda"

	"holdfast/shared/edge/api"
	"holdfast/shared/edge/boot"
)

func main() {
	config, err := boot.FromEnv(boot.Redis, boot.MySQL, boot.NoticesQueue, boot.Provider)
	if err != nil {
		log.Fatal(err)
	}
	clients, err := boot.Open(config)
	if err != nil {
		log.Fatal(err)
	}
	deps := clients.Deps(config.Claims)
	handler := api.NewCancelOrder(deps)
	lambda.Start(handler)
}
