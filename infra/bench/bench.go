package bench

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Options says what is measured and where.
type Options struct {
	Only string    // one measurement, by its name or by a key of its figures; empty: all
	Dir  string    // an empty folder for the servers' data, on the disk that COMMITs are to be flushed to
	Out  io.Writer // progress for a person
}

// measurement is one part of a run.
type measurement struct {
	name string
	keys []string // of the figures that it gives, in their order
	run  func(ctx context.Context, o Options) ([]Figure, error)
}

// extent says how much each measurement does.
type extent struct {
	scripts turns
	memory  []int
	create  createTurns
	load    loadTurns
	starts  int
	repair  repairTurns

	deposits depositTurns
}

// full is what a run does; all of it takes some twelve minutes on two processors.
var full = extent{scripts: fullScripts, memory: fullMemory, create: fullCreate, load: fullLoad, starts: fullStarts,
	repair: fullRepair, deposits: fullDeposits}

// measurements lists all parts, in the order in which they run.
func measurements(e extent) []measurement {
	return []measurement{
		{"scripts", []string{"reserve_ratio", "reserve_ratio_without_expiry", "sold_out_ratio", "fragmented_ratio", "reserve_us", "plain_us"},
			func(ctx context.Context, o Options) ([]Figure, error) { return measureScripts(ctx, o, e.scripts) }},
		{"memory", []string{"bytes_per_reservation", "bytes_per_pending"},
			func(ctx context.Context, o Options) ([]Figure, error) { return measureMemory(ctx, o, e.memory) }},
		{"create", []string{"create_speedup", "create_orders_per_second", "create_orders_per_second_one_by_one"},
			func(ctx context.Context, o Options) ([]Figure, error) { return measureCreate(ctx, o, e.create) }},
		{"end-to-end", []string{"end_to_end_speedup", "p99_ratio", "orders_per_second", "orders_per_second_synchronous", "p99_ms", "p99_ms_synchronous"},
			func(ctx context.Context, o Options) ([]Figure, error) { return measureEndToEnd(ctx, o, e.load) }},
		{"repair", []string{"load_s", "back_after_wipe_s", "full_reconcile_s", "full_reconcile_first_s", "full_reconcile_ratio",
			"reconcile_completions", "reconcile_p99_ratio", "reconcile_p99_ms"},
			func(ctx context.Context, o Options) ([]Figure, error) { return measureRepair(ctx, o, e.repair) }},
		{"deposits", []string{"deposit_create_ratio", "deposit_creates_per_second", "plain_creates_per_second", "deposit_settlements_per_second",
			"deposit_settlements_per_second_by_workflow"},
			func(ctx context.Context, o Options) ([]Figure, error) { return measureDeposits(ctx, o, e.deposits) }},
		{"start", []string{"init_ms"},
			func(ctx context.Context, o Options) ([]Figure, error) { return measureStart(ctx, o, e.starts) }},
		{"sizes", []string{"reserve_binary_bytes", "largest_binary_bytes"}, measureSizes},
	}
}

// Names lists what Options.Only may be, besides the keys of figures.
func Names() []string {
	var names []string
	for _, m := range measurements(full) {
		names = append(names, m.name)
	}
	return names
}

// Run measures. It returns the first error of a measurement, and with it nothing; a missed target is no error.
func Run(ctx context.Context, o Options) (*Report, error) {
	chosen := measurements(full)
	if o.Only != "" {
		chosen = slices.DeleteFunc(chosen, func(m measurement) bool { return m.name != o.Only && !slices.Contains(m.keys, o.Only) })
		if len(chosen) == 0 {
			return nil, fmt.Errorf("there is nothing to measure called %q; there are %s, and the keys of their figures", o.Only,
				strings.Join(Names(), ", "))
		}
	}
	report := &Report{}
	for _, m := range chosen {
		figures, err := m.run(ctx, o)
		if err != nil {
			return nil, fmt.Errorf("measuring %s: %w", m.name, err)
		}
		report.Figures = append(report.Figures, figures...)
	}
	return report, nil
}
