package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// Tests use the servers that these two variables name, and start their own where they are unset.
const (
	EnvTestRedis = "HOLDFAST_TEST_REDIS" // "127.0.0.1:port"
	EnvTestMySQL = "HOLDFAST_TEST_MYSQL" // "user:password@tcp(127.0.0.1:port)/database", a user who may create databases
)

// TestEnv is an env for Run: the two variables through which tests find their servers.
func TestEnv(redisAddr, mysqlDSN string) []string {
	return []string{EnvTestRedis + "=" + redisAddr, EnvTestMySQL + "=" + mysqlDSN}
}

// Run starts a Redis and a MariaDB in memory, runs the command with env's variables added to our own environment, stops
// both and removes their data. It returns the command's exit status; the error is for what kept the command from running,
// then the status is -1. When ctx ends the command gets SIGTERM, and ten seconds later SIGKILL.
func Run(ctx context.Context, stdout, stderr io.Writer, args []string, env func(redisAddr, mysqlDSN string) []string) (status int, err error) {
	if len(args) == 0 {
		return -1, errors.New("no command to run")
	}
	dir, release, err := Scratch()
	if err != nil {
		return -1, err
	}
	defer release()
	cache, err := Redis(ctx, RedisOptions{Dir: filepath.Join(dir, "redis")})
	if err != nil {
		return -1, err
	}
	defer cache.Kill()
	db, err := MariaDB(ctx, MariaDBOptions{Dir: filepath.Join(dir, "mariadb")})
	if err != nil {
		return -1, err
	}
	defer db.Kill()

	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = append(os.Environ(), env(cache.Addr, db.DSN)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, stdout, stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.ExitCode() >= 0:
		return exit.ExitCode(), nil
	case errors.As(err, &exit):
		// The shell's convention for a command that a signal ended.
		return 128 + int(exit.Sys().(syscall.WaitStatus).Signal()), nil
	case err != nil:
		return -1, fmt.Errorf("run %s: %w", args[0], err)
	}
	return 0, nil
}
