// Command get-wallet answers GET /v1/wallet.
package main

import (
	"log"

	"github.com/aws/aws-lambda-go/lambda"

	"holdfast/shared/edge/api"
	"holdfast/shared/edge/boot"
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
	handler := api.NewGetWallet(deps)
	lambda.Start(handler)
}
