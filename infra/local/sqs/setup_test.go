package sqs_test

import (
	"net/http"
	"os"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"holdfast/infra/local/moto"
	"holdfast/infra/local/sqs"
)

// start runs a server for one test.
func start(t testing.TB, o sqs.Options) *sqs.Server {
	t.Helper()
	server, err := sqs.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	return server
}

// newClient returns an SDK client as functions use it, but without retries: a test wants to see the first answer.
func newClient(endpoint string) *awssqs.Client {
	return awssqs.New(awssqs.Options{
		BaseEndpoint: aws.String(endpoint),
		Region:       "us-east-1",
		Credentials:  credentials.NewStaticCredentialsProvider("local", "local", ""),
		Retryer:      aws.NopRetryer{},
		HTTPClient:   &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 128}},
	})
}

// theirs is the one moto server of this test run.
var theirs struct {
	once     sync.Once
	endpoint string
	err      error
	stop     func()
}

func TestMain(m *testing.M) {
	code := m.Run()
	if theirs.stop != nil {
		theirs.stop()
	}
	os.Exit(code)
}

// motoEndpoint starts moto's server on first use, installing it when it is missing; without it the test fails.
func motoEndpoint(t *testing.T) string {
	t.Helper()
	theirs.once.Do(func() { theirs.endpoint, theirs.stop, theirs.err = moto.Start() })
	if theirs.err != nil {
		t.Fatalf("moto_server is needed: %v", theirs.err)
	}
	return theirs.endpoint
}
