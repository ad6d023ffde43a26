package tour

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"holdfast/infra/local"
)

// block is one fenced part of the README that is marked as belonging to the tour.
var block = regexp.MustCompile("(?s)<!-- tour -->\n```sh\n(.*?)```")

// ours finds the commands of bin/holdfast that ask the running stack.
var ours = regexp.MustCompile(`bin/holdfast (crowd|certificate|explain (?:order|user))`)

// expected is what each block's output must hold, in order, for the words around it in the README to be true.
var expected = [][]string{
	{},
	{`"status":"DRAFT"`, `"status":"PUBLISHED"`, `"phase":"OPEN"`},
	{`"status":"RESERVED"`, `"status":"RESERVED"`, `"code":"INSUFFICIENT_STOCK"`, `"shortage":2`},
	{`"status":"UNPAID"`, `"payDeadline"`, `"frozen":`},
	{`"status":"CANCELLED"`, `"status":"RESERVED"`},
	{`"now":`, `"expired":`, `"status":"CANCELLED"`, `"reason":"PAY_TIMEOUT"`},
	{`"code":"RESERVATION_UNCONFIRMED"`, `"status":"RESERVED"`},
	{`"policyHash"`, `"depositOutcomes"`, `"status":"UNPAID"`, `"deposit":`, `"status":"FROZEN"`, `"available":{"amount":"240.00"`, `"frozen":{"amount":"60.00"`},
	{`"code":"INSUFFICIENT_STOCK"`, `"status":"WAITING"`, `"status":"CANCELLED"`, `"status":"OFFERED"`, `"status":"FROZEN"`, `"DEPOSIT_PENALTY"`, `"DEPOSIT_FREEZE"`},
	{`"now":`, `"status":"CANCELLED"`, `"reason":"DEPOSIT_FORFEITED"`, `"DEPOSIT_PENALTY"`, `"WAITLIST_OFFER"`},
	{"PASS  O1", "PASS  C4", "Nothing was oversold, lost, or counted twice."},
	{"PASS", "M1", "PAY_TIMEOUT", "30.00", "user dave", "no order of theirs"},
}

func TestTheTourOfTheREADMEDoesWhatItSays(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := block.FindAllStringSubmatch(string(text), -1)
	if len(blocks) != len(expected) {
		t.Fatalf("the README has %d blocks of tour, this test expects %d", len(blocks), len(expected))
	}
	dir := t.TempDir()
	command := filepath.Join(dir, "holdfast")
	if said, err := exec.CommandContext(t.Context(), "go", "build", "-o", command, "holdfast/infra/cmd/holdfast").CombinedOutput(); err != nil {
		t.Fatalf("build the command: %v\n%s", err, said)
	}
	data := filepath.Join(dir, "data")
	stack, err := local.Up(t.Context(), local.Options{DataDir: data, Out: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	defer stack.Close()

	const mark = "-----8<-----"
	var script strings.Builder
	script.WriteString("set -u\n")
	for _, b := range blocks {
		// A port and a data folder of the test's own, where the README has the defaults.
		lines := strings.ReplaceAll(b[1], "http://127.0.0.1:8088", stack.Addresses.API)
		lines = ours.ReplaceAllString(lines, command+" $1 --data-dir "+data)
		script.WriteString(lines)
		script.WriteString("\necho '" + mark + "'\n")
	}
	shell := exec.CommandContext(t.Context(), "bash")
	shell.Stdin = strings.NewReader(script.String())
	output, err := shell.CombinedOutput()
	if err != nil {
		t.Fatalf("the tour ended with %v:\n%s", err, output)
	}
	parts := strings.Split(string(output), mark)
	for i, words := range expected {
		rest := parts[i]
		for _, word := range words {
			_, after, found := strings.Cut(rest, word)
			if !found {
				t.Errorf("block %d does not go on with %s:\n%s", i+1, word, parts[i])
				break
			}
			rest = after
		}
	}
}
