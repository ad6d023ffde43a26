package lua

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// header is what a script promises in its opening comment.
type header struct {
	flags    []string
	purpose  string
	keys     []string // names of those numbered singly, in order
	moreKeys string   // name of those repeated to the end; empty if none
	args     []string // names of those numbered singly, in order
	repeated []string // names of those repeated to the end; nil if none
	caller   string
}

var (
	shebang      = regexp.MustCompile(`^#!lua(?: flags=([a-z,-]+))?$`)
	keyLine      = regexp.MustCompile(`^KEYS\[(\d+)\] (\S+) +(hash|zset|set|string)$`)
	moreKeysLine = regexp.MustCompile(`^KEYS\[(\d+)\.\.\] (\S+) (hash|zset|set|string): \S.*$`)
	argLine      = regexp.MustCompile(`^ARGV\[(\d+)\] (\S+) +\S.*$`)
	repeatLine   = regexp.MustCompile(`^ARGV\[(\d+)\.\.\] ([a-z, ]+): \S.*$`)
	keyUse       = regexp.MustCompile(`KEYS\[([^\]]+)\]`)
	argUse       = regexp.MustCompile(`ARGV\[([^\]]+)\]`)
	keyLoop      = regexp.MustCompile(`for i = (\d+), #KEYS do`)
	loop         = regexp.MustCompile(`for i = (\d+), #ARGV(?:, (\d+))? do`)
	commandUse   = regexp.MustCompile(`call\('([A-Z]+)'(?:, ([^,()]+))?`)
	knownFlags   = []string{"allow-oom", "no-writes"}
	writingVerbs = []string{"HSET", "ZADD", "ZREM", "SADD", "SREM", "UNLINK", "SET"}
	readingVerbs = []string{"HGET", "HMGET", "HGETALL", "ZCARD", "ZSCORE", "ZRANGEBYSCORE", "SCARD", "GET", "TYPE"}
)

// split separates the opening comment from the code.
func split(source string) (first string, comment []string, code string) {
	lines := strings.Split(source, "\n")
	i := 1
	for ; i < len(lines) && strings.HasPrefix(lines[i], "--"); i++ {
		comment = append(comment, strings.TrimPrefix(strings.TrimPrefix(lines[i], "--"), " "))
	}
	var bare []string // without comments, which may name anything
	for _, line := range lines[i:] {
		text, _, _ := strings.Cut(line, "--")
		bare = append(bare, text)
	}
	return lines[0], comment, strings.Join(bare, "\n")
}

// readHeader reads the opening comment and says what is wrong with its form.
func readHeader(source string) (h header, wrong []string) {
	first, comment, _ := split(source)
	m := shebang.FindStringSubmatch(first)
	switch {
	case m == nil:
		wrong = append(wrong, "does not start with #!lua")
	case m[1] != "":
		h.flags = strings.Split(m[1], ",")
		for _, flag := range h.flags {
			if !slices.Contains(knownFlags, flag) {
				wrong = append(wrong, "has the unknown flag "+flag)
			}
		}
	}
	var sections []string
	for _, line := range comment {
		label, rest, _ := strings.Cut(line, ":")
		switch {
		case keyLine.MatchString(line):
			m := keyLine.FindStringSubmatch(line)
			h.keys = append(h.keys, m[2])
			wrong = append(wrong, numbered("KEYS", m[1], len(h.keys))...)
			sections = append(sections, "KEYS")
		case moreKeysLine.MatchString(line):
			m := moreKeysLine.FindStringSubmatch(line)
			h.moreKeys = m[2]
			wrong = append(wrong, numbered("KEYS", m[1], len(h.keys)+1)...)
			sections = append(sections, "KEYS..")
		case repeatLine.MatchString(line):
			m := repeatLine.FindStringSubmatch(line)
			h.repeated = strings.Split(m[2], ", ")
			wrong = append(wrong, numbered("ARGV", m[1], len(h.args)+1)...)
			sections = append(sections, "ARGV..")
		case argLine.MatchString(line):
			m := argLine.FindStringSubmatch(line)
			h.args = append(h.args, m[2])
			wrong = append(wrong, numbered("ARGV", m[1], len(h.args))...)
			sections = append(sections, "ARGV")
		case label == "Returns" || label == "Idempotent by" || label == "Caller":
			if strings.TrimSpace(rest) == "" {
				wrong = append(wrong, label+" is empty")
			}
			if label == "Caller" {
				h.caller = strings.TrimSpace(rest)
			}
			sections = append(sections, label)
		case len(sections) == 0:
			h.purpose += line
		case strings.HasPrefix(line, "KEYS") || strings.HasPrefix(line, "ARGV"):
			wrong = append(wrong, "has a line of another form: "+line)
		}
	}
	if h.purpose == "" {
		wrong = append(wrong, "has no purpose")
	}
	order := []string{"KEYS", "KEYS..", "ARGV", "ARGV..", "Returns", "Idempotent by", "Caller"}
	if got := slices.Compact(slices.Clone(sections)); !slices.IsSortedFunc(got, func(a, b string) int { return slices.Index(order, a) - slices.Index(order, b) }) {
		wrong = append(wrong, fmt.Sprintf("has its sections in the order %v", got))
	}
	for _, label := range order[4:] {
		if !slices.Contains(sections, label) {
			wrong = append(wrong, "has no "+label)
		}
	}
	return h, wrong
}

