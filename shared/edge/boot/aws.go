package boot

import (
	"context"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// awsDialTimeout bounds making a connection, within a region.
const awsDialTimeout = 500 * time.Millisecond

// environment gives the credentials that Lambda puts into a function's environment. They live as long as the environment does.
// The SDK's own chain would look for them in five other places, and its packages for that weigh 2 MiB.
var environment = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
	return aws.Credentials{AccessKeyID: os.Getenv("AWS_ACCESS_KEY_ID"), SecretAccessKey: os.Getenv("AWS_SECRET_ACCESS_KEY"),
		SessionToken: os.Getenv("AWS_SESSION_TOKEN"), Source: "environment"}, nil
})

// anybody are the credentials of the local stack, which checks none.
var anybody = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
	return aws.Credentials{AccessKeyID: "local", SecretAccessKey: "local", Source: "local"}, nil
})

// localRegion stands in requests to the local stack.
const localRegion = "us-east-1"

func awsConfig(endpoint string) aws.Config {
	dialer := &net.Dialer{Timeout: awsDialTimeout, KeepAlive: 30 * time.Second}
	config := aws.Config{Region: os.Getenv("AWS_REGION"), Credentials: environment,
		// Whoever calls knows how much time is left, and whether asking twice does harm.
		Retryer: func() aws.Retryer { return aws.NopRetryer{} },
		HTTPClient: &http.Client{Transport: &http.Transport{DialContext: dialer.DialContext, ForceAttemptHTTP2: true,
			TLSHandshakeTimeout: awsDialTimeout, MaxIdleConnsPerHost: 64, IdleConnTimeout: 50 * time.Second}}}
	if endpoint != "" {
		config.BaseEndpoint, config.Region, config.Credentials = &endpoint, localRegion, anybody
	}
	return config
}

// openSQS gives the client of SQS, which is made at its first use.
func openSQS(endpoint string) func() *sqs.Client {
	return sync.OnceValue(func() *sqs.Client { return sqs.NewFromConfig(awsConfig(endpoint)) })
}

// LocalSQS gives a client of an SQS at a URL that is not Amazon's and checks no credentials.
func LocalSQS(endpoint string) func() *sqs.Client { return openSQS(endpoint) }

func openSecretsManager(endpoint string) func() *secretsmanager.Client {
	return sync.OnceValue(func() *secretsmanager.Client { return secretsmanager.NewFromConfig(awsConfig(endpoint)) })
}
