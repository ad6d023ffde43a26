package mutants

import (
	"context"
	"path/filepath"

	"holdfast/infra/local/server"
)

// withServers starts a Redis and a MariaDB in memory, hands their addresses to do as the variables that tests look for, and stops
// them afterwards. Every test uses databases and keys of its own, so that a defect spoils nothing for the next one.
func withServers(ctx context.Context, do func(env []string) error) error {
	dir, release, err := server.Scratch()
	if err != nil {
		return err
	}
	defer release()
	cache, err := server.Redis(ctx, server.RedisOptions{Dir: filepath.Join(dir, "redis")})
	if err != nil {
		return err
	}
	defer cache.Kill()
	db, err := server.MariaDB(ctx, server.MariaDBOptions{Dir: filepath.Join(dir, "mariadb")})
	if err != nil {
		return err
	}
	defer db.Kill()
	return do(server.TestEnv(cache.Addr, db.DSN))
}
