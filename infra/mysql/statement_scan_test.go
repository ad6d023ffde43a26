package mysql_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	sqlparser "github.com/pingcap/tidb/pkg/parser"
	_ "github.com/pingcap/tidb/pkg/parser/test_driver" // literals of the parser
)

// statement is a text of Go code that begins like SQL, with a mark wherever the code puts something in that only the run knows.
type statement struct {
	where string // file:line
	text  string
}

const hole = "\x00"

var (
	sqlStart   = regexp.MustCompile(`^\s*(SELECT|INSERT|UPDATE|DELETE|REPLACE|CREATE|ALTER|DROP|WITH)\s+[^/\s]`)
	formatVerb = regexp.MustCompile(`%[+#]?[sdvq]`)
)

// goStatements collects the statements of all Go files under the folders; what only tests use is excepted.
func goStatements(folders ...string) (found []statement, err error) {
	packages := map[string]map[string]*ast.File{}
	files := token.NewFileSet()
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.Name() == "testenv" {
				return fs.SkipDir
			}
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			source, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			return addFile(packages, files, path, source)
		})
		if err != nil {
			return nil, err
		}
	}
	for _, p := range packages {
		found = append(found, packageStatements(files, p)...)
	}
	return found, nil
}

func addFile(packages map[string]map[string]*ast.File, files *token.FileSet, path string, source []byte) error {
	file, err := parser.ParseFile(files, path, source, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	folder := filepath.Dir(path)
	if packages[folder] == nil {
		packages[folder] = map[string]*ast.File{}
	}
	packages[folder][path] = file
	return nil
}

// packageStatements finds the longest string expressions that begin like SQL.
func packageStatements(files *token.FileSet, p map[string]*ast.File) (found []statement) {
	constants := map[string]ast.Expr{}
	for _, file := range p {
		ast.Inspect(file, func(n ast.Node) bool {
			if decl, ok := n.(*ast.GenDecl); ok && decl.Tok == token.CONST {
				for _, spec := range decl.Specs {
					for i, name := range spec.(*ast.ValueSpec).Names {
						if values := spec.(*ast.ValueSpec).Values; i < len(values) {
							constants[name.Name] = values[i]
						}
					}
				}
			}
			return true
		})
	}
	for _, file := range p {
		ast.Inspect(file, func(n ast.Node) bool {
			e, ok := n.(ast.Expr)
			if !ok {
				return true
			}
			text, known := textOf(e, constants)
			if !known {
				return true
			}
			if sqlStart.MatchString(text) {
				at := files.Position(e.Pos())
				found = append(found, statement{fmt.Sprintf("%s:%d", at.Filename, at.Line), text})
			}
			return false // Its parts are no statements of their own.
		})
	}
	return found
}

// textOf is the text of a string expression; what only the run knows is a hole. known is false for what is no text at all.
func textOf(e ast.Expr, constants map[string]ast.Expr) (text string, known bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind != token.STRING {
			return "", false
		}
		text, err := strconv.Unquote(e.Value)
		return formatVerb.ReplaceAllString(text, hole), err == nil
	case *ast.ParenExpr:
		return textOf(e.X, constants)
	case *ast.Ident:
		if value, found := constants[e.Name]; found {
			return textOf(value, constants)
		}
	case *ast.BinaryExpr:
		left, leftKnown := textOf(e.X, constants)
		right, rightKnown := textOf(e.Y, constants)
		if e.Op != token.ADD || !leftKnown && !rightKnown {
			return "", false
		}
		if !leftKnown {
			left = hole
		}
		if !rightKnown {
			right = hole
		}
		return left + right, true
	}
	return "", false
}

// fillings are what may stand in a hole, or at the end of a text that the code continues elsewhere.
var fillings = []string{"?", "(?)", "", " VALUES (?)", " WHERE 1 = 1", "(?), (?)", " (?)", "1 = 1", " WHEN ? THEN ? "}

// syntaxError parses the statement with a parser of MySQL 8, each hole filled in all ways. It returns nil as soon as one is right.
func syntaxError(text string) (err error) {
	p := sqlparser.New()
	parts := strings.Split(text, hole)
	try := func(filled string) bool {
		var e error
		if _, _, e = p.ParseSQL(filled); err == nil {
			err = e
		}
		return e == nil
	}
	for _, tail := range []string{"", " VALUES (?)", " (?)", "?"} {
		for _, same := range fillings {
			if try(strings.Join(parts, same) + tail) {
				return nil
			}
		}
	}
	if holes := len(parts) - 1; holes > 1 && holes <= 4 {
		for n := range pow(len(fillings), holes) {
			filled := parts[0]
			for _, part := range parts[1:] {
				filled += fillings[n%len(fillings)] + part
				n /= len(fillings)
			}
			if try(filled) {
				return nil
			}
		}
	}
	return err
}

func pow(base, exponent int) int {
	n := 1
	for range exponent {
		n *= base
	}
	return n
}

var quoted = regexp.MustCompile(`'(?:[^'\\]|\\.|'')*'|--[ \t][^\n]*`)

// forbidden words: what one of the two servers does not know, what does silently less than it says, and clocks that a test cannot move.
var forbidden = map[string]*regexp.Regexp{
	"RETURNING":           regexp.MustCompile(`(?i)\bRETURNING\b`),
	"a row alias":         regexp.MustCompile(`(?is)\)\s*AS\s+\w+(\s*\([^)]*\))?\s*ON\s+DUPLICATE`),
	"VALUES ROW":          regexp.MustCompile(`(?i)\bVALUES\s+ROW\b`),
	"INSERT IGNORE":       regexp.MustCompile(`(?i)\b(INSERT|UPDATE|DELETE)\s+IGNORE\b`),
	"REPLACE":             regexp.MustCompile(`(?i)^\s*REPLACE\b`),
	"FOR SHARE":           regexp.MustCompile(`(?i)\bFOR\s+SHARE\b`),
	"a clock of its own":  regexp.MustCompile(`(?i)\b(NOW|SYSDATE|CURDATE|CURTIME|UNIX_TIMESTAMP)\s*\(|\b(CURRENT_TIMESTAMP|CURRENT_DATE|CURRENT_TIME|LOCALTIME|LOCALTIMESTAMP|UTC_DATE|UTC_TIME)\b`),
	"UTC_TIMESTAMP in s":  regexp.MustCompile(`(?i)\bUTC_TIMESTAMP\s*(\(\s*\)|[^(\s])`),
	"a SET of a variable": regexp.MustCompile(`(?i)^\s*SET\b`),
}

// faultsOf lists what is wrong with a statement.
func faultsOf(s statement) (faults []string) {
	bare := quoted.ReplaceAllString(s.text, "''")
	for name, pattern := range forbidden {
		if pattern.MatchString(bare) {
			faults = append(faults, fmt.Sprintf("%s: %s: %q", s.where, name, s.text))
		}
	}
	if err := syntaxError(s.text); err != nil {
		faults = append(faults, fmt.Sprintf("%s: %v: %q", s.where, err, s.text))
	}
	return faults
}