func numbered(list, number string, want int) []string {
	if number != strconv.Itoa(want) {
		return []string{fmt.Sprintf("numbers %s[%s] where %d comes next", list, number, want)}
	}
	return nil
}

// violations holds a script's code against its header and against the rules of all scripts.
func violations(source string) []string {
	h, wrong := readHeader(source)
	_, _, code := split(source)
	if n := strings.Count(source, "\n"); n > 100 {
		wrong = append(wrong, fmt.Sprintf("has %d lines", n))
	}
	wrong = append(wrong, compare("KEYS", keyUse, code, len(h.keys), h.moreKeys != "")...)
	wrong = append(wrong, compare("ARGV", argUse, code, len(h.args), h.repeated != nil)...)
	wrong = append(wrong, keyLoops(h, code)...)
	wrong = append(wrong, loops(h, code)...)
	wrong = append(wrong, commands(h, code)...)
	for _, banned := range []string{"error_reply", "pcall", "cjson", "loadstring", "'hf:", "\"", "{' ..", "math.random"} {
		if strings.Contains(code, banned) {
			wrong = append(wrong, "contains "+banned)
		}
	}
	return wrong
}

// compare holds the numbers that the code uses against those that are documented, 1..n.
func compare(list string, use *regexp.Regexp, code string, n int, repeated bool) (wrong []string) {
	used := map[int]bool{}
	for _, m := range use.FindAllStringSubmatch(code, -1) {
		number, err := strconv.Atoi(m[1])
		switch {
		case err == nil:
			used[number] = true
		case !repeated || !strings.HasPrefix(m[1], "i"):
			wrong = append(wrong, fmt.Sprintf("uses %s, which no line documents", m[0]))
		}
	}
	for number := range used {
		if number > n {
			wrong = append(wrong, fmt.Sprintf("uses %s[%d], which no line documents", list, number))
		}
	}
	for number := 1; number <= n; number++ {
		if !used[number] {
			wrong = append(wrong, fmt.Sprintf("documents %s[%d] and does not use it", list, number))
		}
	}
	return wrong
}

// keyLoops holds the repeated keys against what goes over them: the one loop over them, or the one over the arguments that come one
// with each.
func keyLoops(h header, code string) []string {
	found := keyLoop.FindAllStringSubmatch(code, -1)
	beside := fmt.Sprintf("KEYS[i + %d]", len(h.keys)-len(h.args))
	switch {
	case h.moreKeys == "" && strings.Contains(code, "#KEYS"):
		return []string{"uses #KEYS and documents nothing repeated"}
	case h.moreKeys == "":
		return nil
	case len(found) == 1 && found[0][1] == strconv.Itoa(len(h.keys)+1), len(found) == 0 && len(h.repeated) == 1 && strings.Contains(code, beside):
		return nil
	}
	return []string{fmt.Sprintf("does not go over %s from KEYS[%d]", h.moreKeys, len(h.keys)+1)}
}

// allKeys names the keys as the table of scripts does.
func (h header) allKeys() string {
	if h.moreKeys == "" {
		return strings.Join(h.keys, ", ")
	}
	return strings.Join(append(slices.Clone(h.keys), h.moreKeys), ", ")
}

// loops holds the repeated arguments against the one loop over them: from where, and how many at a time.
func loops(h header, code string) []string {
	found := loop.FindAllStringSubmatch(code, -1)
	if h.repeated == nil {
		if strings.Contains(code, "#ARGV") {
			return []string{"uses #ARGV and documents nothing repeated"}
		}
		return nil
	}
	stride := func(text string) string {
		if text == "" {
			return "1"
		}
		return text
	}
	if len(found) != 1 || found[0][1] != strconv.Itoa(len(h.args)+1) || stride(found[0][2]) != strconv.Itoa(len(h.repeated)) {
		return []string{fmt.Sprintf("does not loop from %d by %d over what it documents as repeated", len(h.args)+1, len(h.repeated))}
	}
	for _, m := range argUse.FindAllStringSubmatch(code, -1) {
		if at, found := strings.CutPrefix(m[1], "i + "); found {
			if n, err := strconv.Atoi(at); err != nil || n >= len(h.repeated) {
				return []string{"uses " + m[0] + ", beyond what one turn documents"}
			}
		}
	}
	return nil
}

// commands sees that every command is a known one on a key that the header names, and that a script which promises not to write
// does not.
func commands(h header, code string) (wrong []string) {
	for _, m := range commandUse.FindAllStringSubmatch(code, -1) {
		verb, key := m[1], m[2]
		if verb == "TIME" || verb == "INFO" { // they have no key
			continue
		}
		writes := slices.Contains(writingVerbs, verb)
		if !writes && !slices.Contains(readingVerbs, verb) {
			wrong = append(wrong, "uses the command "+verb+", which this test does not know")
		}
		if writes && slices.Contains(h.flags, "no-writes") {
			wrong = append(wrong, "promises no writes and uses "+verb)
		}
		if !slices.Contains(h.keys, key) && !strings.HasPrefix(key, "KEYS[") {
			wrong = append(wrong, fmt.Sprintf("uses %s on %q, which is none of its keys", verb, key))
		}
	}
	return wrong
}
