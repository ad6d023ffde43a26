package boot

import (
	"errors"
	"strings"
	"testing"
)

func TestEnvironmentsAreReadAsTheNeedsSay(t *testing.T) {
	t.Setenv("HOLDFAST_REDIS_ADDR", "cache:6379")
	t.Setenv("HOLDFAST_REDIS_TLS", "true")
	t.Setenv("HOLDFAST_REDIS_AUTH_SECRET", "none")
	t.Setenv("HOLDFAST_MYSQL_ADDR", "proxy:3306")
	t.Setenv("HOLDFAST_MYSQL_DATABASE", "holdfast")
	t.Setenv("HOLDFAST_MYSQL_SECRET", "arn:secret")
	t.Setenv("HOLDFAST_MYSQL_TLS", "true")
	c, err := FromEnv(Redis, MySQL)
	if err != nil {
		t.Fatal(err)
	}
	if c.RedisAddr != "cache:6379" || !c.RedisTLS || c.RedisCluster || c.RedisSecret != "" {
		t.Errorf("redis: %+v", c)
	}
	if c.MySQLDSN != "tcp(proxy:3306)/holdfast?tls=true" || c.MySQLSecret != "arn:secret" {
		t.Errorf("mysql: %+v", c)
	}
	if c.Claims.UserID != "sub" || c.Claims.Operator != "scope" {
		t.Errorf("claims: %+v", c.Claims)
	}
	if _, err := Open(c); err != nil {
		t.Errorf("open: %v", err)
	}
	if c, err = FromEnv(); err != nil || c.RedisAddr != "" || c.MySQLDSN != "" {
		t.Errorf("without needs: %+v, %v", c, err)
	}
}

func TestEveryMistakeIsNamedAtOnceAndNoValueQuoted(t *testing.T) {
	t.Setenv("HOLDFAST_REDIS_CLUSTER", "sometimes")
	t.Setenv("HOLDFAST_MYSQL_ADDR", "secret-host:3306")
	t.Setenv("HOLDFAST_PROVIDER_URL", "https://secret-host")
	_, err := FromEnv(Redis, MySQL, OrdersQueue, DeadLetterQueue, StateMachine, NoticesQueue, NoticesTopic, Provider)
	if !errors.Is(err, ErrConfig) {
		t.Fatal(err)
	}
	for _, name := range []string{"HOLDFAST_REDIS_ADDR", "HOLDFAST_REDIS_CLUSTER", "HOLDFAST_MYSQL_DATABASE", "HOLDFAST_MYSQL_SECRET",
		"HOLDFAST_ORDERS_QUEUE_URL", "HOLDFAST_DEAD_LETTER_QUEUE_URL",
		"HOLDFAST_STATE_MACHINE_ARN", "HOLDFAST_NOTICES_QUEUE_URL", "HOLDFAST_NOTICES_TOPIC_ARN", "HOLDFAST_PROVIDER_SECRET"} {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%s is not named", name)
		}
	}
	if strings.Contains(err.Error(), "secret-host") || strings.Contains(err.Error(), "sometimes") {
		t.Errorf("a value is quoted: %v", err)
	}
}

func TestAProviderIsReachedOnlyWhereOneIsNamed(t *testing.T) {
	t.Setenv("HOLDFAST_PROVIDER_URL", "none")
	t.Setenv("HOLDFAST_PROVIDER_SECRET", "none")
	c, err := FromEnv(Provider)
	if err != nil {
		t.Fatal(err)
	}
	clients, err := Open(c)
	if d := clients.Deps(c.Claims); err != nil || clients.Outside.Provider != nil || d.WebhookSecret != nil {
		t.Errorf("without a provider: %+v, %v", d, err)
	}
	t.Setenv("HOLDFAST_PROVIDER_URL", "https://provider.example.com")
	t.Setenv("HOLDFAST_PROVIDER_KEY", "key-of-the-test")
	if c, err = FromEnv(Provider); err != nil {
		t.Fatal(err)
	}
	clients, err = Open(c)
	if err != nil {
		t.Fatal(err)
	}
	d := clients.Deps(c.Claims)
	if key, err := d.WebhookSecret(t.Context()); clients.Outside.Provider == nil || string(key) != "key-of-the-test" || err != nil {
		t.Errorf("with a provider: %+v, %q, %v", d, key, err)
	}
}
