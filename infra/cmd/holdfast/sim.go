package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"holdfast/infra/progress"
	"holdfast/infra/sim"
)

// simCommand plays seeds of the simulation.
type simCommand struct {
	Seeds   int     `default:"1000" help:"How many seeds to play."`
	Steps   int     `default:"400" help:"Steps of each seed before everything in flight dies."`
	Cuts    bool    `help:"Play no seeds: cut every function off at each of its calls, one after the other."`
	Seed    *uint64 `help:"Play this seed alone, and print what happened step by step." placeholder:"N"`
	First   uint64  `default:"1" help:"Seed to begin with."`
	Workers int     `default:"4" help:"Worlds side by side, each with its own servers."`
}

// Run implements the command.
func (c *simCommand) Run(ctx context.Context) error {
	if c.Seed != nil {
		return c.replay(ctx)
	}
	if c.Cuts {
		return c.cutOff(ctx)
	}
	bar := progress.Bar(os.Stderr, c.Seeds, "seeds")
	report, err := sim.Run(ctx, sim.Options{First: c.First, Seeds: c.Seeds, Steps: c.Steps, Workers: c.Workers, Done: func() { _ = bar.Add(1) }})
	_ = bar.Finish()
	if err != nil {
		return err
	}
	for _, f := range report.Failures {
		fmt.Printf("seed %d FAILS; holdfast sim --steps %d --seed %d plays it again\n%s\n\n", f.Seed, c.Steps, f.Seed, indent(f.Wrong))
	}
	fmt.Printf("%d seeds, %d steps, %v; %d failed\n", report.Seeds, report.Steps, report.Took.Round(100*time.Millisecond), len(report.Failures))
	fmt.Println("repairs by layer and kind:")
	for _, name := range report.Branches() {
		fmt.Printf("  %-14s %6d\n", name, report.Reached[name])
	}
	if len(report.Missing) > 0 {
		fmt.Println("never reached:", strings.Join(report.Missing, ", "))
	}
	if len(report.Failures) > 0 || len(report.Missing) > 0 {
		return exitStatus(1)
	}
	return nil
}

// cutOff enumerates where functions can be cut off.
func (c *simCommand) cutOff(ctx context.Context) error {
	bar := progress.Bar(os.Stderr, sim.Scenarios(), "scenarios, cut off anywhere")
	e, err := sim.Enumerate(ctx, c.Workers, sim.Strides{Stock: 1, Money: 1}, func() { _ = bar.Add(1) })
	_ = bar.Finish()
	if err != nil {
		return err
	}
	for _, f := range e.Failures {
		fmt.Printf("%s, cut off at call %d (%s), FAILS\n%s\n\n", f.Scenario, f.Boundary, f.Fault, indent(f.Wrong))
	}
	fmt.Printf("%d scenarios cut off in %d ways; %d failed\n", len(e.Boundaries), e.Runs, len(e.Failures))
	if len(e.Failures) > 0 {
		return exitStatus(1)
	}
	return nil
}

// replay plays one seed and prints its course.
func (c *simCommand) replay(ctx context.Context) error {
	course, wrong, err := sim.Replay(ctx, *c.Seed, c.Steps)
	if err != nil {
		return err
	}
	for _, line := range course {
		fmt.Println(line)
	}
	if wrong == "" {
		fmt.Printf("seed %d: all holds\n", *c.Seed)
		return nil
	}
	fmt.Fprintf(os.Stdout, "seed %d FAILS\n%s\n", *c.Seed, indent(wrong))
	return exitStatus(1)
}

func indent(text string) string { return "  " + strings.ReplaceAll(text, "\n", "\n  ") }
