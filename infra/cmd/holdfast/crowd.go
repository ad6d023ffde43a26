package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"holdfast/infra/crowd"
	"holdfast/infra/local"
)

// crowdSize is how large a crowd comes; crowd and demo take the same flags.
type crowdSize struct {
	Users    int           `default:"5000" help:"Distinct buyers."`
	Rate     int           `default:"1000" help:"Requests a second, whatever the answers."`
	Capacity int           `default:"4000" help:"Units on sale."`
	Buckets  int           `default:"8" help:"Buckets per ticket type."`
	Limit    int           `default:"3" help:"Units that one user may hold."`
	Seed     uint64        `default:"1" help:"Fixes who wants what and who taps twice."`
	Patience time.Duration `default:"90s" help:"How long to wait for orders to appear and for both stores to agree."`
}

func (s crowdSize) options(at local.Addresses, dir string) crowd.Options {
	return crowd.Options{Addresses: at, Dir: dir, ActivityID: fmt.Sprintf("crowd-%d", time.Now().UnixMilli()), Users: s.Users, Rate: s.Rate,
		Capacity: s.Capacity, Buckets: s.Buckets, Limit: s.Limit, Seed: s.Seed, Patience: s.Patience, Out: os.Stdout}
}

// crowdCommand sends a crowd at a running stack.
type crowdCommand struct {
	DataDir string `default:".holdfast" help:"Data folder of the running stack; its stack.json says where that listens." type:"path"`
	Verify  string `help:"Send nobody: only check this activity again, against its journal in the data folder." placeholder:"ACTIVITY"`
	crowdSize
}

// Run implements the command.
func (c *crowdCommand) Run(ctx context.Context) error {
	file := filepath.Join(c.DataDir, local.AddressFile)
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("no stack runs on this data folder (start one with holdfast up): %w", err)
	}
	var at local.Addresses
	if err := json.Unmarshal(text, &at); err != nil {
		return fmt.Errorf("%s is damaged: %w", file, err)
	}
	if c.Verify == "" {
		return crowd.Run(ctx, c.options(at, c.DataDir))
	}
	promises, err := crowd.ReadJournal(crowd.JournalPath(c.DataDir, c.Verify))
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("no crowd ran on activity %s from the data folder %s", c.Verify, c.DataDir)
	}
	if err != nil {
		return err
	}
	return crowd.Verify(ctx, at, c.Verify, promises, c.Patience, os.Stdout)
}

// demoCommand runs a whole sale on a stack of its own.
type demoCommand struct {
	crowdSize
	Keep string `help:"Keep the stack's data in this folder; by default it is thrown away." type:"path"`
}

// Run implements the command.
func (c *demoCommand) Run(ctx context.Context) error {
	dir := c.Keep
	if dir == "" {
		scratch, err := os.MkdirTemp("", "holdfast-demo-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(scratch)
		dir = scratch
	}
	stack, err := local.Up(ctx, local.Options{Port: 0, DataDir: dir, Out: os.Stdout})
	if err != nil {
		return err
	}
	defer stack.Close()
	fmt.Printf("a stack of its own serves at %s\n", stack.Addresses.API)
	o := c.options(stack.Addresses, dir)
	if err := crowd.Run(ctx, o); err != nil {
		return err
	}
	return crowd.RunDeposits(ctx, o)
}
