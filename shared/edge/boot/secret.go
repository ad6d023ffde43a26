package boot

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
)

const (
	// secretLife is how long a secret is believed. Rotation keeps the old password valid for longer.
	secretLife = 5 * time.Minute
	// secretTimeout bounds one look into Secrets Manager.
	secretTimeout = 3 * time.Second
)

// secrets opens secrets of one account.
type secrets struct{ client func() *secretsmanager.Client }

// secret is the text of one secret, read again when it is older than secretLife.
type secret struct {
	client func() *secretsmanager.Client
	id     string

	turn  chan struct{} // held by the one that reads
	value string
	read  time.Time
}

// open starts reading the secret at once, while the function starts, so that the first request does not wait for it.
func (s *secrets) open(id string) *secret {
	one := &secret{client: s.client, id: id, turn: make(chan struct{}, 1)}
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), secretTimeout)
		defer cancel()
		_, _ = one.text(ctx) // whoever needs it asks again and hears the error
	}()
	return one
}

// text gives the secret. Callers that come while it is being read wait for that, or for their context. It returns the error of
// Secrets Manager, which names the secret and never holds it.
func (s *secret) text(ctx context.Context) (string, error) {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if s.value != "" && time.Since(s.read) < secretLife {
		return s.value, nil
	}
	ctx, cancel := context.WithTimeout(ctx, secretTimeout)
	defer cancel()
	answer, err := s.client().GetSecretValue(ctx, &secretsmanager.GetSecretValueInput{SecretId: &s.id})
	if err != nil {
		return "", fmt.Errorf("boot: secret: %w", err)
	}
	s.value, s.read = aws.ToString(answer.SecretString), time.Now()
	return s.value, nil
}
