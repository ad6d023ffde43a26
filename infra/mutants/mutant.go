package mutants

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Mutant is one planted defect.
type Mutant struct {
	Name     string  // a few words with hyphens, unique
	Sentence string  // what is wrong with it, for a person
	File     string  // path from the module's root, with slashes
	Old, New string  // Old occurs exactly once in File, and New stands in its place
	Killers  []Suite // tests of which at least one must fail
}

// Suite names tests of one package.
type Suite struct {
	Package string   // path from the module's root
	Tests   []string // whole names
}

// in is the suite of one package, as the lists write it.
func in(pkg string, tests ...string) Suite { return Suite{Package: pkg, Tests: tests} }

// stale is the error of a mutant whose text is not where it was.
type stale struct{ why string }

func (e stale) Error() string { return e.why }

// mutated is the file with the defect in it. It returns stale when Old is not there exactly once.
func (m *Mutant) mutated(root string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(m.File)))
	if err != nil {
		return nil, stale{"its file cannot be read: " + m.File}
	}
	if n := strings.Count(string(text), m.Old); n != 1 {
		return nil, stale{fmt.Sprintf("its text occurs %d times in %s, and must occur once", n, m.File)}
	}
	return []byte(strings.Replace(string(text), m.Old, m.New, 1)), nil
}

// overlay writes the mutated file and the map that go test takes into dir, and returns the path of the map.
func (m *Mutant) overlay(root, dir string) (string, error) {
	text, err := m.mutated(root)
	if err != nil {
		return "", err
	}
	changed := filepath.Join(dir, filepath.Base(m.File))
	if err := os.WriteFile(changed, text, 0o600); err != nil {
		return "", err
	}
	body, err := json.Marshal(map[string]any{"Replace": map[string]string{
		filepath.Join(root, filepath.FromSlash(m.File)): changed}})
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, body, 0o600)
}
