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
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sns"
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

// openStates gives the client of Step Functions, which is made at its first use.
func openStates(endpoint string) func() *sfn.Client {
	return sync.OnceValue(func() *sfn.Client { return sfn.NewFromConfig(awsConfig(endpoint)) })
}

// LocalStates gives a client of a Step Functions at a URL that is not Amazon's and checks no credentials.
func LocalStates(endpoint string) func() *sfn.Client { return openStates(endpoint) }

// openSNS gives the client of SNS, which is made at its first use.
func openSNS(endpoint string) func() *sns.Client {
	return sync.OnceValue(func() *sns.Client { return sns.NewFromConfig(awsConfig(endpoint)) })
}

// LocalSNS gives a client of an SNS at a URL that is not Amazon's and checks no credentials.
func LocalSNS(endpoint string) func() *sns.Client { return openSNS(endpoint) }

// sharedConfig gives one configuration, which is made at its first use.
func sharedConfig(endpoint string) func() aws.Config {
	return sync.OnceValue(func() aws.Config { return awsConfig(endpoint) })
}

// LocalConfig gives the configuration of clients of services at a URL that is not Amazon's and that check no credentials.
func LocalConfig(endpoint string) func() aws.Config { return sharedConfig(endpoint) }

func openSecretsManager(endpoint string) func() *secretsmanager.Client {
	return sync.OnceValue(func() *secretsmanager.Client { return secretsmanager.NewFromConfig(awsConfig(endpoint)) })
}
