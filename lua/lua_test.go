package lua

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const callers = "../shared/stock"

// variableOf is the Go name of a script: reserve -> Reserve, begin_load -> BeginLoad.
func variableOf(script string) string {
	var b strings.Builder
	for _, part := range strings.Split(script, "_") {
		b.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return b.String()
}

func TestEveryScriptKeepsItsHeader(t *testing.T) {
	t.Parallel()
	calls, err := callsIn(callers)
	if err != nil {
		t.Fatal(err)
	}
	for _, script := range All() {
		h, _ := readHeader(script.Source)
		for _, wrong := range append(violations(script.Source), callViolations(h, variableOf(script.Name), calls)...) {
			t.Errorf("%s.lua %s", script.Name, wrong)
		}
	}
}

func TestEveryFileIsLoadedAndListedInTheReadme(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.lua")
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != len(All()) {
		t.Errorf("%d files, %d scripts", len(files), len(All()))
	}
	for _, script := range All() {
		h, _ := readHeader(script.Source)
		row := "| `" + script.Name + "` |"
		_, after, found := strings.Cut(string(readme), row)
		line, _, _ := strings.Cut(after, "\n")
		if !found || !strings.Contains(line, "`"+h.caller+"`") || !strings.Contains(line, "| "+h.allKeys()+" |") {
			t.Errorf("README.md has no row of %s with its keys and %s", script.Name, h.caller)
		}
	}
	if rows := strings.Count(string(readme), "\n| `"); rows != len(All()) {
		t.Errorf("README.md lists %d scripts of %d", rows, len(All()))
	}
}

// Each planted violation must turn the check red; without this the check could pass by seeing nothing.
func TestPlantedViolationsAreSeen(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ script, old, new, want string }{
		"no shebang":                   {"reserve", "#!lua\n", "--\n", "does not start with"},
		"unknown flag":                 {"ack", "allow-oom", "allow-stale", "unknown flag"},
		"no purpose":                   {"probe", "-- Proves that scripts which may write would run now: Redis refuses it when it is full, read-only, loading or cannot save.\n", "", "no purpose"},
		"undocumented key":             {"release", "-- KEYS[4] pending   zset\n", "", "uses KEYS[4]"},
		"unused key":                   {"open_load", "-- ARGV[1]", "-- KEYS[4] pending   zset\n-- ARGV[1]", "documents KEYS[4]"},
		"key without a type":           {"open_load", "log       hash", "log", "another form"},
		"numbers out of order":         {"release", "KEYS[3] log", "KEYS[5] log", "where 3 comes next"},
		"undocumented argument":        {"reserve", "-- ARGV[8] past      1 past the gate of the waitlist, 0 not: then nothing is left while anybody waits\n", "", "uses ARGV[8]"},
		"unused argument":              {"change_rules", "'limit', ARGV[5]", "'limit', ARGV[4]", "documents ARGV[5]"},
		"argument by variable":         {"release", "ARGV[3]\n", "ARGV[n]\n", "uses ARGV[n]"},
		"other stride":                 {"ack", "#ARGV, 5", "#ARGV, 4", "does not loop"},
		"beyond one turn":              {"adopt", "ARGV[i + 4]", "ARGV[i + 5]", "beyond what one turn"},
		"no loop documented":           {"begin_load", "-- ARGV[9..] counter, units: every counter's field and its original capacity\n", "", "#ARGV"},
		"no Returns":                   {"ack", "-- Returns:", "-- Gives:", "has no Returns"},
		"sections in another order":    {"probe", "-- Idempotent by: reading only\n-- Caller: Store.Probe", "-- Caller: Store.Probe\n-- Idempotent by: reading only", "in the order"},
		"empty Idempotent by":          {"ack", "-- Idempotent by: order", "-- Idempotent by:", "is empty"},
		"repeated keys unnamed":        {"begin_load", "-- KEYS[6..] waiters set: one per ticket type\n", "", "#KEYS"},
		"other repeated keys":          {"begin_load", "for i = 6, #KEYS", "for i = 5, #KEYS", "does not go over waiters"},
		"repeated keys against caller": {"read_waiters", "-- KEYS[2..] waiters set", "-- KEYS[2..] buyers set", "repeated keys"},
		"foreign key":                  {"reserve", "call('HSET', log,", "call('HSET', other,", "none of its keys"},
		"key built in the script":      {"reserve", "call('HSET', log,", "call('HSET', 'hf:' .. user,", "contains 'hf:"},
		"unknown command":              {"snapshot", "'HGETALL'", "'KEYS'", "does not know"},
		"writes against the promise":   {"snapshot", "call('ZCARD', KEYS[4])", "call('ZREM', KEYS[4])", "promises no writes"},
		"error reply":                  {"probe", "return {'UP'", "return redis.error_reply('NO')", "error_reply"},
		"too long":                     {"reserve", "return entry\n", "return entry\n" + strings.Repeat("\n", 50), "lines"},
		"another caller named":         {"reserve", "Store.Reserve", "Store.Release", "names Store.Release"},
		"keys in another order":        {"release", "KEYS[1] rules ", "KEYS[1] buyers", "is given the keys"},
		"one argument more":            {"cache_order", "-- Returns", "-- ARGV[4] extra     s\n-- Returns", "is given 3 single"},
		"repeated against the caller":  {"probe", "-- Returns", "-- ARGV[1..] a: b\n-- Returns", "documents them: true"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source, err := os.ReadFile(c.script + ".lua")
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(source), c.old) {
				t.Fatalf("%s.lua has no %q to replace", c.script, c.old)
			}
			planted := strings.Replace(string(source), c.old, c.new, 1)
			calls, err := callsIn(callers)
			if err != nil {
				t.Fatal(err)
			}
			h, _ := readHeader(planted)
			wrong := append(violations(planted), callViolations(h, variableOf(c.script), calls)...)
			if !strings.Contains(strings.Join(wrong, "\n"), c.want) {
				t.Errorf("saw %q, want something with %q", wrong, c.want)
			}
		})
	}
}

