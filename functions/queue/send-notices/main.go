// Command send-notices publishes the notices that are due.
package main

import (
	"log"

	"github.com/aws/aws-lambda-go/lambda"

	"holdfast/shared/edge/boot"
	"holdfast/shared/edge/queue"
)

func main() {
	config, err := boot.FromEnv(boot.MySQL, boot.NoticesTopic)
	if err != nil {
		log.Fatal(err)
	}
	clients, err := boot.Open(config)
	if err != nil {
		log.Fatal(err)
	}
	deps := clients.Deps(config.Claims)
	handler := queue.NewSendNotices(deps)
	lambda.Start(handler)
}
