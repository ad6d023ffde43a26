package api

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"holdfast/shared/fault"
)

// contract is the part of the OpenAPI file that the tests look at.
type contract struct {
	Paths      map[string]map[string]*call `json:"paths"`
	Components struct {
		Schemas map[string]struct {
			Additional json.RawMessage `json:"additionalProperties"`
			Properties map[string]struct {
				Values []string `json:"x-extensible-enum"`
			} `json:"properties"`
		} `json:"schemas"`
	} `json:"components"`
}

type call struct {
	OperationID string            `json:"operationId"`
	Security    *[]any            `json:"security"`
	Scope       string            `json:"x-operator-scope"`
	Parameters  []json.RawMessage `json:"parameters"`
	RequestBody *struct {
		Content map[string]media `json:"content"`
	} `json:"requestBody"`
	Responses map[string]struct {
		Ref         string           `json:"$ref"`
		Description string           `json:"description"`
		Content     map[string]media `json:"content"`

		Headers map[string]json.RawMessage `json:"headers"`
	} `json:"responses"`
}

// takes says whether the call has a parameter of components.
func (op *call) takes(name string) bool {
	return slices.ContainsFunc(op.Parameters, func(p json.RawMessage) bool {
		return strings.Contains(string(p), "#/components/parameters/"+name+`"`)
	})
}

type media struct {
	Schema struct {
		Ref string `json:"$ref"`
	} `json:"schema"`
	Example json.RawMessage `json:"example"`
}

// schema is the name of the schema that the media type refers to.
func (m media) schema() string { return strings.TrimPrefix(m.Schema.Ref, "#/components/schemas/") }

func readContract(t *testing.T) contract {
	t.Helper()
	var c contract
	if err := json.Unmarshal(openAPI, &c); err != nil {
		t.Fatalf("openapi.json: %v", err)
	}
	return c
}

