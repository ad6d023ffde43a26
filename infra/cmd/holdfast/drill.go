package main

import (
	"context"
	"os"
	"time"

	"holdfast/infra/drill"
)

// drillCommand breaks a stack of its own under load.
type drillCommand struct {
	Seed    uint64        `default:"1" help:"Fixes which faults come, in which order, how long each lasts, and what buyers want."`
	Minutes float64       `default:"10" help:"How long load and faults last; settling comes on top."`
	Rate    int           `default:"60" help:"Reservations a second."`
	Report  string        `help:"Write the report to this file too, as Markdown." type:"path" placeholder:"FILE"`
	DataDir string        `default:".holdfast-drill" help:"Folder for the drill's own stack; emptied first, and refused if it is not a drill's." type:"path"`
	Breath  time.Duration `default:"2.5s" help:"Time between two faults, at most, and at least a quarter of it."`
	Only    []string      `help:"Deal only the fault of this name; may be repeated." placeholder:"FAULT" sep:"none"`
	Calm    bool          `help:"Break nothing: reconcile in full, one run after the other, which must find nothing."`
}

// Run implements the command.
func (c *drillCommand) Run(ctx context.Context) error {
	_, err := drill.Run(ctx, drill.Options{Seed: c.Seed, Duration: time.Duration(c.Minutes * float64(time.Minute)), Rate: c.Rate, Report: c.Report,
		DataDir: c.DataDir, Breath: c.Breath, Only: c.Only, Calm: c.Calm, Out: os.Stdout})
	return err
}
