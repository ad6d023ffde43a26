package server

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// RedisOptions says where and how a redis-server runs.
type RedisOptions struct {
	Dir     string   // its own folder; made when missing
	Port    int      // 0 picks a free one
	Args    []string // more settings, for example "--maxmemory", "8mb"; they win over ours
	Cluster bool     // a node of a cluster, without slots yet
}

// Redis starts a redis-server that answers on 127.0.0.1 and returns once it does. Like the production cache it evicts
// nothing (noeviction) and keeps nothing on disk, so it is empty after each start. The error is ErrPortTaken when the
// asked port belongs to another program.
func Redis(ctx context.Context, o RedisOptions) (*Process, error) {
	program, err := find("redis-server")
	if err != nil {
		return nil, err
	}
	dir, err := makeDir(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("redis-server: %w", err)
	}
	bus := 0
	if o.Cluster {
		// The default bus port is 10000 above the port, which may be taken or not exist.
		if bus, err = FreePort(); err != nil {
			return nil, err
		}
	}
	logFile := filepath.Join(dir, "redis.log")
	return launch(ctx, spec{
		name: "redis-server", program: program, dir: dir, logFile: logFile,
		args:  func(port int) []string { return redisArgs(o, dir, logFile, port, bus) },
		ready: redisReady,
	}, o.Port)
}

func redisArgs(o RedisOptions, dir, logFile string, port, bus int) []string {
	args := []string{
		"--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--dir", dir, "--logfile", logFile,
		"--daemonize", "no", "--save", "", "--appendonly", "no", "--maxmemory-policy", "noeviction",
	}
	if o.Cluster {
		args = append(args, "--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf",
			"--cluster-port", strconv.Itoa(bus), "--cluster-node-timeout", clusterTimeout)
	}
	return append(args, o.Args...)
}

// redisReady asks for the process id too: on a taken port another Redis would answer in place of ours.
func redisReady(ctx context.Context, port, pid int) error {
	addr := "127.0.0.1:" + strconv.Itoa(port)
	// The client prints each refused connection, which here is no news.
	conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp4", addr)
	if err != nil {
		return err
	}
	_ = conn.Close()
	c := redis.NewClient(&redis.Options{
		Addr: addr, MaxRetries: -1, DialerRetries: 1, PoolSize: 1,
		DialTimeout: time.Second, ReadTimeout: 2 * time.Second, ContextTimeoutEnabled: true,
	})
	defer c.Close()
	info, err := c.Info(ctx, "server").Result()
	if err != nil {
		return err
	}
	if !strings.Contains(info, "process_id:"+strconv.Itoa(pid)+"\r\n") {
		return fmt.Errorf("another redis-server answers on port %d", port)
	}
	return nil
}

// makeDir returns the absolute path of the folder and makes it, for its owner only, when it is missing.
func makeDir(dir string) (string, error) {
	if dir == "" {
		return "", fmt.Errorf("no folder given")
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return abs, os.MkdirAll(abs, 0o700)
}
