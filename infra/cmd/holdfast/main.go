// Command holdfast is the operator's and developer's tool: it runs the local stack, a crowd against it, and the benchmarks.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
)

// commands is the command line; kong makes the help from it.
type commands struct {
	Up          upCommand          `cmd:"" help:"Run the local stack in the foreground: Redis, MariaDB, queues, schedules, and the API."`
	Demo        demoCommand        `cmd:"" help:"Run a real flash sale on a stack of its own, and prove the result."`
	Crowd       crowdCommand       `cmd:"" help:"Send a crowd of buyers at a running stack, and check the result against both stores."`
	Bench       benchCommand       `cmd:"" help:"Measure; every figure is a ratio inside one run."`
	Sim         simCommand         `cmd:"" help:"Play seeds: the functions against real stores, one step at a time, with everything failing that can fail."`
	Drill       drillCommand       `cmd:"" help:"Break a whole stack of its own under load, process by process, and see whether it mends itself."`
	Mutants     mutantsCommand     `cmd:"" help:"Plant defects one at a time, and demand that the tests notice each of them."`
	Certificate certificateCommand `cmd:"" help:"Prove, equation by equation, that both stores agree about an activity."`
	Explain     explainCommand     `cmd:"" help:"Tell what happened to an order, or to a user who got nothing."`
	Servers     serversCommand     `cmd:"" help:"Start a Redis and a MariaDB in memory, run a command with their addresses, stop them."`
	Install     installCommand     `cmd:"" help:"Install redis-server and mariadbd where they are missing."`
}

func main() {
	var cli commands
	parsed := kong.Parse(&cli, kong.Name("holdfast"), kong.UsageOnError(),
		kong.Description("Flash sales and ticket reservations that lose nothing and sell nothing twice."))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	parsed.BindTo(ctx, (*context.Context)(nil))
	err := parsed.Run()
	var status exitStatus
	switch {
	case err == nil:
	case errors.As(err, &status):
		os.Exit(int(status))
	default:
		fmt.Fprintln(os.Stderr, "holdfast:", err)
		os.Exit(1)
	}
}

// exitStatus ends the program with this status and no further word.
type exitStatus int

func (s exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }
