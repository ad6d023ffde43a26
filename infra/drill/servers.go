package drill

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"holdfast/infra/local/server"
)

// restartLimit bounds how long a server may take to come back.
const restartLimit = 60 * time.Second

// killMariaDB ends the database as a crash would, and starts it again on its data.
func killMariaDB(ctx context.Context, w *world, random *rand.Rand) error {
	w.db.cut() // with the server goes whoever listens at its address
	db := w.stack.DatabaseServer()
	db.Kill()
	pause(ctx, hold(random)/2)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), restartLimit)
	defer cancel()
	if err := db.Restart(ctx); err != nil {
		return err
	}
	return w.db.mend(ctx)
}

// killRedis ends Redis, which keeps nothing on disk, and starts an empty one at its address.
func killRedis(ctx context.Context, w *world, random *rand.Rand) error {
	return w.exchangeRedis(ctx, hold(random)/2, w.nextDir())
}

// exchangeRedis kills the Redis that serves and, after a while, starts another at its address from what stands in a folder.
func (w *world) exchangeRedis(ctx context.Context, away time.Duration, dir string) error {
	w.redis.cut()
	before := w.serving()
	before.Kill()
	pause(ctx, away)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), restartLimit)
	defer cancel()
	if err := w.replaceRedis(ctx, dir, before.Port); err != nil {
		return err
	}
	return w.redis.mend(ctx)
}

// redisFromOldCopy has Redis come back with what it held some seconds before its death.
func redisFromOldCopy(ctx context.Context, w *world, random *rand.Rand) error {
	before := w.serving()
	if err := askRedis(context.WithoutCancel(ctx), before, func(c *redis.Client) error { return c.Save(context.WithoutCancel(ctx)).Err() }); err != nil {
		return fmt.Errorf("copy Redis: %w", err)
	}
	pause(ctx, hold(random)) // what is lost
	dir := w.nextDir()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(before.Dir(), copyFile), filepath.Join(dir, copyFile)); err != nil {
		return err
	}
	if err := w.exchangeRedis(ctx, hold(random)/4, dir); err != nil {
		return err
	}
	return os.Remove(filepath.Join(dir, copyFile)) // the next one starts empty
}

// copyFile is what Redis writes its copy to, and reads at its start.
const copyFile = "dump.rdb"

// failOver makes a replica, has it fall behind, and puts it in its master's place: what the master acknowledged meanwhile is gone.
func failOver(ctx context.Context, w *world, random *rand.Rand) (err error) {
	master := w.serving()
	link, err := openWire("replication", master.Addr)
	if err != nil {
		return err
	}
	defer link.cut()
	host, port, _ := strings.Cut(link.addr(), ":")
	patient, cancel := context.WithTimeout(context.WithoutCancel(ctx), restartLimit)
	defer cancel()
	replica, err := server.Redis(patient, server.RedisOptions{Dir: w.nextDir(), Args: []string{"--replicaof", host, port}})
	if err != nil {
		return err
	}
	served := false
	defer func() {
		if !served {
			replica.Kill()
		}
	}()
	if err := awaitReplica(patient, replica); err != nil {
		return err
	}
	if err := link.swallow("downstream", 1); err != nil {
		return err
	}
	pause(ctx, hold(random)/2)
	w.redis.cut()
	master.Kill()
	pause(ctx, hold(random)/4) // until somebody notices
	if err := askRedis(patient, replica, func(c *redis.Client) error { return c.ReplicaOf(patient, "NO", "ONE").Err() }); err != nil {
		return fmt.Errorf("promote the replica: %w", err)
	}
	served = true
	w.serveFrom(replica)
	return w.redis.mend(patient)
}

// awaitReplica waits until the replica has all that its master has.
func awaitReplica(ctx context.Context, replica *server.Process) error {
	for ctx.Err() == nil {
		synced := false
		err := askRedis(ctx, replica, func(c *redis.Client) error {
			info, err := c.Info(ctx, "replication").Result()
			synced = strings.Contains(info, "master_link_status:up")
			return err
		})
		if err == nil && synced {
			return nil
		}
		pause(ctx, 50*time.Millisecond)
	}
	return errors.New("the replica does not catch up with its master")
}
