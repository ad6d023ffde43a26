package drill

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/infra/local"
)

func TestAShortDrillLosesNothingAndSaysWhoMended(t *testing.T) {
	t.Parallel() // beside the other one: most of a drill is waiting
	var out bytes.Buffer
	report := filepath.Join(t.TempDir(), "report.md")
	result, err := Run(t.Context(), Options{Seed: 7, Duration: 50 * time.Second, Round: 12 * time.Second, Rate: 25, DataDir: t.TempDir(), Report: report, Out: &out,
		Only: []string{"create-orders killed", "Redis: ack refused", "queue: messages dropped", "Redis killed, restarts empty", "MariaDB killed, restarted",
			"functions of money killed", "provider: tells late, and twice"}})
	if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	if len(result.Strikes) < 4 || result.Load.Promised < 100 || len(result.Load.Sales) < 2 {
		t.Errorf("%d strikes, %d promises, %d sales: too little happened", len(result.Strikes), result.Load.Promised, len(result.Load.Sales))
	}
	money := slices.IndexFunc(result.Verdicts, func(v Verdict) bool { return v.Sale == allSales && len(v.Equations) > 0 })
	if result.Load.Paid == 0 || result.Load.Waited == 0 || money < 0 {
		t.Errorf("%d paid, %d waited, money judged: %v\n%s", result.Load.Paid, result.Load.Waited, money >= 0, out.String())
	}
	if mended := result.Paces[0].Orders + result.Paces[1].Orders; mended == 0 {
		t.Error("nothing had to be mended")
	}
	text, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err)
	}
	for _, words := range []string{"nothing lost, nothing double", "| L1 |", "## The repair matrix", "queue: messages dropped"} {
		if !strings.Contains(string(text), words) || !strings.Contains(out.String(), words) {
			t.Errorf("the report does not say %q:\n%s", words, text)
		}
	}
}

func TestACalmDrillReconcilesAllTheTimeAndFindsNothing(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	result, err := Run(t.Context(), Options{Seed: 8, Duration: 25 * time.Second, Round: 12 * time.Second, Rate: 25, DataDir: t.TempDir(), Calm: true, Out: &out})
	if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	if len(result.Strikes) > 0 || result.Calm == nil || result.Calm.Runs < 10 || result.Calm.Checked < 100 || result.Calm.Differences > 0 {
		t.Errorf("%d strikes; reconciled: %+v", len(result.Strikes), result.Calm)
	}
}

func TestADrillRefusesAStackThatItDidNotStart(t *testing.T) {
	dir := t.TempDir()
	stack, err := local.Up(t.Context(), local.Options{DataDir: dir, Out: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	defer stack.Close()
	if _, err := Run(t.Context(), Options{Seed: 1, Duration: time.Second, DataDir: dir, Out: io.Discard}); !errors.Is(err, ErrForeignFolder) {
		t.Errorf("error %v", err)
	}
	select {
	case <-stack.DatabaseServer().Done():
		t.Error("the stack was harmed")
	default:
	}
	if _, err := os.Stat(filepath.Join(dir, local.AddressFile)); err != nil {
		t.Errorf("the stack lost its stack.json: %v", err)
	}
}

func TestADrillRefusesTheFolderOfADrillThatRuns(t *testing.T) {
	dir := t.TempDir()
	inner, err := claimFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	stack, err := local.Up(t.Context(), local.Options{DataDir: inner, Out: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	defer stack.Close()
	if _, err := Run(t.Context(), Options{Seed: 1, Duration: time.Second, DataDir: dir, Out: io.Discard}); !errors.Is(err, local.ErrFolderInUse) {
		t.Errorf("error %v", err)
	}
}

func TestADrillIsNotInOrderWhenAnythingIsOff(t *testing.T) {
	sound := func() *Result {
		v := Verdict{Sale: "s", Equations: []equation{{ID: "L1", Pass: true}}}
		return &Result{Load: &Load{Promised: 1}, Verdicts: []Verdict{v}, Certificates: []Certificate{{Verdict: "PASS"}}}
	}
	if !sound().InOrder() {
		t.Fatal("a sound result is not in order")
	}
	for name, spoil := range map[string]func(*Result){
		"an equation fails":                                  func(r *Result) { r.Verdicts[0].Equations[0].Pass = false },
		"something is in flight":                             func(r *Result) { r.Verdicts[0].InFlight = 1 },
		"a sale was not checked":                             func(r *Result) { r.Verdicts[0].Problem = "not loaded" },
		"no equation was checked":                            func(r *Result) { r.Verdicts[0].Equations = nil },
		"a certificate fails":                                func(r *Result) { r.Certificates[0].Verdict = "FAIL" },
		"a difference is open":                               func(r *Result) { r.Differences = 1 },
		"the contract was broken":                            func(r *Result) { r.Load.Broken = []string{"x"} },
		"nobody got anything":                                func(r *Result) { r.Load.Promised = 0 },
		"no sale was opened":                                 func(r *Result) { r.Verdicts = nil },
		"reconcile found something where nothing was broken": func(r *Result) { r.Calm = &Calm{Runs: 1, Differences: 1} },
		"reconcile never ran":                                func(r *Result) { r.Calm = &Calm{} },
	} {
		r := sound()
		spoil(r)
		if r.InOrder() {
			t.Errorf("%s, and all is said to be in order", name)
		}
		var out bytes.Buffer
		if err := r.WriteMarkdown(&out); err != nil || !strings.Contains(out.String(), "NOT in order") {
			t.Errorf("%s: the report does not say so (%v)", name, err)
		}
	}
}

func TestTheSeedFixesTheOrderOfFaults(t *testing.T) {
	w := &world{o: Options{Seed: 3}}
	names := func(seed uint64) string {
		var text strings.Builder
		for _, f := range w.shuffled(dice(seed)) {
			text.WriteString(f.name + "\n")
		}
		return text.String()
	}
	first, again, other := names(3), names(3), names(4)
	if first != again || first == other || strings.Count(first, "\n") != len(faults) {
		t.Errorf("seed 3: %s", first)
	}
}

func TestAWireCutsGarblesAndMends(t *testing.T) {
	ctx := context.Background()
	upstream := echo(t)
	w, err := openWire("test", upstream)
	if err != nil {
		t.Fatal(err)
	}
	defer w.cut()
	if err := call(w.addr()); err != nil {
		t.Fatal(err)
	}
	w.cut()
	if err := call(w.addr()); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("cut: %v", err)
	}
	if err := w.mend(ctx); err != nil {
		t.Fatal(err)
	}
	if err := w.swallow("downstream", 1); err != nil {
		t.Fatal(err)
	}
	if err := call(w.addr()); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("answers swallowed: %v", err)
	}
	if err := w.mend(ctx); err != nil {
		t.Fatal(err)
	}
	if err := call(w.addr()); err != nil {
		t.Errorf("mended: %v", err)
	}
}
