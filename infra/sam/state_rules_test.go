package sam

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"
)

var substitution = regexp.MustCompile(`\$\{([A-Za-z]+)\}`)

// substitutionFaults compares what a definition wants filled in with what the template fills in.
func substitutionFaults(definition string, given object) []string {
	var faults []string
	wanted := map[string]bool{}
	for _, match := range substitution.FindAllStringSubmatch(definition, -1) {
		wanted[match[1]] = true
		if given[match[1]] == nil {
			faults = append(faults, "nothing is given for "+match[1])
		}
	}
	for name := range given {
		if !wanted[name] {
			faults = append(faults, name+" is given and stands nowhere")
		}
	}
	sort.Strings(faults)
	return slices.Compact(faults)
}

func TestDefinitionsAreFilledIn(t *testing.T) {
	machines := resources("template.yaml", readSource(t), "AWS::Serverless::StateMachine")
	if len(machines) != 1 {
		t.Fatalf("%d state machines", len(machines))
	}
	file, _ := machines[0].property("DefinitionUri").(string)
	definition, err := os.ReadFile(filepath.Join(moduleRoot(), file))
	if err != nil {
		t.Fatal(err)
	}
	given, _ := machines[0].property("DefinitionSubstitutions").(object)
	for _, fault := range substitutionFaults(string(definition), given) {
		t.Error(fault)
	}
	// Each function is filled in by its own name, so that no two are mixed up.
	for name, value := range given {
		if function, isFunction := strings.CutSuffix(name, "Arn"); isFunction && target(value) != function {
			t.Errorf("%s is filled in by %s", name, text(value))
		}
	}
	planted := substitutionFaults(string(definition)+"${Planted}", object{"InvokeFunction": "x", "Nobody": "x"})
	if len(planted) != 5 || !strings.Contains(strings.Join(planted, "\n"), "nothing is given for Planted") {
		t.Errorf("planted faults are seen as %q", planted)
	}
}

var stateRules = []rule{
	{
		name: "a state machine has a role, traces, and a log that keeps no data of executions",
		faults: func(all templates) (faults []string) {
			machines := all.everywhere("AWS::StepFunctions::StateMachine")
			if len(machines) == 0 {
				faults = append(faults, "there is no state machine")
			}
			for _, machine := range machines {
				if all.named(target(machine.property("RoleArn"))).kind != "AWS::IAM::Role" || machine.property("TracingConfiguration", "Enabled") != true ||
					machine.property("LoggingConfiguration", "IncludeExecutionData") != false || machine.property("LoggingConfiguration", "Level") != "ERROR" {
					faults = append(faults, machine.name+": "+text(machine.body["Properties"]))
				}
			}
			return faults
		},
		plant: func(all templates) {
			all.named("DepositStateMachine").set(true, "LoggingConfiguration", "IncludeExecutionData")
		},
	},
	{
		name: "a step is given up by the state machine only after the function itself was",
		faults: func(all templates) (faults []string) {
			for _, name := range []string{"RemindDepositFunction", "SettleDepositFunction", "RecordWorkflowFailureFunction"} {
				if timeout, ok := number(all.named(name).property("Timeout")); !ok || timeout >= stepPatience() {
					faults = append(faults, fmt.Sprintf("%s may take %v s, and the shortest step waits %v s", name, timeout, stepPatience()))
				}
			}
			return faults
		},
		plant: func(all templates) { all.named("SettleDepositFunction").set(60.0, "Timeout") },
	},
}

// stepPatience is the shortest time, in seconds, that the state machine waits for a step.
func stepPatience() float64 {
	content, err := os.ReadFile(filepath.Join(moduleRoot(), "infra", "workflows", "deposit.asl.json"))
	if err != nil {
		panic(err)
	}
	var definition struct {
		States map[string]struct{ TimeoutSeconds float64 }
	}
	if err := json.Unmarshal(content, &definition); err != nil {
		panic(err)
	}
	shortest := 0.0
	for _, state := range definition.States {
		if t := state.TimeoutSeconds; t > 0 && (shortest == 0 || t < shortest) {
			shortest = t
		}
	}
	return shortest
}
