package server

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// clusterSlots is the number of hash slots of every Redis Cluster.
const clusterSlots = 16384

// clusterNodes is the least number of masters with which a Redis Cluster can agree on anything.
const clusterNodes = 3

// A node that starts holds back for as long as its timeout before it serves. It starts with a short one, and gets a long
// one then, so that a node is not given up because the machine is busy. Both in ms.
const clusterTimeout, clusterTimeoutServing = "1000", "15000"

// Cluster is a Redis Cluster of three masters without replicas. Node i serves the i-th third of the slots.
type Cluster struct {
	Nodes []*Process
}

// RedisCluster starts three nodes below dir, gives them all slots and returns once each of them says cluster_state:ok.
// args are added to the settings of every node. On an error nothing is left running.
func RedisCluster(ctx context.Context, dir string, args ...string) (*Cluster, error) {
	c := &Cluster{}
	for i := range clusterNodes {
		node, err := Redis(ctx, RedisOptions{Dir: filepath.Join(dir, strconv.Itoa(i)), Cluster: true, Args: args})
		if err != nil {
			c.Kill()
			return nil, fmt.Errorf("cluster node %d: %w", i, err)
		}
		c.Nodes = append(c.Nodes, node)
	}
	if err := c.join(ctx); err != nil {
		c.Kill()
		return nil, err
	}
	return c, nil
}

// Addrs returns "127.0.0.1:port" of every node.
func (c *Cluster) Addrs() []string {
	addrs := make([]string, len(c.Nodes))
	for i, n := range c.Nodes {
		addrs[i] = n.Addr
	}
	return addrs
}

// Kill kills every node.
func (c *Cluster) Kill() {
	for _, n := range c.Nodes {
		n.Kill()
	}
}

// join assigns the slots, introduces the nodes to each other and waits until all agree.
func (c *Cluster) join(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	clients := make([]*redis.Client, len(c.Nodes))
	for i, n := range c.Nodes {
		clients[i] = redis.NewClient(&redis.Options{Addr: n.Addr, MaxRetries: -1, DialerRetries: 1})
		defer clients[i].Close()
	}
	for i, client := range clients {
		from, to := i*clusterSlots/clusterNodes, (i+1)*clusterSlots/clusterNodes-1
		if err := client.ClusterAddSlotsRange(ctx, from, to).Err(); err != nil {
			return fmt.Errorf("cluster: give slots to node %d: %w", i, err)
		}
		// Without distinct epochs two nodes would first have to settle a collision.
		if err := client.Do(ctx, "CLUSTER", "SET-CONFIG-EPOCH", i+1).Err(); err != nil {
			return fmt.Errorf("cluster: set the epoch of node %d: %w", i, err)
		}
	}
	if err := c.meet(ctx, clients); err != nil {
		return err
	}
	for i, client := range clients {
		if err := awaitCluster(ctx, client, c.Nodes[i].Done()); err != nil {
			return fmt.Errorf("cluster: node %d: %w", i, err)
		}
		if err := client.ConfigSet(ctx, "cluster-node-timeout", clusterTimeoutServing).Err(); err != nil {
			return fmt.Errorf("cluster: node %d: %w", i, err)
		}
	}
	return nil
}

// meet introduces every node to every other: waiting until they hear of each other by gossip takes seconds.
func (c *Cluster) meet(ctx context.Context, clients []*redis.Client) error {
	for i, n := range c.Nodes {
		bus, err := busPort(ctx, clients[i])
		if err != nil {
			return fmt.Errorf("cluster: bus port of node %d: %w", i, err)
		}
		for j, client := range clients[:i] {
			if err := client.Do(ctx, "CLUSTER", "MEET", "127.0.0.1", n.Port, bus).Err(); err != nil {
				return fmt.Errorf("cluster: node %d meets node %d: %w", j, i, err)
			}
		}
	}
	return nil
}

// busPort reads a node's bus port: its own line of CLUSTER NODES has "ip:port@busport".
func busPort(ctx context.Context, client *redis.Client) (int, error) {
	nodes, err := client.ClusterNodes(ctx).Result()
	if err != nil {
		return 0, fmt.Errorf("cluster: read nodes: %w", err)
	}
	_, rest, _ := strings.Cut(nodes, "@")
	end := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
	return strconv.Atoi(rest[:max(end, 0)])
}

// awaitCluster waits until a node serves: a fresh one holds back for two seconds even when all is well.
func awaitCluster(ctx context.Context, client *redis.Client, ended <-chan struct{}) error {
	want := []string{"cluster_state:ok", "cluster_known_nodes:" + strconv.Itoa(clusterNodes), "cluster_slots_ok:" + strconv.Itoa(clusterSlots)}
	for {
		info, err := client.ClusterInfo(ctx).Result()
		missing := ""
		for _, w := range want {
			if !strings.Contains(info, w+"\r\n") {
				missing = w
				break
			}
		}
		if err == nil && missing == "" {
			return nil
		}
		select {
		case <-ended:
			return errExited
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", missing, errors.Join(ctx.Err(), err))
		case <-time.After(20 * time.Millisecond):
		}
	}
}
