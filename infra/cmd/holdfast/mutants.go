package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"holdfast/infra/mutants"
)

// mutantsCommand plants defects.
type mutantsCommand struct {
	Only string `help:"Run only the mutants whose names contain this." placeholder:"NAME"`
	List bool   `help:"Print what the mutants are, and run none."`
}

// Run implements the command. It needs the source tree and the go tool.
func (c *mutantsCommand) Run(ctx context.Context) error {
	list := slices.DeleteFunc(mutants.All(), func(m mutants.Mutant) bool { return !strings.Contains(m.Name, c.Only) })
	if len(list) == 0 {
		return fmt.Errorf("no mutant is called %q", c.Only)
	}
	if c.List {
		for _, m := range list {
			fmt.Printf("%-34s %s (%s)\n", m.Name, m.Sentence, m.File)
		}
		return nil
	}
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	report, err := mutants.Run(ctx, mutants.Options{Root: root, Mutants: list, Out: os.Stdout})
	if err != nil {
		return err
	}
	report.Write(os.Stdout)
	if !report.Pass() {
		return exitStatus(1)
	}
	return nil
}

// moduleRoot is the folder of go.mod, here or above.
func moduleRoot() (string, error) {
	here, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := here; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("%s is not inside the source tree", here)
		}
	}
}