// The same from the other side: a caller that passes something else than documented.
func TestPlantedCallersAreSeen(t *testing.T) {
	t.Parallel()
	const form = `package stock
func (s *Store) Open() { s.run(ctx, lua.OpenLoad, []string{%KEYS}, []any{%ARGS}%MORE) }`
	for name, c := range map[string]struct{ keys, args, more, want string }{
		"as documented": {"k.rules(), k.buyers(), k.log()", "epoch", "", ""},
		"key missing":   {"k.rules(), k.buyers()", "epoch", "", "is given the keys"},
		"key by name":   {`k.rules(), k.buyers(), "hf:{a}:log"`, "epoch", "", "is given the keys"},
		"argument more": {"k.rules(), k.buyers(), k.log()", "epoch, now", "", "is given 2 single"},
		"repeated":      {"k.rules(), k.buyers(), k.log()", "epoch", ", more...", "repeated"},
	} {
		source := strings.NewReplacer("%KEYS", c.keys, "%ARGS", c.args, "%MORE", c.more).Replace(form)
		calls, err := callsInSource(name, []byte(source))
		if err != nil {
			t.Fatal(err)
		}
		h, _ := readHeader(OpenLoad.Source)
		wrong := strings.Join(callViolations(h, "OpenLoad", calls), "\n")
		if c.want == "" && wrong != "" || !strings.Contains(wrong, c.want) {
			t.Errorf("%s: saw %q, want something with %q", name, wrong, c.want)
		}
	}
	h, _ := readHeader(OpenLoad.Source)
	if wrong := callViolations(h, "OpenLoad", nil); len(wrong) == 0 {
		t.Error("a script without a caller was not seen")
	}
}
