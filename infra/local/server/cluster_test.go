package server

import (
	"testing"

	"github.com/redis/go-redis/v9"
)

func TestClusterServesAllSlotsOnThreeMastersAndAgainAfterANodeWasKilled(t *testing.T) {
	t.Parallel()
	c, err := RedisCluster(t.Context(), scratchDir(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Kill)
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: c.Addrs()})
	defer client.Close()
	ranges, err := client.ClusterSlots(t.Context()).Result()
	if err != nil {
		t.Fatal(err)
	}
	slots, owners := 0, map[string]bool{}
	for _, r := range ranges {
		slots += r.End - r.Start + 1
		owners[r.Nodes[0].Addr] = true
	}
	if slots != clusterSlots || len(owners) != clusterNodes {
		t.Fatalf("%d slots on %d masters", slots, len(owners))
	}
	for _, key := range []string{"a", "b", "c", "d", "e", "f"} {
		if err := client.Set(t.Context(), key, "1", 0).Err(); err != nil {
			t.Fatal(err)
		}
	}

	c.Nodes[1].Kill()
	if err := c.Nodes[1].Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	direct := redis.NewClient(&redis.Options{Addr: c.Nodes[1].Addr})
	defer direct.Close()
	if err := awaitCluster(t.Context(), direct, c.Nodes[1].Done()); err != nil {
		t.Fatalf("the restarted node forgot its cluster: %v", err)
	}
}
