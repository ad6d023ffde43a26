package bench

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// stated lists the table of figures of the README, row by row: what its target says, and the figures that this bounds.
var stated = []struct {
	target string
	bounds map[string]Target
}{
	{"at most 1.2", map[string]Target{"reserve_ratio": {atMost, 1.2}}},
	{"at most 0.45", map[string]Target{"sold_out_ratio": {atMost, 0.45}}},
	{"at most 1.7", map[string]Target{"fragmented_ratio": {atMost, 1.7}}},
	{"at most 300 and 450", map[string]Target{"bytes_per_reservation": {atMost, 300}, "bytes_per_pending": {atMost, 450}}},
	{"at least 10", map[string]Target{"create_speedup": {atLeast, 10}}},
	{"at least 2", map[string]Target{"end_to_end_speedup": {atLeast, 2}}},
	{"at most 0.5", map[string]Target{"p99_ratio": {atMost, 0.5}}},
	{"at most 25 ms", map[string]Target{"init_ms": {atMost, 25}}},
	{"at most 14 MiB", map[string]Target{"largest_binary_bytes": {atMost, 14 << 20}, "reserve_binary_bytes": {atMost, 14 << 20}}},
	{"at least 0.5", map[string]Target{"deposit_create_ratio": {atLeast, 0.5}}},
	{"at least 1 000", map[string]Target{"deposit_settlements_per_second": {atLeast, 1000}}},
	{"", map[string]Target{"deposit_settlements_per_second_by_workflow": {}}},
	{"at most 10 s", map[string]Target{"load_s": {atMost, 10}}},
	{"at most 15 s", map[string]Target{"back_after_wipe_s": {atMost, 15}}},
	{"at most 15 s", map[string]Target{"full_reconcile_s": {atMost, 15}}},
	{"at least 99 %", map[string]Target{"reconcile_completions": {atLeast, 0.99}}},
	{"at most 2", map[string]Target{"reconcile_p99_ratio": {atMost, 2}}},
}

func TestFiguresHaveTheTargetsThatTheReadmeStates(t *testing.T) {
	want := make(map[string]Target)
	for _, m := range measurements(full) {
		for _, key := range m.keys {
			want[key] = Target{} // those that no row bounds
		}
	}
	var cells []string
	for _, row := range stated {
		cells = append(cells, row.target)
		for key, target := range row.bounds {
			if _, given := want[key]; !given {
				t.Errorf("nothing gives %s", key)
			}
			want[key] = target
		}
	}
	if got := readmeTargets(t); !slices.Equal(got, cells) {
		t.Errorf("the README states\n%q, want\n%q", got, cells)
	}
	got := writtenTargets(t)
	for key, target := range want {
		if it, written := got[key]; !written || it != target {
			t.Errorf("%s is to be %s %v, and the code says %s %v", key, target.kind, target.limit, it.kind, it.limit)
		}
	}
	for key := range got {
		if _, given := want[key]; !given {
			t.Errorf("no measurement names %s", key)
		}
	}
}

// readmeTargets reads the third column of the table under the heading Figures.
func readmeTargets(t *testing.T) (cells []string) {
	t.Helper()
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## Figures\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for line := range strings.Lines(section) {
		if row := strings.Split(line, "|"); len(row) > 3 {
			cells = append(cells, strings.TrimSpace(row[3]))
		}
	}
	if len(cells) < 2 || cells[0] != "target" {
		t.Fatalf("the README's table of figures has become %q", cells)
	}
	return cells[2:] // without head and rule
}

// writtenTargets reads the target of each figure out of this package's text, for measuring all of them takes minutes and builds binaries.
func writtenTargets(t *testing.T) map[string]Target {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[string]Target)
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			literal, _ := n.(*ast.CompositeLit)
			members := membersOf(literal)
			key, isFigure := members["Key"].(*ast.BasicLit)
			if !isFigure {
				return true
			}
			text, err := strconv.Unquote(key.Value)
			if _, twice := found[text]; err != nil || twice {
				t.Errorf("%s: the key %s is unreadable, or given twice", name, key.Value)
			}
			found[text] = targetOf(t, members["Target"])
			return true
		})
	}
	return found
}

// membersOf gives the members that a literal of a struct names.
func membersOf(literal *ast.CompositeLit) map[string]ast.Expr {
	members := make(map[string]ast.Expr)
	if literal == nil {
		return members
	}
	for _, element := range literal.Elts {
		if pair, ok := element.(*ast.KeyValueExpr); ok {
			if name, ok := pair.Key.(*ast.Ident); ok {
				members[name.Name] = pair.Value
			}
		}
	}
	return members
}

// targetOf reads "Target{atMost, 1.2}"; no expression is no target.
func targetOf(t *testing.T, e ast.Expr) Target {
	t.Helper()
	if e == nil {
		return Target{}
	}
	if literal, ok := e.(*ast.CompositeLit); ok && len(literal.Elts) == 2 {
		kind, isName := literal.Elts[0].(*ast.Ident)
		limit, known := limitOf(literal.Elts[1])
		if isName && known {
			return Target{map[string]string{"atMost": atMost, "atLeast": atLeast}[kind.Name], limit}
		}
	}
	t.Errorf("a target is written in a way that this test does not read")
	return Target{}
}

func limitOf(e ast.Expr) (float64, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		limit, err := strconv.ParseFloat(e.Value, 64)
		return limit, err == nil
	case *ast.Ident:
		return maxBinary, e.Name == "maxBinary"
	}
	return 0, false
}
