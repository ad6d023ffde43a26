package sam

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// override is a line "Name=value" inside parameter_overrides.
var override = regexp.MustCompile(`(?m)^\s*"([A-Za-z]+)=([^"]*)",?$`)

// overrideFaults says which override names no parameter of the template or gives it a value that it refuses.
func overrideFaults(config string, parameters object) []string {
	var faults []string
	for _, match := range override.FindAllStringSubmatch(config, -1) {
		name, value := match[1], match[2]
		parameter, ok := parameters[name].(object)
		if !ok {
			faults = append(faults, "the template has no parameter "+name)
			continue
		}
		if allowed, ok := parameter["AllowedValues"].([]any); ok && !strings.Contains(text(allowed)+",", value) {
			faults = append(faults, fmt.Sprintf("%s takes no %s", name, value))
		}
		given, err := strconv.ParseFloat(value, 64)
		least, bounded := number(parameter["MinValue"])
		most, limited := number(parameter["MaxValue"])
		if parameter["Type"] == "Number" && (err != nil || (bounded && given < least) || (limited && given > most)) {
			faults = append(faults, fmt.Sprintf("%s takes no %s", name, value))
		}
	}
	return faults
}

func TestOverridesFitTheParameters(t *testing.T) {
	config, err := os.ReadFile(filepath.Join(moduleRoot(), "samconfig.toml"))
	if err != nil {
		t.Fatal(err)
	}
	if found := len(override.FindAllString(string(config), -1)); found < 20 {
		t.Errorf("only %d overrides were found; the pattern no longer fits the file", found)
	}
	parameters := readSource(t)["Parameters"].(object)
	for _, fault := range overrideFaults(string(config), parameters) {
		t.Error(fault)
	}
	planted := overrideFaults("\"Nothing=1\",\n\"OrdersMaximumConcurrency=1\",\n\"CacheClusterMode=maybe\",", parameters)
	if len(planted) != 3 {
		t.Errorf("three wrong overrides give %q", planted)
	}
}
