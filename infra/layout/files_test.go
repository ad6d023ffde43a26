package layout

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Limits in lines: a file is read in one sitting, a script in one look, and a main decides nothing.
const (
	maxGoLines   = 400
	maxLuaLines  = 100
	maxMainLines = 40
)

var saysNothing = regexp.MustCompile(`^(utils?|common|helpers?|misc|types)(\.go)?$`)

// root is the module's folder.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err != nil {
		t.Fatalf("%s is not the module's folder: %v", dir, err)
	}
	return dir
}

// fileFaults names what is wrong with the files below dir: too long, named for nothing, or a package without its comment.
func fileFaults(dir string) ([]string, error) {
	var found []string
	commented := make(map[string]bool)
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() && path != dir && (strings.HasPrefix(name, ".") || name == "bin" || name == "dist" || name == "node_modules") {
			return filepath.SkipDir
		}
		relative, _ := filepath.Rel(dir, path)
		if saysNothing.MatchString(name) {
			found = append(found, relative+": the name says nothing")
		}
		if entry.IsDir() || strings.HasSuffix(name, "_test.go") || (!strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, ".lua")) {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		limit := maxGoLines
		switch {
		case strings.HasSuffix(name, ".lua"):
			limit = maxLuaLines
		case name == "main.go" && strings.HasPrefix(relative, "functions"):
			limit = maxMainLines
		}
		if n := bytes.Count(text, []byte("\n")); n > limit {
			found = append(found, fmt.Sprintf("%s: %d lines, at most %d", relative, n, limit))
		}
		if strings.HasSuffix(name, ".go") {
			folder := filepath.Dir(relative)
			isCommented := bytes.Contains(text, []byte("\n// Package ")) || bytes.HasPrefix(text, []byte("// Package ")) ||
				bytes.HasPrefix(text, []byte("// Command "))
			commented[folder] = commented[folder] || isCommented
		}
		return nil
	})
	for folder, ok := range commented {
		if !ok {
			found = append(found, folder+": no file says what the package is for")
		}
	}
	return found, err
}

func TestFilesAreShortAndNamed(t *testing.T) {
	found, err := fileFaults(root(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range found {
		t.Error(fault)
	}
}

func TestPlantedFilesAreFound(t *testing.T) {
	for name, planted := range map[string]struct{ path, text string }{
		"long file":    {"shared/x/x.go", "// Package x is long.\npackage x\n" + strings.Repeat("\n", maxGoLines)},
		"long script":  {"lua/x.lua", strings.Repeat("--\n", maxLuaLines+1)},
		"long main":    {"functions/api/do-x/main.go", "// Command x.\npackage main\n" + strings.Repeat("\n", maxMainLines)},
		"silent name":  {"shared/x/utils.go", "// Package x is named well, its file is not.\npackage x\n"},
		"mute package": {"shared/x/x.go", "package x\n"},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, planted.path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(planted.text), 0o644); err != nil {
			t.Fatal(err)
		}
		found, err := fileFaults(dir)
		if err != nil || len(found) != 1 {
			t.Errorf("%s: found %v (%v), want one fault", name, found, err)
		}
	}
}
