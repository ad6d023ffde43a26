package sam

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"testing"

	"gopkg.in/yaml.v3"
)

// object is a JSON or YAML object; intrinsic functions stand in their long form, {"Ref": "X"}.
type object = map[string]any

// templates holds what is deployed: the root as written and as CloudFormation sees it, and the nested stacks by file name.
type templates struct {
	Source   object            `json:"source"`
	Expanded object            `json:"expanded"`
	Stacks   map[string]object `json:"stacks"`
}

// moduleRoot is the folder of go.mod, two above this package.
func moduleRoot() string {
	folder, err := filepath.Abs("../..")
	if err != nil {
		panic(err)
	}
	return folder
}

// toolsPython is the interpreter of the tools that tools.sh installs.
func toolsPython() string {
	tools := os.Getenv("HOLDFAST_TOOLS")
	if tools == "" {
		tools = filepath.Join(moduleRoot(), ".tools")
	}
	return filepath.Join(tools, "sam", "bin", "python")
}

var expandOnce = sync.OnceValues(func() ([]byte, error) {
	python := toolsPython()
	if _, err := os.Stat(python); err != nil {
		return nil, fmt.Errorf("the SAM tools are not installed (%w); run infra/sam/tools.sh, as make test and make validate do", err)
	}
	command := exec.Command(python, "infra/sam/expand.py", ".")
	command.Dir = moduleRoot()
	// The translator asks for a region and uses it for nothing that the rules read.
	command.Env = append(os.Environ(), "AWS_DEFAULT_REGION=us-east-1", "PYTHONDONTWRITEBYTECODE=1")
	var problem strings.Builder
	command.Stderr = &problem
	text, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("expand.py: %w\n%s", err, problem.String())
	}
	return text, nil
})

// expanded returns a copy of the templates that the caller may change.
func expanded(t *testing.T) templates {
	t.Helper()
	text, err := expandOnce()
	if err != nil {
		t.Fatal(err)
	}
	var all templates
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// readSource reads template.yaml without any tool of SAM.
func readSource(t *testing.T) object {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(moduleRoot(), "template.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	value, err := longForm(document.Content[0])
	if err != nil {
		t.Fatal(err)
	}
	return value.(object)
}

// longForm turns a YAML node into plain values; a tag such as !GetAtt becomes {"Fn::GetAtt": [...]}.
func longForm(node *yaml.Node) (any, error) {
	value, err := plainValue(node)
	if err != nil || !strings.HasPrefix(node.Tag, "!") || strings.HasPrefix(node.Tag, "!!") {
		return value, err
	}
	switch name := strings.TrimPrefix(node.Tag, "!"); name {
	case "Ref", "Condition":
		return object{name: value}, nil
	case "GetAtt":
		if text, ok := value.(string); ok {
			resource, attribute, _ := strings.Cut(text, ".")
			value = []any{resource, attribute}
		}
		return object{"Fn::GetAtt": value}, nil
	default:
		return object{"Fn::" + name: value}, nil
	}
}

func plainValue(node *yaml.Node) (any, error) {
	switch node.Kind {
	case yaml.MappingNode:
		result := object{}
		for i := 0; i < len(node.Content); i += 2 {
			value, err := longForm(node.Content[i+1])
			if err != nil {
				return nil, err
			}
			result[node.Content[i].Value] = value
		}
		return result, nil
	case yaml.SequenceNode:
		result := []any{}
		for _, item := range node.Content {
			value, err := longForm(item)
			if err != nil {
				return nil, err
			}
			result = append(result, value)
		}
		return result, nil
	case yaml.ScalarNode:
		if strings.HasPrefix(node.Tag, "!!") {
			var value any
			err := node.Decode(&value)
			return value, err
		}
		return node.Value, nil
	}
	return nil, fmt.Errorf("line %d: a template has no aliases", node.Line)
}

// in walks down objects by keys and returns nil where there is nothing.
func in(value any, keys ...string) any {
	for _, key := range keys {
		next, ok := value.(object)
		if !ok {
			return nil
		}
		value = next[key]
	}
	return value
}

// text is the JSON of a value, for comparing and for messages.
func text(value any) string {
	encoded, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(encoded)
}

// resource is one resource of one template.
type resource struct {
	where, name, kind string
	body              object
}

func (r resource) property(keys ...string) any {
	return in(r.body, append([]string{"Properties"}, keys...)...)
}

// set writes a property, for planting violations.
func (r resource) set(value any, keys ...string) {
	target := r.body
	for _, key := range append([]string{"Properties"}, keys[:len(keys)-1]...) {
		next, ok := target[key].(object)
		if !ok {
			next = object{}
			target[key] = next
		}
		target = next
	}
	target[keys[len(keys)-1]] = value
}

// resources lists the resources of a template by name; without kinds all of them.
func resources(where string, template object, kinds ...string) []resource {
	var found []resource
	all, _ := template["Resources"].(object)
	for name, value := range all {
		body := value.(object)
		kind, _ := body["Type"].(string)
		if len(kinds) == 0 {
			found = append(found, resource{where, name, kind, body})
		}
		for _, wanted := range kinds {
			if kind == wanted {
				found = append(found, resource{where, name, kind, body})
			}
		}
	}
	sort.Slice(found, func(i, j int) bool { return found[i].name < found[j].name })
	return found
}

// everywhere lists the resources of the expanded root and of all nested stacks.
func (all templates) everywhere(kinds ...string) []resource {
	found := resources("template.yaml", all.Expanded, kinds...)
	files := make([]string, 0, len(all.Stacks))
	for file := range all.Stacks {
		files = append(files, file)
	}
	sort.Strings(files)
	for _, file := range files {
		found = append(found, resources(file, all.Stacks[file], kinds...)...)
	}
	return found
}

func (all templates) functions() []resource {
	return resources("template.yaml", all.Expanded, "AWS::Lambda::Function")
}

// named returns one resource of the expanded root.
func (all templates) named(name string) resource {
	body, _ := in(all.Expanded, "Resources", name).(object)
	kind, _ := in(body, "Type").(string)
	return resource{"template.yaml", name, kind, body}
}

// target is the logical id that {"Ref": X} or {"Fn::GetAtt": [X, ...]} points to.
func target(value any) string {
	if name, ok := in(value, "Ref").(string); ok {
		return name
	}
	if path, ok := in(value, "Fn::GetAtt").([]any); ok && len(path) > 0 {
		name, _ := path[0].(string)
		return name
	}
	return ""
}

func number(value any) (float64, bool) {
	switch n := value.(type) {
	case float64:
		return n, true
	case int:
		return float64(n), true
	}
	return 0, false
}

// eachString calls visit with every string value below value, and with the path to it.
func eachString(value any, path string, visit func(path, value string)) {
	switch v := value.(type) {
	case object:
		for key, item := range v {
			eachString(item, path+"."+key, visit)
		}
	case []any:
		for i, item := range v {
			eachString(item, fmt.Sprintf("%s[%d]", path, i), visit)
		}
	case string:
		visit(path, v)
	}
}
