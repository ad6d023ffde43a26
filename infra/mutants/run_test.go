package mutants

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// module is a little program with a script in it, and tests that watch one half of it.
var module = map[string]string{
	"go.mod": "module holdfast\n\ngo 1.26\n",
	"shop/shop.go": `package shop

import _ "embed"

//go:embed greet.lua
var greet string

func Price(units int) int { return 3 * units }

func Refund(units int) int { return -3 * units }
`,
	"shop/greet.lua": "return 'welcome'\n",
	"shop/shop_test.go": `package shop

import "testing"

func TestPriceIsThreeEach(t *testing.T) {
	if Price(2) != 6 {
		t.Error(Price(2))
	}
}

func TestGreetingIsKind(t *testing.T) {
	if greet != "return 'welcome'\n" {
		t.Error(greet)
	}
}

func TestRefundIsThere(t *testing.T) { _ = Refund(1) }
`,
}

func plant(t *testing.T) (root string) {
	t.Helper()
	root = t.TempDir()
	for name, text := range module {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestEveryVerdictIsReachedAndTheTreeStaysAsItIs(t *testing.T) {
	t.Parallel()
	root := plant(t)
	price := []Suite{in("shop", "TestPriceIsThreeEach")}
	list := []Mutant{
		{Name: "noticed", File: "shop/shop.go", Old: "return 3 * units", New: "return 2 * units", Killers: price},
		{Name: "noticed-in-a-script", File: "shop/greet.lua", Old: "welcome", New: "go away", Killers: []Suite{in("shop", "TestGreetingIsKind")}},
		{Name: "noticed-by-the-second-suite", File: "shop/shop.go", Old: "return 3 * units", New: "return 2 * units",
			Killers: []Suite{in("shop", "TestGreetingIsKind"), in("shop", "TestPriceIsThreeEach")}},
		{Name: "noticed-by-a-panic", File: "shop/shop.go", Old: "return 3 * units", New: "panic(units)", Killers: price},
		{Name: "unseen", Sentence: "refunds take money", File: "shop/shop.go", Old: "return -3 * units", New: "return 3 * units",
			Killers: []Suite{in("shop", "TestRefundIsThere")}},
		{Name: "gone", File: "shop/shop.go", Old: "return 4 * units", New: "return 5 * units", Killers: price},
		{Name: "twice", File: "shop/shop.go", Old: "3 * units", New: "4 * units", Killers: price},
		{Name: "without-a-file", File: "shop/till.go", Old: "a", New: "b", Killers: price},
		{Name: "no-program", File: "shop/shop.go", Old: "return 3 * units", New: "return 3 * unit", Killers: price},
	}
	want := map[string]Verdict{"noticed": Killed, "noticed-in-a-script": Killed, "noticed-by-the-second-suite": Killed,
		"noticed-by-a-panic": Killed, "unseen": Survived, "gone": Stale, "twice": Stale, "without-a-file": Stale, "no-program": Broken}
	report, err := run(t.Context(), Options{Root: root, Mutants: list, Out: &bytes.Buffer{}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, got := range report.Results {
		if got.Verdict != want[list[i].Name] {
			t.Errorf("%s: %s, want %s; %s", list[i].Name, got.Verdict, want[list[i].Name], got.Detail)
		}
	}
	if report.Pass() || report.Killed() != 4 {
		t.Errorf("pass %v with %d killed", report.Pass(), report.Killed())
	}
	if got := report.Results[0].Detail; got != "shop TestPriceIsThreeEach" {
		t.Errorf("the killer is %q", got)
	}
	var text bytes.Buffer
	report.Write(&text)
	for _, part := range []string{"survived: unseen (shop/shop.go)", "refunds take money", "stale: gone", "occurs 0 times",
		"occurs 2 times", "broken: no-program", "undefined: unit", "4 of 9 mutants killed"} {
		if !strings.Contains(text.String(), part) {
			t.Errorf("the report lacks %q:\n%s", part, text.String())
		}
	}
	for name, before := range module {
		if after, err := os.ReadFile(filepath.Join(root, name)); err != nil || string(after) != before {
			t.Errorf("%s has changed, %v", name, err)
		}
	}
}

// A test that is red without any defect, or is not there, proves nothing about the defect.
func TestTestsThatFailOrAreMissingWithoutADefectEndTheRun(t *testing.T) {
	t.Parallel()
	defect := Mutant{Name: "d", File: "shop/shop.go", Old: "return 3 * units", New: "return 2 * units"}
	root := plant(t)
	defect.Killers = []Suite{in("shop", "TestPriceIsThreeEach", "TestNobodyWrote")}
	if _, err := run(t.Context(), Options{Root: root, Mutants: []Mutant{defect}, Out: &bytes.Buffer{}}, nil); err == nil ||
		!strings.Contains(err.Error(), "has no test TestNobodyWrote") {
		t.Errorf("with a missing test: %v", err)
	}
	if err := os.WriteFile(filepath.Join(root, "shop/greet.lua"), []byte("return 'go away'\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	defect.Killers = []Suite{in("shop", "TestGreetingIsKind")}
	if _, err := run(t.Context(), Options{Root: root, Mutants: []Mutant{defect}, Out: &bytes.Buffer{}}, nil); err == nil ||
		!strings.Contains(err.Error(), "fail without any defect") {
		t.Errorf("with a red test: %v", err)
	}
}

// The lists as they stand: every mutant fits the tree, has a name of its own, and changes something.
func TestEveryMutantFitsTheTree(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	all := All()
	if len(all) < 24 {
		t.Errorf("%d mutants", len(all))
	}
	names := make(map[string]bool)
	for _, m := range all {
		if names[m.Name] || m.Name == "" || m.Sentence == "" || m.Old == m.New || len(m.Killers) == 0 {
			t.Errorf("%q is not whole, or there twice", m.Name)
		}
		names[m.Name] = true
		if _, err := m.mutated(root); err != nil {
			t.Errorf("%s: %v", m.Name, err)
		}
		for _, s := range m.Killers {
			for _, name := range s.Tests {
				if !hasTest(t, filepath.Join(root, s.Package), name) {
					t.Errorf("%s: %s has no test %s", m.Name, s.Package, name)
				}
			}
		}
	}
}

// hasTest says whether a test file of the folder declares the test.
func hasTest(t *testing.T, folder, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(text, []byte("\nfunc "+name+"(")) {
			return true
		}
	}
	return false
}
