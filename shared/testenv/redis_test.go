package testenv

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

func TestActivityIDIsLegalAndNeverTheSameTwice(t *testing.T) {
	t.Parallel()
	legal := regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	seen := map[string]bool{}
	t.Run("a name of odd characters: Ä / "+strings.Repeat("long", 30), func(t *testing.T) {
		for range 1000 {
			id := ActivityID(t)
			if !legal.MatchString(id) {
				t.Fatalf("illegal activity id %q", id)
			}
			if seen[id] {
				t.Fatalf("activity id %q came twice", id)
			}
			seen[id] = true
		}
	})
}

func TestRedisIsSharedAndAnswers(t *testing.T) {
	t.Parallel()
	a, b, key := Redis(t), Redis(t), ActivityID(t)
	if err := a.Set(t.Context(), key, "1", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if got, err := b.Get(t.Context(), key).Result(); err != nil || got != "1" {
		t.Fatalf("the second client reads %q, %v", got, err)
	}
	opts, err := redis.ParseURL(RedisURL(t))
	if err != nil || opts.Addr != a.Options().Addr {
		t.Fatalf("RedisURL names %v, %v; want %s", opts, err, a.Options().Addr)
	}
}

func TestClusterSpreadsKeysOverThreeMasters(t *testing.T) {
	t.Parallel()
	c := Cluster(t)
	for range 30 {
		if err := c.Set(t.Context(), ActivityID(t), "1", time.Minute).Err(); err != nil {
			t.Fatal(err)
		}
	}
	slots, err := c.ClusterSlots(t.Context()).Result()
	if err != nil || len(slots) != 3 {
		t.Fatalf("got %d slot ranges, %v; want 3", len(slots), err)
	}
}

func TestOwnRedisTakesSettingsAndComesBackEmptyAfterAKill(t *testing.T) {
	t.Parallel()
	own := OwnRedis(t, "--maxmemory", "7mb")
	c := RedisClient(t, own.Addr)
	if got := c.ConfigGet(t.Context(), "maxmemory").Val()["maxmemory"]; got != "7340032" {
		t.Fatalf("maxmemory is %q", got)
	}
	if err := c.Set(t.Context(), "k", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
	own.Kill()
	if err := c.Get(t.Context(), "k").Err(); err == nil {
		t.Fatal("a killed server answered")
	}
	if err := own.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.Get(t.Context(), "k").Err(); err != redis.Nil {
		t.Fatalf("after the restart the key reads %v, want redis.Nil", err)
	}
}
