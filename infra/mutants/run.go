package mutants

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// Verdict is what became of a mutant.
type Verdict string

// The verdicts there are; the package comment explains them.
const (
	Killed   Verdict = "killed"
	Survived Verdict = "survived"
	Stale    Verdict = "stale"
	Broken   Verdict = "broken"
)

// Result is the verdict on one mutant.
type Result struct {
	Mutant  Mutant
	Verdict Verdict
	Detail  string // of a killed one the test that failed first, of others why
	Took    time.Duration
}

// Report is a whole run, in the order of the list.
type Report struct {
	Results []Result
	Took    time.Duration
}

// Killed counts the mutants that a test has noticed.
func (r *Report) Killed() (n int) {
	for _, one := range r.Results {
		if one.Verdict == Killed {
			n++
		}
	}
	return n
}

// Pass says whether every mutant was killed.
func (r *Report) Pass() bool { return r.Killed() == len(r.Results) }

// Write prints how many were killed, and every mutant that was not, with its reason.
func (r *Report) Write(w io.Writer) {
	for _, one := range r.Results {
		if one.Verdict != Killed {
			fmt.Fprintf(w, "\n%s: %s (%s)\n  %s\n  %s\n", one.Verdict, one.Mutant.Name, one.Mutant.File, one.Mutant.Sentence,
				strings.ReplaceAll(strings.TrimSpace(one.Detail), "\n", "\n  "))
		}
	}
	fmt.Fprintf(w, "\n%d of %d mutants killed in %v\n", r.Killed(), len(r.Results), r.Took.Round(time.Second))
}

// Options says which mutants run, and where.
type Options struct {
	Root    string   // the module's folder, absolute
	Mutants []Mutant // those to run
	Out     io.Writer
}

// workers is how many mutants run at once. Tests wait for servers for a good part of their time.
const workers = 2

// Run starts servers and runs the mutants against them, after their tests have passed without any. It returns an error when those
// tests fail or are missing, or servers and compiler cannot run; a mutant that was not killed is no error, but in the report.
func Run(ctx context.Context, o Options) (report *Report, err error) {
	err = withServers(ctx, func(env []string) error {
		report, err = run(ctx, o, env)
		return err
	})
	return report, err
}

// run is Run on servers that env names.
func run(ctx context.Context, o Options, env []string) (*Report, error) {
	began := time.Now()
	if err := withoutDefect(ctx, o, env); err != nil {
		return nil, err
	}
	report := &Report{Results: make([]Result, len(o.Mutants))}
	var mu sync.Mutex
	done := 0
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(workers)
	for i, m := range o.Mutants {
		group.Go(func() error {
			result, err := judge(ctx, o.Root, m, env)
			if err != nil {
				return err
			}
			report.Results[i] = result
			mu.Lock()
			defer mu.Unlock()
			done++
			first, _, _ := strings.Cut(result.Detail, "\n")
			fmt.Fprintf(o.Out, "[%2d/%d] %-8s %-34s %5.1fs  %s\n", done, len(o.Mutants), result.Verdict, m.Name, result.Took.Seconds(), first)
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	report.Took = time.Since(began)
	return report, nil
}

// withoutDefect runs the tests of all mutants on the code as it is: each must exist and pass.
func withoutDefect(ctx context.Context, o Options, env []string) error {
	suites := merged(o.Mutants)
	began := time.Now()
	for _, s := range suites {
		fmt.Fprintf(o.Out, "without a defect: %s, %d tests\n", s.Package, len(s.Tests))
		out, err := goTest(ctx, o.Root, "", []Suite{s}, env)
		if err != nil {
			return err
		}
		if !out.succeeded {
			return fmt.Errorf("mutants: tests of %s fail without any defect (%s):\n%s", s.Package, out.failed, out.tail)
		}
		for _, test := range s.Tests {
			if !out.passed[s.Package+" "+test] {
				return fmt.Errorf("mutants: %s has no test %s", s.Package, test)
			}
		}
	}
	fmt.Fprintf(o.Out, "all pass without a defect, in %v\n", time.Since(began).Round(time.Second))
	return nil
}

// merged gives one suite per package with every test that some mutant names, in order.
func merged(list []Mutant) []Suite {
	tests := make(map[string][]string)
	for _, m := range list {
		for _, s := range m.Killers {
			tests[s.Package] = append(tests[s.Package], s.Tests...)
		}
	}
	var out []Suite
	for pkg, names := range tests {
		slices.Sort(names)
		out = append(out, Suite{pkg, slices.Compact(names)})
	}
	slices.SortFunc(out, func(a, b Suite) int { return strings.Compare(a.Package, b.Package) })
	return out
}

// judge runs one mutant.
func judge(ctx context.Context, root string, m Mutant, env []string) (Result, error) {
	began := time.Now()
	dir, err := os.MkdirTemp("", "mutant-")
	if err != nil {
		return Result{}, err
	}
	defer os.RemoveAll(dir)
	result := func(v Verdict, detail string) (Result, error) {
		return Result{Mutant: m, Verdict: v, Detail: detail, Took: time.Since(began)}, nil
	}
	overlay, err := m.overlay(root, dir)
	if gone := (stale{}); errors.As(err, &gone) {
		return result(Stale, gone.why)
	}
	if err != nil {
		return Result{}, err
	}
	for _, s := range m.Killers {
		out, err := goTest(ctx, root, overlay, []Suite{s}, env)
		switch {
		case err != nil:
			return Result{}, err
		case out.unbuilt:
			return result(Broken, "it does not compile\n"+out.tail)
		case out.failed != "":
			return result(Killed, out.failed)
		case out.hung:
			return result(Killed, fmt.Sprintf("%s did not end within %v", s.Package, testLimit))
		case !out.succeeded:
			return result(Broken, "its tests could not run\n"+out.tail)
		}
	}
	return result(Survived, "no test of "+named(m.Killers)+" fails")
}

func named(suites []Suite) string {
	var all []string
	for _, s := range suites {
		all = append(all, s.Package+" ("+strings.Join(s.Tests, ", ")+")")
	}
	return strings.Join(all, ", ")
}
