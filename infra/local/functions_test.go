package local

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"holdfast/shared/edge/api"
)

// folders lists the functions that the stack has to run: all but those of deploy, whose work the stack does at its start.
func folders(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, group := range []string{"api", "queue", "schedule", "workflow"} {
		entries, err := os.ReadDir(filepath.Join("../../functions", group))
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries {
			names = append(names, entry.Name())
		}
	}
	slices.Sort(names)
	return names
}

// unpaired names what stands on one side only.
func unpaired(left, right []string) []string {
	var found []string
	for _, name := range left {
		if !slices.Contains(right, name) {
			found = append(found, name)
		}
	}
	for _, name := range right {
		if !slices.Contains(left, name) {
			found = append(found, name)
		}
	}
	return found
}

func TestEveryFunctionFolderRunsInTheStackAndNothingElse(t *testing.T) {
	var names []string
	for name := range constructors {
		names = append(names, name)
	}
	if found := unpaired(folders(t), names); len(found) > 0 {
		t.Errorf("only in functions/ or only in the stack: %v", found)
	}
	for _, route := range api.Routes {
		if !slices.Contains(names, route.Function) {
			t.Errorf("%s %s goes to %s, which the stack does not run", route.Method, route.Path, route.Function)
		}
	}
	for name := range scheduled {
		if !slices.Contains(names, name) {
			t.Errorf("%s is scheduled and does not exist", name)
		}
	}
	if found := unpaired([]string{"a", "planted"}, []string{"a"}); !slices.Equal(found, []string{"planted"}) {
		t.Errorf("the pairing does not see a planted difference: %v", found)
	}
}
