package local

import (
	"context"
	"crypto/rand"

	simulated "holdfast/infra/local/provider"
	"holdfast/shared/edge/provider"
	"holdfast/shared/payment"
)

// providerPath is where the front serves the payment provider, for functions and for whoever steers it.
const providerPath = "/local/provider"

// startProvider starts the payment provider, which calls the webhook at the front's address.
func (s *Stack) startProvider(front string) {
	s.Addresses.Provider, s.Addresses.ProviderKey = "http://"+front+providerPath, rand.Text()
	s.provider = simulated.Start(simulated.Options{Key: []byte(s.Addresses.ProviderKey), Now: s.clock.Now,
		Webhook: func() string { return "http://" + front + "/v1/payments/notifications" }})
	s.closers = append(s.closers, s.provider.Close)
}

// providerClient is how functions in this process speak with the provider.
func (s *Stack) providerClient() payment.Provider {
	return provider.New(s.Addresses.Provider, s.providerKey, s.clock.Now)
}

func (s *Stack) providerKey(context.Context) ([]byte, error) {
	return []byte(s.Addresses.ProviderKey), nil
}
