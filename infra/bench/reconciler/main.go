// Command reconciler reconciles one sale in full, again and again, until it gets SIGTERM. The benchmark of repair runs it beside a load.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"holdfast/infra/bench"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "reconciler:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("it takes an activity id and the number of its orders, not %d arguments", len(args))
	}
	entries, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	return bench.ReconcileLoop(ctx, os.Getenv(bench.EnvRedis), os.Getenv(bench.EnvMySQL), bench.Ledger{ActivityID: args[0], Entries: entries})
}
