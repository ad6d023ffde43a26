package lua

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// goCall is one call of Store.run: which method makes it, and what it passes.
type goCall struct {
	method   string   // "Store.Reserve"
	variable string   // of this package: "Reserve"
	keys     []string // names of the key builder's methods
	moreKeys string   // name of the method that gives the repeated ones, without "Of"
	args     int      // in the list of single arguments; -1 if that is no literal
	repeated bool
}

// callsIn finds all calls of Store.run in the Go files of a folder, without tests.
func callsIn(folder string) ([]goCall, error) {
	names, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return nil, err
	}
	var calls []goCall
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		source, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		found, err := callsInSource(name, source)
		if err != nil {
			return nil, err
		}
		calls = append(calls, found...)
	}
	return calls, nil
}

func callsInSource(name string, source []byte) (calls []goCall, err error) {
	file, err := parser.ParseFile(token.NewFileSet(), name, source, 0)
	if err != nil {
		return nil, err
	}
	for _, decl := range file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || f.Recv == nil {
			continue
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && selector(call.Fun) == "run" && len(call.Args) >= 4 {
				calls = append(calls, readCall("Store."+f.Name.Name, call))
			}
			return true
		})
	}
	return calls, nil
}

// readCall reads run(ctx, lua.X, []string{k.rules(), ...}, []any{...}, more...), the keys also as
// append([]string{k.rules(), ...}, k.waitersOf(types)...).
func readCall(method string, call *ast.CallExpr) goCall {
	c := goCall{method: method, variable: selector(call.Args[1]), args: -1, repeated: call.Ellipsis.IsValid()}
	list := call.Args[2]
	if both, ok := list.(*ast.CallExpr); ok && len(both.Args) == 2 && both.Ellipsis.IsValid() {
		list = both.Args[0]
		if more, ok := both.Args[1].(*ast.CallExpr); ok {
			c.moreKeys = strings.TrimSuffix(selector(more.Fun), "Of")
		}
	}
	if keys, ok := list.(*ast.CompositeLit); ok {
		for _, key := range keys.Elts {
			if build, ok := key.(*ast.CallExpr); ok {
				c.keys = append(c.keys, selector(build.Fun))
			} else {
				c.keys = append(c.keys, "?")
			}
		}
	}
	if args, ok := call.Args[3].(*ast.CompositeLit); ok {
		c.args = len(args.Elts)
	}
	return c
}

func selector(e ast.Expr) string {
	if s, ok := e.(*ast.SelectorExpr); ok {
		return s.Sel.Name
	}
	return ""
}

// callViolations holds a script's header against whoever runs it.
func callViolations(h header, variable string, calls []goCall) (wrong []string) {
	var mine []goCall
	for _, c := range calls {
		if c.variable == variable {
			mine = append(mine, c)
		}
	}
	if len(mine) != 1 {
		return []string{fmt.Sprintf("is run from %d places", len(mine))}
	}
	c := mine[0]
	if c.method != h.caller {
		wrong = append(wrong, fmt.Sprintf("is run by %s and names %s", c.method, h.caller))
	}
	if !slices.Equal(c.keys, h.keys) {
		wrong = append(wrong, fmt.Sprintf("is given the keys %v and documents %v", c.keys, h.keys))
	}
	if c.moreKeys != h.moreKeys {
		wrong = append(wrong, fmt.Sprintf("is given the repeated keys %q and documents %q", c.moreKeys, h.moreKeys))
	}
	if c.args != len(h.args) {
		wrong = append(wrong, fmt.Sprintf("is given %d single arguments and documents %d", c.args, len(h.args)))
	}
	if c.repeated != (h.repeated != nil) {
		wrong = append(wrong, fmt.Sprintf("is given repeated arguments: %v, and documents them: %v", c.repeated, h.repeated != nil))
	}
	return wrong
}