// unpaired lists what only one of routes and OpenAPI knows, or what they say differently.
func unpaired(c contract, routes []Route) []string {
	var found []string
	left := make(map[string]*call)
	for path, methods := range c.Paths {
		for method, op := range methods {
			left[strings.ToUpper(method)+" "+path] = op
		}
	}
	for _, r := range routes {
		name := r.Method + " " + r.Path
		op := left[name]
		if op == nil {
			found = append(found, name+": not in OpenAPI")
			continue
		}
		delete(left, name)
		if op.OperationID != r.Operation {
			found = append(found, name+": operationId "+op.OperationID+", the route says "+r.Operation)
		}
		isPublic := op.Security != nil && len(*op.Security) == 0
		if isPublic != (r.Access == Public) {
			found = append(found, fmt.Sprintf("%s: for %v, but OpenAPI has public = %v", name, r.Access, isPublic))
		}
		scope := map[bool]string{true: operatorRead, false: operatorAll}[r.Method == "GET"]
		if r.Access != Operator {
			scope = ""
		}
		if op.Scope != scope {
			found = append(found, fmt.Sprintf("%s: x-operator-scope is %q, want %q", name, op.Scope, scope))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(left)) {
		found = append(found, name+": not in Routes")
	}
	return found
}

func TestEveryRouteIsInOpenAPIAndNothingElse(t *testing.T) {
	if found := unpaired(readContract(t), Routes); len(found) > 0 {
		t.Fatal(strings.Join(found, "\n"))
	}
}

func TestPlantedDifferencesOfRoutesAreFound(t *testing.T) {
	planted := slices.Clone(Routes)
	planted[0].Access = User
	planted[1].Operation = "other"
	planted = append(planted[:len(planted)-1], Route{"PUT", "/v1/nowhere", "nothing", "nothing", Public})
	if found := unpaired(readContract(t), planted); len(found) != 4 {
		t.Fatalf("want access, name, one route too many and one too few; got %q", found)
	}
}

// declaredCodes reads the constants of package fault from its source, so that none can be forgotten in a list.
func declaredCodes(t *testing.T) []fault.Code {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../../fault/fault.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var codes []fault.Code
	for _, decl := range file.Decls {
		group, isGroup := decl.(*ast.GenDecl)
		if !isGroup || group.Tok != token.CONST {
			continue
		}
		for _, spec := range group.Specs {
			constant := spec.(*ast.ValueSpec)
			if name, isIdent := constant.Type.(*ast.Ident); !isIdent || name.Name != "Code" {
				continue
			}
			text, err := strconv.Unquote(constant.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			codes = append(codes, fault.Code(text))
		}
	}
	if len(codes) < 20 {
		t.Fatalf("only %d codes were found in package fault", len(codes))
	}
	return codes
}

// codeGaps lists codes that package fault, the table and OpenAPI do not all know, and statuses on which they differ.
func codeGaps(c contract, codes []fault.Code) []string {
	var found []string
	listed := c.Components.Schemas["Problem"].Properties["code"].Values
	for _, code := range codes {
		if _, known := table[code]; !known {
			found = append(found, string(code)+": not in the table of errors.go")
		}
		if !slices.Contains(listed, string(code)) {
			found = append(found, string(code)+": not in OpenAPI's Problem")
		}
	}
	for _, code := range listed {
		if !slices.Contains(codes, fault.Code(code)) {
			found = append(found, code+": only in OpenAPI")
		}
	}
	for path, methods := range c.Paths {
		for method, op := range methods {
			for status, response := range op.Responses {
				if response.Ref == "" {
					continue
				}
				for code := range strings.SplitSeq(response.Description, ", ") {
					want := strconv.Itoa(table[fault.Code(code)].status)
					isForm := code == string(fault.ValidationFailed) && status == "400"
					if status != want && !isForm {
						found = append(found, fmt.Sprintf("%s %s: %s as %s, the table says %s", method, path, code, status, want))
					}
				}
			}
		}
	}
	return found
}

func TestEveryCodeIsInTableAndOpenAPI(t *testing.T) {
	if found := codeGaps(readContract(t), declaredCodes(t)); len(found) > 0 {
		t.Fatal(strings.Join(found, "\n"))
	}
}

func TestPlantedCodesAreFound(t *testing.T) {
	c := readContract(t)
	response := c.Paths["/v1/orders/{orderId}"]["get"].Responses["404"]
	response.Description = "SALE_NOT_READY"
	c.Paths["/v1/orders/{orderId}"]["get"].Responses["404"] = response
	found := codeGaps(c, append(declaredCodes(t)[1:], "PLANTED"))
	if len(found) != 4 {
		t.Fatalf("want one missing twice, one only in OpenAPI, one wrong status; got %q", found)
	}
}

// requestGaps lists calls whose bodies may have members that nobody knows or be refused by a status that is not told, and answers that may
// be replays without saying so.
func requestGaps(c contract) []string {
	var found []string
	for _, methods := range c.Paths {
		for _, op := range methods {
			if op.RequestBody != nil {
				for _, status := range []string{"413", "415"} {
					if _, told := op.Responses[status]; !told {
						found = append(found, op.OperationID+": no "+status)
					}
				}
				for _, m := range op.RequestBody.Content {
					if string(c.Components.Schemas[m.schema()].Additional) != "false" {
						found = append(found, op.OperationID+": "+m.schema()+" is open")
					}
				}
			}
			if !op.takes("idempotencyKey") && !op.takes("optionalKey") {
				continue
			}
			for status, response := range op.Responses {
				if _, told := response.Headers["Idempotency-Replayed"]; status[0] == '2' && !told {
					found = append(found, op.OperationID+": "+status+" without Idempotency-Replayed")
				}
			}
		}
	}
	slices.Sort(found)
	return found
}

func TestEveryBodyIsClosedAndEveryReplayIsTold(t *testing.T) {
	if found := requestGaps(readContract(t)); len(found) > 0 {
		t.Fatal(strings.Join(found, "\n"))
	}
}

func TestPlantedGapsOfRequestsAreFound(t *testing.T) {
	c := readContract(t)
	op := c.Paths["/v1/orders/{orderId}/payment"]["post"]
	delete(op.Responses, "413")
	delete(op.Responses["200"].Headers, "Idempotency-Replayed")
	open := c.Components.Schemas["PayRequest"]
	open.Additional = nil
	c.Components.Schemas["PayRequest"] = open
	if found := requestGaps(c); len(found) != 3 {
		t.Fatalf("want one status too few, one open body, one replay that is not told; got %q", found)
	}
}

func TestEveryReferenceInOpenAPIResolves(t *testing.T) {
	var doc map[string]any
	if err := json.Unmarshal(openAPI, &doc); err != nil {
		t.Fatal(err)
	}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if ref, isRef := v["$ref"].(string); isRef {
				at := any(doc)
				for part := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
					inner, _ := at.(map[string]any)
					at = inner[part]
				}
				if at == nil {
					t.Errorf("%s leads nowhere", ref)
				}
			}
			for _, inner := range v {
				walk(inner)
			}
		case []any:
			for _, inner := range v {
				walk(inner)
			}
		}
	}
	walk(doc)
}
