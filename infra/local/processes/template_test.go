package processes

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestTheTemplateSaysWhatAFunctionGets(t *testing.T) {
	functions, err := ReadTemplate("../../..")
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(functions, func(f Function) bool { return f.Name == "create-orders" })
	if at < 0 {
		t.Fatalf("create-orders is not among %v", functions)
	}
	f := functions[at]
	if f.Timeout != 25*time.Second || f.MemoryMB != 512 || !slices.Contains(f.Variables, "HOLDFAST_DEAD_LETTER_QUEUE_URL") {
		t.Errorf("create-orders is read as %+v", f)
	}
	if slices.ContainsFunc(functions, func(f Function) bool { return f.Name == "migrate-database" }) {
		t.Error("a function of the deployment would run in the stack")
	}
}

// differingFlags names the flags of the deployed build that are not ours.
func differingFlags(makefile string) []string {
	var found []string
	for _, flag := range []string{"CGO_ENABLED=0", "-trimpath", "-buildvcs=false", "-ldflags='-s -w'", "-tags lambda.norpc "} {
		if !strings.Contains(makefile, flag) {
			found = append(found, flag)
		}
	}
	return found
}

func TestFunctionsAreBuiltAsTheyAreDeployedButForTheirClock(t *testing.T) {
	makefile, err := os.ReadFile("../../sam/build.mk")
	if err != nil {
		t.Fatal(err)
	}
	if found := differingFlags(string(makefile)); len(found) > 0 {
		t.Errorf("the deployed build lacks %v", found)
	}
	if buildTags != "lambda.norpc,rehearsal" {
		t.Errorf("the tags are %s", buildTags)
	}
	planted := strings.Replace(string(makefile), "-tags lambda.norpc ", "-tags lambda.norpc,rehearsal ", 1)
	if found := differingFlags(planted); len(found) != 1 {
		t.Errorf("a clock that can be moved in what is deployed goes unseen: %v", found)
	}
}
