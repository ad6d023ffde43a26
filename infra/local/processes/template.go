package processes

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// Function is what the template says of a function.
type Function struct {
	Name      string        // of its folder, such as "reserve-ticket"
	Timeout   time.Duration // after which an instance is killed
	MemoryMB  int
	Variables []string // names of the environment variables that it is given
}

// ReadTemplate reads the functions of the template in a source tree that run in a stack. It returns the errors of the file system and
// of the parser, and one for a function that the template lacks.
func ReadTemplate(root string) ([]Function, error) {
	text, err := os.ReadFile(filepath.Join(root, "template.yaml"))
	if err != nil {
		return nil, err
	}
	var template struct {
		Resources map[string]struct {
			Properties struct {
				Timeout     int `yaml:"Timeout"`
				MemorySize  int `yaml:"MemorySize"`
				Environment struct {
					Variables map[string]yaml.Node `yaml:"Variables"`
				} `yaml:"Environment"`
			} `yaml:"Properties"`
		} `yaml:"Resources"`
	}
	if err := yaml.Unmarshal(text, &template); err != nil {
		return nil, fmt.Errorf("template.yaml: %w", err)
	}
	names, err := functionNames(root)
	if err != nil {
		return nil, err
	}
	var functions []Function
	for _, name := range names {
		resource, found := template.Resources[logicalID(name)]
		if !found || resource.Properties.Timeout == 0 {
			return nil, fmt.Errorf("template.yaml has no %s with a Timeout", logicalID(name))
		}
		f := Function{Name: name, Timeout: time.Duration(resource.Properties.Timeout) * time.Second, MemoryMB: resource.Properties.MemorySize}
		for variable := range resource.Properties.Environment.Variables {
			f.Variables = append(f.Variables, variable)
		}
		functions = append(functions, f)
	}
	return functions, nil
}

// logicalID is how the template calls a function: reserve-ticket is ReserveTicketFunction.
func logicalID(name string) string {
	var id strings.Builder
	for word := range strings.SplitSeq(name, "-") {
		id.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return id.String() + "Function"
}
