package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"holdfast/infra/local"
	"holdfast/infra/local/server"
)

// upCommand runs the stack until it is told to stop.
type upCommand struct {
	Port    int    `default:"8088" help:"Port of the API on 127.0.0.1; 0 picks a free one."`
	DataDir string `default:".holdfast" help:"Folder for the data of both servers, the logs, and stack.json." type:"path"`
	Fresh   bool   `help:"Empty the data folder first."`
	Redis   string `help:"Address of a running Redis to attach to, instead of starting one." placeholder:"HOST:PORT"`
	MySQL   string `name:"mysql" help:"DSN of a running MariaDB or MySQL to attach to." placeholder:"USER:PASS@tcp(HOST:PORT)/DB"`

	Processes bool `help:"Run the functions as the processes that they are in Lambda, built from their source, several instances each."`
}

// Run implements the command.
func (c *upCommand) Run(ctx context.Context) error {
	stack, err := local.Up(ctx, local.Options{Port: c.Port, DataDir: c.DataDir, Fresh: c.Fresh, Redis: c.Redis, MySQL: c.MySQL,
		Processes: c.Processes, Out: os.Stdout})
	if err != nil {
		return err
	}
	defer stack.Close()
	fmt.Printf("Holdfast serves at %s (addresses in %s, logs in %s). Ctrl-C ends it.\n", stack.Addresses.API,
		filepath.Join(c.DataDir, local.AddressFile), filepath.Join(c.DataDir, local.LogFile))
	<-ctx.Done()
	fmt.Println("stopping …")
	return nil
}

// serversCommand runs a command between the start and the end of two servers.
type serversCommand struct {
	Command []string `arg:"" passthrough:"" help:"The command and its arguments, after --."`
}

// Run implements the command.
func (c *serversCommand) Run(ctx context.Context) error {
	args := c.Command
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	status, err := server.Run(ctx, os.Stdout, os.Stderr, args, server.TestEnv)
	if err == nil && status != 0 {
		return exitStatus(status)
	}
	return err
}

// installCommand installs the servers.
type installCommand struct{}

// Run implements the command.
func (c *installCommand) Run(ctx context.Context) error {
	return server.EnsureInstalled(ctx, os.Stdout)
}
