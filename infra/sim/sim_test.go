package sim_test

import (
	"strings"
	"testing"

	"holdfast/infra/sim"
)

func TestSeedsSettleWithEverythingInPlace(t *testing.T) {
	seeds := 300
	if testing.Short() {
		seeds = 30
	}
	report, err := sim.Run(t.Context(), sim.Options{First: 1, Seeds: seeds, Steps: 400, Workers: 4})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range report.Failures {
		t.Errorf("seed %d (holdfast sim --seed %d plays it again):\n%s\n%s", f.Seed, f.Seed, f.Wrong, strings.Join(f.Trace, "\n"))
	}
	t.Logf("%d seeds, %d steps, %v; repairs %v", report.Seeds, report.Steps, report.Took, report.Reached)
	if len(report.Missing) > 0 && !testing.Short() && len(report.Failures) == 0 {
		t.Errorf("no seed reached these branches of repair: %s", strings.Join(report.Missing, ", "))
	}
}

func TestCutOffAtAnyBoundaryEverythingIsFinishedOrUndone(t *testing.T) {
	every := sim.Strides{Stock: 1, Money: 13} // make sim does all
	if testing.Short() {
		every = sim.Strides{Stock: 9, Money: 30}
	}
	e, err := sim.Enumerate(t.Context(), 4, every, func() {})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d runs; boundaries %v", e.Runs, e.Boundaries)
	for _, c := range e.Failures {
		t.Errorf("%s, boundary %d, %s:\n%s\n%s", c.Scenario, c.Boundary, c.Fault, c.Wrong, strings.Join(c.Trace, "\n"))
	}
}

func TestASeedTakesTheSameCourseAgain(t *testing.T) {
	var courses [2]map[uint64]uint64
	for i := range courses {
		report, err := sim.Run(t.Context(), sim.Options{First: 1000, Seeds: 12, Steps: 300, Workers: 4})
		if err != nil {
			t.Fatal(err)
		}
		courses[i] = report.Courses
	}
	for seed, course := range courses[0] {
		if courses[1][seed] != course {
			t.Errorf("seed %d took another course the second time", seed)
		}
	}
}
