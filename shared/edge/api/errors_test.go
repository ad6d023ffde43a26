package api

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"
	"time"

	"holdfast/shared/fault"
)

// codesOf lists the constants of type Code in a Go source.
func codesOf(t *testing.T, name string, source any) []fault.Code {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, source, 0)
	if err != nil {
		t.Fatal(err)
	}
	var codes []fault.Code
	ast.Inspect(file, func(n ast.Node) bool {
		spec, isValue := n.(*ast.ValueSpec)
		if !isValue {
			return true
		}
		if kind, named := spec.Type.(*ast.Ident); !named || kind.Name != "Code" {
			return true
		}
		for _, v := range spec.Values {
			if literal, isText := v.(*ast.BasicLit); isText {
				text, err := strconv.Unquote(literal.Value)
				if err != nil {
					t.Fatal(err)
				}
				codes = append(codes, fault.Code(text))
			}
		}
		return true
	})
	return codes
}

// missing lists the codes that the table does not know.
func missing(codes []fault.Code) (out []fault.Code) {
	for _, code := range codes {
		if _, known := table[code]; !known {
			out = append(out, code)
		}
	}
	return out
}

func TestEveryFaultCodeHasItsRow(t *testing.T) {
	t.Parallel()
	codes := codesOf(t, "../../fault/fault.go", nil)
	if len(codes) < 30 {
		t.Fatalf("only %d codes found", len(codes))
	}
	if lost := missing(codes); len(lost) > 0 {
		t.Errorf("no row for %v", lost)
	}
	for code := range table {
		if k := table[code]; code.Retryable() != (k.retry > 0) {
			t.Errorf("%s: retryable %v, but waits %v", code, code.Retryable(), k.retry)
		}
	}
}

func TestAPlantedCodeWithoutARowIsFound(t *testing.T) {
	t.Parallel()
	codes := codesOf(t, "planted.go", "package fault\nconst ( A Code = \"ORDER_NOT_FOUND\"; B Code = \"NOBODY_KNOWS\" )")
	if lost := missing(codes); len(lost) != 1 || lost[0] != "NOBODY_KNOWS" {
		t.Errorf("found %v", lost)
	}
}

func TestProblemsHaveEveryMemberOfTheContract(t *testing.T) {
	t.Parallel()
	f := fault.New(fault.InsufficientStock, "Fewer units are left.").With("shortage", 2)
	response := problem(f, &Request{ID: "r-1"})
	var body map[string]any
	if err := json.Unmarshal(response.Body, &body); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]any{"type": "urn:holdfast:problem:insufficient-stock", "status": 409.0, "code": "INSUFFICIENT_STOCK",
		"retryable": false, "detail": "Fewer units are left.", "instance": "urn:holdfast:request:r-1", "shortage": 2.0, "number": 10005.0,
		"title": "Not enough units are left"} {
		if body[name] != want {
			t.Errorf("%s is %v, want %v", name, body[name], want)
		}
	}
	if response.Status != 409 || response.Header["Content-Type"] != "application/problem+json" || response.Header["Retry-After"] != "" {
		t.Errorf("status %d, headers %v", response.Status, response.Header)
	}
	if _, stands := body["retryAfterMs"]; stands {
		t.Error("retryAfterMs stands on what is not retryable")
	}
}

func TestRetryableProblemsSayWhenAndNeverTooEarly(t *testing.T) {
	t.Parallel()
	for range 200 {
		response := problem(fault.New(fault.SaleNotStarted, "later").After(90*time.Second), &Request{})
		var body struct{ RetryAfterMs int64 }
		if err := json.Unmarshal(response.Body, &body); err != nil {
			t.Fatal(err)
		}
		seconds, err := strconv.ParseInt(response.Header["Retry-After"], 10, 64)
		if err != nil || body.RetryAfterMs < 90_000 || body.RetryAfterMs > 92_000 || seconds != (body.RetryAfterMs+999)/1000 {
			t.Fatalf("%d ms, header %q", body.RetryAfterMs, response.Header["Retry-After"])
		}
	}
}

func TestUnconfirmedNamesTheOrderAndItsPlace(t *testing.T) {
	t.Parallel()
	response := problem(fault.New(fault.ReservationUnconfirmed, "perhaps").With("orderId", "abc"), &Request{})
	if response.Status != 503 || response.Header["Location"] != "/v1/orders/abc" || response.Header["Retry-After"] == "" {
		t.Errorf("status %d, headers %v", response.Status, response.Header)
	}
}
