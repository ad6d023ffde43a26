package layout

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// order lists the packages from left to right: a package imports only what stands left of it. Sub-packages have their parent's
// place. The one list to edit when a package is added.
var order = []string{
	"lua", "shared/modelcheck",
	"shared/fault", "shared/money", "shared/sqltx", "shared/metric", "shared/audit", "shared/alert", "shared/idempotency", "shared/sale",
	"shared/catalog", "shared/notice", "shared/wallet", "shared/stock", "shared/waitlist", "shared/order", "shared/payment",
	"shared/deposit", "shared/checkout", "shared/reconcile", "shared/edge", "functions",
}

// pkg is the part of `go list -json` that the rules read.
type pkg struct {
	ImportPath                string
	Imports                   []string
	TestImports, XTestImports []string
}

// mayUseAWS says whether a package at this place may import the SDK; its tests are held to the same.
func mayUseAWS(at int) bool { return order[at] == "shared/edge" || order[at] == "functions" }

// isAWS says whether a package is the SDK's.
func isAWS(imported string) bool { return strings.HasPrefix(imported, "github.com/aws/") }

// place finds a package's index in order and its parent's name there; -1 for packages outside the rule.
func place(importPath string) int {
	path := strings.TrimPrefix(importPath, "holdfast/")
	if path == importPath {
		return -1
	}
	for i, name := range order {
		if path == name || strings.HasPrefix(path, name+"/") {
			return i
		}
	}
	return -1
}

// violations names every import that points to the right, every AWS import left of the edge, and every import of infra or
// testenv from code that ships. Package functions/deploy may import the migrations, which is what it exists to run.
func violations(packages []pkg) []string {
	var found []string
	for _, p := range packages {
		at := place(p.ImportPath)
		if at < 0 {
			continue
		}
		for _, imported := range p.Imports {
			name := strings.TrimPrefix(imported, "holdfast/")
			to := place(imported)
			switch {
			case to > at:
				found = append(found, fmt.Sprintf("%s imports %s, which stands right of it", p.ImportPath, imported))
			case isAWS(imported) && !mayUseAWS(at):
				found = append(found, fmt.Sprintf("%s imports %s: only shared/edge and functions may", p.ImportPath, imported))
			case name == "shared/testenv" || strings.HasPrefix(name, "shared/testenv/"):
				found = append(found, fmt.Sprintf("%s imports %s outside a test", p.ImportPath, imported))
			case strings.HasPrefix(name, "infra/") && !mayMigrate(p.ImportPath, name):
				found = append(found, fmt.Sprintf("%s imports %s: code that ships does not depend on infra", p.ImportPath, imported))
			}
		}
		for _, imported := range slices.Concat(p.TestImports, p.XTestImports) {
			if isAWS(imported) && !mayUseAWS(at) {
				found = append(found, fmt.Sprintf("a test of %s imports %s: only those of shared/edge and functions may", p.ImportPath, imported))
			}
		}
	}
	return found
}

func mayMigrate(importer, imported string) bool {
	deploys := strings.HasPrefix(importer, "holdfast/functions/deploy/") || strings.HasPrefix(importer, "holdfast/shared/edge/deploy")
	return deploys && imported == "infra/mysql"
}

// listPackages reads the whole module by go list.
func listPackages(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports,TestImports,XTestImports", "./...")
	cmd.Dir = root(t)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var packages []pkg
	for decoder := json.NewDecoder(strings.NewReader(string(out))); decoder.More(); {
		var p pkg
		if err := decoder.Decode(&p); err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
	return packages
}

func TestImportsPointLeft(t *testing.T) {
	packages := listPackages(t)
	if len(packages) < 20 {
		t.Fatalf("go list found %d packages: the rule would see next to nothing", len(packages))
	}
	for _, violation := range violations(packages) {
		t.Error(violation)
	}
	for _, p := range packages {
		inShared := strings.HasPrefix(p.ImportPath, "holdfast/shared/") && p.ImportPath != "holdfast/shared/testenv"
		if inShared && place(p.ImportPath) < 0 {
			t.Errorf("%s has no place in the order of packages: add it to the list", p.ImportPath)
		}
	}
}

func TestPlantedImportsAreFound(t *testing.T) {
	for name, planted := range map[string]pkg{
		"to the right":         {ImportPath: "holdfast/shared/stock", Imports: []string{"holdfast/shared/order"}},
		"sub-package to right": {ImportPath: "holdfast/shared/reconcile/invariant", Imports: []string{"holdfast/shared/edge/api"}},
		"AWS in a domain":      {ImportPath: "holdfast/shared/checkout", Imports: []string{"github.com/aws/aws-sdk-go-v2/service/sqs"}},
		"AWS in a test":        {ImportPath: "holdfast/shared/stock", XTestImports: []string{"github.com/aws/aws-sdk-go-v2/aws"}},
		"testenv in code":      {ImportPath: "holdfast/shared/order", Imports: []string{"holdfast/shared/testenv"}},
		"infra in code":        {ImportPath: "holdfast/shared/edge/api", Imports: []string{"holdfast/infra/local"}},
		"migrations elsewhere": {ImportPath: "holdfast/functions/api/health", Imports: []string{"holdfast/infra/mysql"}},
	} {
		if got := violations([]pkg{planted}); len(got) != 1 {
			t.Errorf("%s: the rule found %v, want one violation", name, got)
		}
	}
	for name, fine := range map[string]pkg{
		"to the left":           {ImportPath: "holdfast/shared/order", Imports: []string{"holdfast/shared/stock", "database/sql"}},
		"AWS at the edge":       {ImportPath: "holdfast/shared/edge/queue", Imports: []string{"github.com/aws/aws-sdk-go-v2/service/sqs"}},
		"migrations, to deploy": {ImportPath: "holdfast/functions/deploy/migrate-database", Imports: []string{"holdfast/infra/mysql"}},
	} {
		if got := violations([]pkg{fine}); len(got) != 0 {
			t.Errorf("%s: the rule found %v, want none", name, got)
		}
	}
}
