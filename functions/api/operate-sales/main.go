// Command operate-sales answers everything under /ops/v1.
package main

import (
	"log"

	"github.com/aws/aws-lambda-go/lambda"

	"holdfast/shared/edge/api"
	"holdfast/shared/edge/boot"
)

func main() {
	config, err := boot.FromEnv(boot.Redis, boot.MySQL, boot.OrdersQueue, boot.NoticesQueue, boot.Provider)
	if err != nil {
		log.Fatal(err)
	}
	clients, err := boot.Open(config)
	if err != nil {
		log.Fatal(err)
	}
	deps := clients.Deps(config.Claims)
	handler := api.NewOperateSales(deps)
	lambda.Start(handler)
}
