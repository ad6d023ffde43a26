package sam

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// These rules need no tool of SAM: they read template.yaml and the tree.

var upper = regexp.MustCompile(`[A-Z]`)

// functionName is the verb-noun name of a logical id: ReserveTicketFunction -> reserve-ticket.
func functionName(logicalID string) string {
	name := upper.ReplaceAllStringFunc(strings.TrimSuffix(logicalID, "Function"), func(letter string) string {
		return "-" + strings.ToLower(letter)
	})
	return strings.TrimPrefix(name, "-")
}

// functionFolders lists the names of functions/<what wakes it>/<verb-noun>/main.go below root.
func functionFolders(t *testing.T, root string) map[string]string {
	t.Helper()
	mains, err := filepath.Glob(filepath.Join(root, "functions", "*", "*", "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, main := range mains {
		folder, _ := filepath.Rel(root, filepath.Dir(main))
		found[filepath.Base(folder)] = folder
	}
	return found
}

// pairFaults says which function of the template has no folder, which folder no function, and which is not built as all are.
func pairFaults(source object, folders map[string]string) []string {
	var faults []string
	seen := map[string]bool{}
	for _, function := range resources("template.yaml", source, "AWS::Serverless::Function") {
		name := functionName(function.name)
		seen[name] = true
		if folders[name] == "" {
			faults = append(faults, fmt.Sprintf("%s has no folder functions/*/%s", function.name, name))
		}
		if !strings.HasSuffix(function.name, "Function") {
			faults = append(faults, function.name+" does not end in Function, so no build target fits it")
		}
		if function.property("CodeUri") != "." || in(function.body, "Metadata", "BuildMethod") != "makefile" {
			faults = append(faults, function.name+" is not built by its makefile target from the module's folder")
		}
	}
	for name, folder := range folders {
		if !seen[name] {
			faults = append(faults, folder+" is in no template")
		}
	}
	return faults
}

func TestFunctionsAndFoldersPair(t *testing.T) {
	source, folders := readSource(t), functionFolders(t, moduleRoot())
	for _, fault := range pairFaults(source, folders) {
		t.Error(fault)
	}
}

func TestUnpairedFunctionsAreFound(t *testing.T) {
	source := object{"Resources": object{
		"SellTicketFunction": object{"Type": "AWS::Serverless::Function", "Properties": object{"CodeUri": "functions/api/sell-ticket"}},
	}}
	faults := strings.Join(pairFaults(source, map[string]string{"buy-ticket": "functions/api/buy-ticket"}), "\n")
	for _, want := range []string{"SellTicketFunction has no folder", "functions/api/buy-ticket is in no template", "not built by its makefile"} {
		if !strings.Contains(faults, want) {
			t.Errorf("no fault says %q:\n%s", want, faults)
		}
	}
}

// buildFolder asks the rule of build.mk which folder it would compile.
func buildFolder(logicalID string) (string, error) {
	command := exec.Command("sh", "infra/sam/function-folder.sh", strings.TrimSuffix(logicalID, "Function"))
	command.Dir = moduleRoot()
	folder, err := command.CombinedOutput()
	return strings.TrimSpace(string(folder)), err
}

func TestEveryFunctionHasItsBuildTarget(t *testing.T) {
	folders := functionFolders(t, moduleRoot())
	for _, function := range resources("template.yaml", readSource(t), "AWS::Serverless::Function") {
		folder, err := buildFolder(function.name)
		if err != nil || folder != folders[functionName(function.name)] {
			t.Errorf("build-%s would build %q: %v", function.name, folder, err)
		}
	}
	if folder, err := buildFolder("NobodyFunction"); err == nil {
		t.Errorf("build-NobodyFunction would build %q", folder)
	}
}

func TestMakeKnowsTheBuildTargets(t *testing.T) {
	for _, function := range resources("template.yaml", readSource(t), "AWS::Serverless::Function") {
		command := exec.Command("make", "--no-print-directory", "-n", "build-"+function.name, "ARTIFACTS_DIR=/artifacts")
		command.Dir = moduleRoot()
		plan, err := command.CombinedOutput()
		if err != nil || !strings.Contains(string(plan), "GOARCH=arm64 go build") {
			t.Errorf("make build-%s: %v\n%s", function.name, err, plan)
		}
	}
}

func TestBothReadersOfTheTemplateAgree(t *testing.T) {
	ours, theirs := readSource(t), expanded(t).Source
	if text(ours["Resources"]) != text(theirs["Resources"]) {
		t.Error("template.yaml read by this package and by the SAM tools differ; the tag handler misses something")
	}
}

// eventFaults says which function has no event file and which file no function.
func eventFaults(source object, files []string) []string {
	var faults []string
	open := map[string]bool{}
	for _, file := range files {
		open[strings.TrimSuffix(filepath.Base(file), ".json")] = true
	}
	for _, function := range resources("template.yaml", source, "AWS::Serverless::Function") {
		name := functionName(function.name)
		if !open[name] {
			faults = append(faults, fmt.Sprintf("%s has no infra/events/%s.json", function.name, name))
		}
		delete(open, name)
	}
	for name := range open {
		faults = append(faults, fmt.Sprintf("infra/events/%s.json belongs to no function", name))
	}
	return faults
}

func TestEveryFunctionHasItsEvent(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(moduleRoot(), "infra", "events", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range eventFaults(readSource(t), files) {
		t.Error(fault)
	}
	for _, file := range files {
		if content, err := os.ReadFile(file); err != nil || !json.Valid(content) {
			t.Errorf("%s is no JSON: %v", file, err)
		}
	}
	planted := eventFaults(readSource(t), append(files[1:], "infra/events/nobody.json"))
	if len(planted) != 2 {
		t.Errorf("one event taken away and one too many give %q", planted)
	}
}
