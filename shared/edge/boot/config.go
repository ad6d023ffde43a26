package boot

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"holdfast/shared/edge"
)

// Need names a part of the environment that a function reads.
type Need int

// What functions need. OrdersQueue is the queue to create-orders, DeadLetterQueue where it sets messages aside; StateMachine waits for
// the instants of deposits; NoticesQueue wakes send-notices, NoticesTopic is what it publishes to; Provider charges buyers;
// ExportsBucket is where exports are written.
const (
	Redis Need = iota + 1
	MySQL
	OrdersQueue
	DeadLetterQueue
	StateMachine
	NoticesQueue
	NoticesTopic
	Provider
	ExportsBucket
)

// ErrConfig is returned for an environment that a function cannot run in; its text names every variable that is wrong, and quotes
// no value.
var ErrConfig = errors.New("boot: bad environment")

// Config is what the environment says. Parts that were not asked for are empty.
type Config struct {
	RedisAddr    string
	RedisCluster bool
	RedisTLS     bool
	RedisSecret  string // id of the secret whose whole text is the token; empty: none is asked for

	MySQLDSN    string // complete, or without user and password when MySQLSecret says them
	MySQLSecret string // id of the secret {"username","password"}; empty: the DSN has them

	OrdersQueueURL     string
	DeadLetterQueueURL string
	StateMachineARN    string
	NoticesQueueURL    string
	NoticesTopicARN    string
	ExportsBucket      string // empty: there is none, and exports that are asked for wait
	AWSEndpoint        string // instead of the real ones; of the local stack

	ProviderURL    string // of the payment provider; empty: there is none, and buyers pay by their wallets
	ProviderKey    string // what both sides sign with, where it is no secret: on a local stack
	ProviderSecret string // id of the secret whose whole text is that key; empty: there is none

	Claims edge.Claims
}

// FromEnv reads what the needs demand. It returns ErrConfig with every mistake at once.
func FromEnv(needs ...Need) (Config, error) {
	r := reader{}
	c := Config{
		AWSEndpoint: r.optional("HOLDFAST_AWS_ENDPOINT", ""),
		Claims: edge.Claims{UserID: r.optional("HOLDFAST_USER_ID_CLAIM", "sub"),
			Operator: r.optional("HOLDFAST_OPERATOR_CLAIM", "scope")},
	}
	for _, need := range needs {
		switch need {
		case Redis:
			c.RedisAddr = r.required("HOLDFAST_REDIS_ADDR")
			c.RedisCluster = r.flag("HOLDFAST_REDIS_CLUSTER")
			c.RedisTLS = r.flag("HOLDFAST_REDIS_TLS")
			c.RedisSecret = r.given("HOLDFAST_REDIS_AUTH_SECRET")
		case MySQL:
			r.mysql(&c)
		case OrdersQueue:
			c.OrdersQueueURL = r.required("HOLDFAST_ORDERS_QUEUE_URL")
		case DeadLetterQueue:
			c.DeadLetterQueueURL = r.required("HOLDFAST_DEAD_LETTER_QUEUE_URL")
		case StateMachine:
			c.StateMachineARN = r.required("HOLDFAST_STATE_MACHINE_ARN")
		case NoticesQueue:
			c.NoticesQueueURL = r.required("HOLDFAST_NOTICES_QUEUE_URL")
		case NoticesTopic:
			c.NoticesTopicARN = r.required("HOLDFAST_NOTICES_TOPIC_ARN")
		case ExportsBucket:
			c.ExportsBucket = r.given("HOLDFAST_EXPORTS_BUCKET")
		case Provider:
			c.ProviderURL = r.given("HOLDFAST_PROVIDER_URL")
			r.providerKey(&c)
		}
	}
	return c, errors.Join(r.mistakes...)
}

// reader gathers mistakes while it reads.
type reader struct{ mistakes []error }

func (r *reader) wrong(name, what string) {
	r.mistakes = append(r.mistakes, fmt.Errorf("%w: %s %s", ErrConfig, name, what))
}

func (r *reader) optional(name, otherwise string) string {
	if s := os.Getenv(name); s != "" {
		return s
	}
	return otherwise
}

func (r *reader) required(name string) string {
	s := os.Getenv(name)
	if s == "" {
		r.wrong(name, "is missing")
	}
	return s
}

func (r *reader) flag(name string) bool {
	on, err := strconv.ParseBool(r.optional(name, "false"))
	if err != nil {
		r.wrong(name, "is neither true nor false")
	}
	return on
}

// given reads what may be absent. A template that joins stacks cannot pass an empty value on, and writes "none".
func (r *reader) given(name string) string {
	if s := os.Getenv(name); s != "none" {
		return s
	}
	return ""
}

// providerKey reads either the key that the provider and we sign with, or the secret that it is in; neither where there is no provider.
func (r *reader) providerKey(c *Config) {
	c.ProviderKey, c.ProviderSecret = os.Getenv("HOLDFAST_PROVIDER_KEY"), r.given("HOLDFAST_PROVIDER_SECRET")
	if c.ProviderURL != "" && c.ProviderKey == "" && c.ProviderSecret == "" {
		r.wrong("HOLDFAST_PROVIDER_SECRET", "is missing, and HOLDFAST_PROVIDER_URL is not")
	}
}

// mysql reads either a whole DSN, or its parts with the password in a secret.
func (r *reader) mysql(c *Config) {
	if c.MySQLDSN = os.Getenv("HOLDFAST_MYSQL_DSN"); c.MySQLDSN != "" {
		return
	}
	address, database := r.required("HOLDFAST_MYSQL_ADDR"), r.required("HOLDFAST_MYSQL_DATABASE")
	if c.MySQLSecret = r.given("HOLDFAST_MYSQL_SECRET"); c.MySQLSecret == "" {
		r.wrong("HOLDFAST_MYSQL_SECRET", "is missing; without it give HOLDFAST_MYSQL_DSN")
	}
	c.MySQLDSN = fmt.Sprintf("tcp(%s)/%s?tls=%t", address, database, r.flag("HOLDFAST_MYSQL_TLS"))
}
