package sns_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssns "github.com/aws/aws-sdk-go-v2/service/sns"

	"holdfast/infra/local/moto"
)

// TestMotoBehavesAsOursDoes runs the table of TestOursBehavesAsClientsKnowSNS against moto.
func TestMotoBehavesAsOursDoes(t *testing.T) {
	t.Parallel()
	endpoint, stop, err := moto.Start()
	if err != nil {
		t.Fatalf("moto_server is needed: %v", err)
	}
	t.Cleanup(stop)
	client := newClient(endpoint)
	made, err := client.CreateTopic(t.Context(), &awssns.CreateTopicInput{Name: aws.String("notices")})
	if err != nil {
		t.Fatal(err)
	}
	behaviour(t, client, aws.ToString(made.TopicArn))
}
