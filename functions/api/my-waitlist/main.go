// Command my-waitlist answers PUT, GET and DELETE /v1/activities/{activityId}/waitlist/me.
package main

import (
	"log"

	"github.com/aws/aws-lambda-go/lambda"

	"holdfast/shared/edge/api"
	"holdfast/shared/edge/boot"
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
	handler := api.NewMyWaitlist(deps)
	lambda.Start(handler)
}
