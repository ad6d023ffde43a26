package bench

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"holdfast/shared/checkout"
	"holdfast/shared/reconcile"
	"holdfast/shared/stock"
)

// Ledger is a sale whose orders are all sound, and how many it has.
type Ledger struct {
	ActivityID string
	Entries    int
}

// newReconciler is a reconciler as another instance would be one.
func newReconciler(rdb *redis.Client, d *database) *reconcile.Reconciler {
	st := stock.New(rdb, nil)
	return reconcile.New(d.db, st, d.catalog, checkout.New(d.db, st, d.catalog, nil), nil, nil)
}

func newRedis(addr string) *redis.Client {
	return redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1, ContextTimeoutEnabled: true,
		DialTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second})
}

// once runs one full reconcile, which must find every order consistent. Where the stack itself is at it, which the minute pass is after a
// loss, it waits.
func (l Ledger) once(ctx context.Context, r *reconcile.Reconciler) (time.Duration, error) {
	var run reconcile.Run
	var begin time.Time
	for run.Status == "" || run.Status == reconcile.StatusRunning && ctx.Err() == nil {
		if run.Status != "" {
			time.Sleep(100 * time.Millisecond)
		}
		begin = time.Now()
		var err error
		if run, err = r.Reconcile(ctx, reconcile.RunRequest{ActivityID: l.ActivityID, Mode: reconcile.Repairing, Cause: reconcile.ByOperator}); err != nil {
			return 0, err
		}
	}
	if run.Status != reconcile.StatusSucceeded || run.Checked != int64(l.Entries) || run.Consistent != run.Checked || run.Differences != 0 {
		return 0, fmt.Errorf("the reconcile of a sound ledger ended %s: %d checked, %d consistent, %d differences; %s", run.Status, run.Checked,
			run.Consistent, run.Differences, run.Problem)
	}
	return time.Since(begin), nil
}

// ReconcileLoop reconciles the ledger again and again until ctx ends. It returns the error of the first run that fails before that.
func ReconcileLoop(ctx context.Context, redisAddr, dsn string, l Ledger) error {
	rdb := newRedis(redisAddr)
	defer func() { _ = rdb.Close() }()
	d, err := attach(dsn, 4)
	if err != nil {
		return err
	}
	defer d.close()
	r := newReconciler(rdb, d)
	for ctx.Err() == nil {
		if _, err := l.once(ctx, r); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// reconcilerProcess is a ReconcileLoop in a process of its own.
type reconcilerProcess struct {
	cmd  *exec.Cmd
	said bytes.Buffer
}

// buildReconciler builds the program of reconcilerProcess into dir.
func buildReconciler(ctx context.Context, dir string) (string, error) {
	root, err := sourceTree(ctx)
	if err != nil {
		return "", err
	}
	program := filepath.Join(dir, "reconciler")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", program, "./infra/bench/reconciler")
	cmd.Dir = root
	if said, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the reconciler: %w\n%s", err, said)
	}
	return program, nil
}

// startReconciler starts the program at the lowest priority: in Lambda it has a processor of its own, and takes none from buyers.
func startReconciler(program, redisAddr, dsn string, l Ledger) (*reconcilerProcess, error) {
	// Not by a system call after the start, which on Linux reaches one thread only.
	p := &reconcilerProcess{cmd: exec.Command("nice", "-n", "19", program, l.ActivityID, strconv.Itoa(l.Entries))}
	p.cmd.Env = append(p.cmd.Environ(), EnvRedis+"="+redisAddr, EnvMySQL+"="+dsn)
	p.cmd.Stdout, p.cmd.Stderr = &p.said, &p.said
	return p, p.cmd.Start()
}

// Variables of the program's environment, since a DSN bears a password and arguments are seen by everybody.
const (
	EnvRedis = "HOLDFAST_BENCH_REDIS"
	EnvMySQL = "HOLDFAST_BENCH_MYSQL"
)

// stop ends the program. It returns an error when it had ended before, or ends with one.
func (p *reconcilerProcess) stop() error {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended, which Wait tells
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("the reconciler: %w: %s", err, p.said.String())
	}
	return nil
}
