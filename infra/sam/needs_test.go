package sam

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	variableName = regexp.MustCompile(`"(HOLDFAST_[A-Z_]+)"`)
	bootNeed     = regexp.MustCompile(`\bboot\.(Redis|MySQL|OrdersQueue|DeadLetterQueue|StateMachine|NoticesQueue|NoticesTopic|Provider|ExportsBucket)\b`)
)

// localOnly are what only the local stack and a local container set.
var localOnly = map[string]bool{"HOLDFAST_MYSQL_DSN": true, "HOLDFAST_AWS_ENDPOINT": true, "HOLDFAST_CLOCK_FILE": true,
	"HOLDFAST_PROVIDER_KEY": true}

// needs names the variables behind each need that a main states.
var needs = map[string][]string{
	"Redis":           {"HOLDFAST_REDIS_ADDR", "HOLDFAST_REDIS_CLUSTER", "HOLDFAST_REDIS_TLS", "HOLDFAST_REDIS_AUTH_SECRET"},
	"MySQL":           {"HOLDFAST_MYSQL_ADDR", "HOLDFAST_MYSQL_DATABASE", "HOLDFAST_MYSQL_TLS", "HOLDFAST_MYSQL_SECRET"},
	"OrdersQueue":     {"HOLDFAST_ORDERS_QUEUE_URL"},
	"DeadLetterQueue": {"HOLDFAST_DEAD_LETTER_QUEUE_URL"},
	"StateMachine":    {"HOLDFAST_STATE_MACHINE_ARN"},
	"NoticesQueue":    {"HOLDFAST_NOTICES_QUEUE_URL"},
	"NoticesTopic":    {"HOLDFAST_NOTICES_TOPIC_ARN"},
	"ExportsBucket":   {"HOLDFAST_EXPORTS_BUCKET"},
	"Provider":        {"HOLDFAST_PROVIDER_URL", "HOLDFAST_PROVIDER_SECRET"},
}

// claims are read by the functions of the API, with defaults.
var claims = map[string]bool{"HOLDFAST_USER_ID_CLAIM": true, "HOLDFAST_OPERATOR_CLAIM": true}

func TestTemplateAndFunctionsNameTheSameVariables(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(moduleRoot(), "shared", "edge", "boot", "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("shared/edge/boot: %v", err)
	}
	read := map[string]bool{}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range variableName.FindAllStringSubmatch(string(content), -1) {
			read[match[1]] = true
		}
	}
	for name := range readers {
		if !read[name] {
			t.Errorf("nobody reads %s", name)
		}
	}
	for name := range read {
		if !readers[name] && !localOnly[name] {
			t.Errorf("no function is told %s", name)
		}
	}
}

// needFaults compares what a main asks its environment for with what the template tells that function.
func needFaults(function resource, main string) []string {
	var faults []string
	asked := map[string]bool{}
	for _, match := range bootNeed.FindAllStringSubmatch(main, -1) {
		for _, name := range needs[match[1]] {
			asked[name] = true
		}
	}
	told, _ := function.property("Environment", "Variables").(object)
	for name := range told {
		if !asked[name] && !claims[name] {
			faults = append(faults, function.name+" is told "+name+" and does not ask for it")
		}
	}
	for name := range asked {
		if told[name] == nil {
			faults = append(faults, function.name+" asks for "+name+" and is not told")
		}
	}
	return faults
}

func TestFunctionsAreToldWhatTheirMainAsksFor(t *testing.T) {
	folders := functionFolders(t, moduleRoot())
	for _, function := range resources("template.yaml", readSource(t), "AWS::Serverless::Function") {
		main, err := os.ReadFile(filepath.Join(moduleRoot(), folders[functionName(function.name)], "main.go"))
		if err != nil {
			t.Error(err)
			continue
		}
		for _, fault := range needFaults(function, string(main)) {
			t.Error(fault)
		}
	}
}

func TestWrongNeedsAreFound(t *testing.T) {
	function := resource{name: "F", body: object{"Properties": object{"Environment": object{"Variables": object{"HOLDFAST_ORDERS_QUEUE_URL": "x"}}}}}
	faults := strings.Join(needFaults(function, "boot.FromEnv(boot.DeadLetterQueue)"), "\n")
	for _, want := range []string{"told HOLDFAST_ORDERS_QUEUE_URL and does not ask", "asks for HOLDFAST_DEAD_LETTER_QUEUE_URL and is not told"} {
		if !strings.Contains(faults, want) {
			t.Errorf("no fault says %q:\n%s", want, faults)
		}
	}
}
