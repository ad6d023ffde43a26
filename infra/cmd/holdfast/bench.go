package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"

	"holdfast/infra/bench"
)

// benchCommand measures.
type benchCommand struct {
	JSON bool   `name:"json" help:"Print the figures as one JSON object instead of a table."`
	Only string `help:"Measure only this part (scripts, memory, create, end-to-end, repair, deposits, start, sizes), or the part that gives the figure of this key." placeholder:"NAME"`
}

// Run implements the command. Progress goes to standard error, the figures to standard output.
func (c *benchCommand) Run(ctx context.Context) error {
	// Not the temporary folder: where that lies in memory, flushing a COMMIT to disk would cost nothing.
	if err := os.MkdirAll(benchDir, 0o700); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(benchDir, "bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	// The runtime emulator starts its binary from another folder, so a relative path would lead nowhere.
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	report, err := bench.Run(ctx, bench.Options{Only: c.Only, Dir: dir, Out: os.Stderr})
	if err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(os.Stdout).Encode(report)
	}
	return report.Write(os.Stdout)
}

// benchDir holds the data of the servers while they are measured.
const benchDir = ".holdfast"
