package states

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"regexp"
	"strings"
)

// path leads from member to member: of the data, or of the context (written with a second $).
type path struct {
	isContext bool
	members   []string
}

var (
	pathForm = regexp.MustCompile(`^\$(\.[A-Za-z_][A-Za-z0-9_]*)*$`)
	addForm  = regexp.MustCompile(`^States\.MathAdd\((\$[^,]*), (-?[0-9]+)\)$`)
)

// contextPaths are the members of the context that there are here.
var contextPaths = map[string]bool{"Execution.Name": true, "Execution.StartTime": true}

func parsePath(text string) (path, error) {
	rest, isContext := strings.CutPrefix(text, "$$")
	if isContext {
		rest = "$" + rest
	} else {
		rest = text
	}
	if !pathForm.MatchString(rest) {
		return path{}, fmt.Errorf("%q is not a path as they are read here", text)
	}
	p := path{isContext: isContext}
	if rest != "$" {
		p.members = strings.Split(rest[2:], ".")
	}
	if isContext && !contextPaths[strings.Join(p.members, ".")] {
		return path{}, fmt.Errorf("%q is not in the context here", text)
	}
	return p, nil
}

// resultPathFault says what is wrong with a ResultPath; nil for one that is not given.
func resultPathFault(text string) error {
	if text == "" {
		return nil
	}
	p, err := parsePath(text)
	if err != nil {
		return err
	}
	if p.isContext || len(p.members) > 1 {
		return fmt.Errorf("%q is no place for a result here: at most one member of the data", text)
	}
	return nil
}

// templateFaults looks at every path in an object that is to be filled.
func templateFaults(template any) (faults []string) {
	object, isObject := template.(map[string]any)
	if !isObject {
		return []string{"Parameters and ResultSelector are objects here"}
	}
	for name, value := range object {
		if !strings.HasSuffix(name, ".$") {
			if _, isObject := value.(map[string]any); isObject {
				faults = append(faults, templateFaults(value)...)
			}
			continue
		}
		text, _ := value.(string)
		if add := addForm.FindStringSubmatch(text); add != nil {
			text = add[1]
		}
		if _, err := parsePath(text); err != nil {
			faults = append(faults, err.Error())
		}
	}
	return faults
}

// scope is what paths lead into.
type scope struct {
	data    any
	context any
}

// find follows a path. The error has the name that Step Functions gives it.
func (s scope) find(text string) (any, *failure) {
	p, err := parsePath(text)
	if err != nil {
		return nil, &failure{errorRuntime, err.Error()}
	}
	at := s.data
	if p.isContext {
		at = s.context
	}
	for _, member := range p.members {
		object, isObject := at.(map[string]any)
		next, found := object[member]
		if !isObject || !found {
			return nil, &failure{errorParameterPath, fmt.Sprintf("The JSONPath '%s' could not be found in the input", text)}
		}
		at = next
	}
	return at, nil
}

// fill makes the object that a template describes.
func (s scope) fill(template any) (any, *failure) {
	object, isObject := template.(map[string]any)
	if !isObject {
		return template, nil
	}
	filled := make(map[string]any, len(object))
	for name, value := range object {
		var failed *failure
		plain, isPath := strings.CutSuffix(name, ".$")
		if isPath {
			text, _ := value.(string)
			filled[plain], failed = s.compute(text)
		} else {
			filled[name], failed = s.fill(value)
		}
		if failed != nil {
			return nil, failed
		}
	}
	return filled, nil
}

// compute follows a path, or adds a number to what one leads to.
func (s scope) compute(text string) (any, *failure) {
	add := addForm.FindStringSubmatch(text)
	if add == nil {
		return s.find(text)
	}
	found, failed := s.find(add[1])
	if failed != nil {
		return nil, failed
	}
	number, isNumber := found.(json.Number)
	sum, isWhole := new(big.Int).SetString(number.String(), 10)
	more, _ := new(big.Int).SetString(add[2], 10)
	if !isNumber || !isWhole {
		return nil, &failure{"States.IntrinsicFailure", text + " adds to what is no whole number"}
	}
	return json.Number(sum.Add(sum, more).String()), nil
}

// place puts a result where a ResultPath says; what goes on is the data with it, or the result alone.
func place(data any, resultPath string, result any) (any, *failure) {
	member, isMember := strings.CutPrefix(resultPath, "$.")
	if !isMember {
		return result, nil
	}
	object, isObject := data.(map[string]any)
	if !isObject {
		return nil, &failure{"States.ResultPathMatchFailure", "the data is no object to put " + resultPath + " into"}
	}
	with := maps.Clone(object)
	with[member] = result
	return with, nil
}
