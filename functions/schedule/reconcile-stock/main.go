// Command reconcile-stock holds Redis and MySQL against each other in full, every five minutes, while the sales run on.
package main

import (
	"log"

	"github.com/aws/aws-lambda-go/lambda"

	"holdfast/shared/edge/boot"
	"holdfast/shared/edge/schedule"
)

func main() {
	config, err := boot.FromEnv(boot.Redis, boot.MySQL, boot.Provider)
	if err != nil {
		log.Fatal(err)
	}
	clients, err := boot.Open(config)
	if err != nil {
		log.Fatal(err)
	}
	deps := clients.Deps(config.Claims)
	handler := schedule.NewReconcileStock(deps)
	lambda.Start(handler)
}
