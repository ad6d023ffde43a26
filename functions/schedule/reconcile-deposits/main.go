// Command reconcile-deposits holds, once a day, all that is written about money against each other, and against the list of the
// payment provider.
package main

import (
	"log"

	"github.com/aws/aws-lambda-go/lambda"

	"holdfast/shared/edge/boot"
	"holdfast/shared/edge/schedule"
)

func main() {
	config, err := boot.FromEnv(boot.MySQL, boot.Provider)
	if err != nil {
		log.Fatal(err)
	}
	clients, err := boot.Open(config)
	if err != nil {
		log.Fatal(err)
	}
	deps := clients.Deps(config.Claims)
	handler := schedule.NewReconcileDeposits(deps)
	lambda.Start(handler)
}
