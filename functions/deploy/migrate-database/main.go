// Command migrate-database brings the schema of the database up to date; CloudFormation calls it before traffic arrives.
package main

import (
	"log"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"holdfast/infra/mysql"
	"holdfast/shared/edge/boot"
	"holdfast/shared/edge/deploy"
	"holdfast/shared/sqltx"
)

func main() {
	config, err := boot.FromEnv(boot.MySQL)
	if err != nil {
		log.Fatal(err)
	}
	// A statement that rebuilds a large table answers after minutes; the function itself ends after five.
	if config.MySQLDSN, err = sqltx.WithReadTimeout(config.MySQLDSN, 4*time.Minute); err != nil {
		log.Fatal(err)
	}
	clients, err := boot.Open(config)
	if err != nil {
		log.Fatal(err)
	}
	lambda.Start(deploy.NewMigrateDatabase(clients.DB, deploy.Schema{Migrate: mysql.Migrate, Version: mysql.Version}))
}
