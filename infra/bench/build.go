package bench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// sourceTree is the module's folder. It returns an error outside of it: what is deployed can only be measured where it can be built.
func sourceTree(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Path}} {{.Dir}}").Output()
	dir, found := strings.CutPrefix(strings.TrimSpace(string(out)), "holdfast ")
	if err != nil || !found {
		return "", fmt.Errorf("the source is needed: run this in the project's folder, with Go installed")
	}
	return dir, nil
}

// functionNames lists the folders of all functions, such as "reserve-ticket".
func functionNames(root string) ([]string, error) {
	mains, err := filepath.Glob(filepath.Join(root, "functions", "*", "*", "main.go"))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, path := range mains {
		names = append(names, filepath.Base(filepath.Dir(path)))
	}
	slices.Sort(names)
	return names, nil
}

// buildFunction builds one function as sam build does, by the target that the template names, for an architecture. It returns the
// path of the binary, in dir.
func buildFunction(ctx context.Context, root, name, goarch, dir string) (string, error) {
	folder := filepath.Join(dir, goarch, name)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "make", "--no-print-directory", "-f", "Makefile", "build-"+logicalID(name), "GOARCH="+goarch, "ARTIFACTS_DIR="+folder)
	cmd.Dir = root
	if said, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", name, err, said)
	}
	return filepath.Join(folder, "bootstrap"), nil
}

// logicalID is how the template calls a function: reserve-ticket is ReserveTicketFunction.
func logicalID(name string) string {
	var id strings.Builder
	for word := range strings.SplitSeq(name, "-") {
		id.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return id.String() + "Function"
}
