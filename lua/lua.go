package lua

import (
	"crypto/sha1"
	"embed"
	"encoding/hex"
	"slices"
)

//go:embed *.lua
var files embed.FS

// Script is one script: its name without ".lua", its text, and the SHA-1 by which Redis knows it, in lower-case hexadecimal.
type Script struct {
	Name   string
	Source string
	SHA    string
}

// The scripts; README.md says what each does and who runs it.
var (
	Ack            = load("ack")
	AddWaiters     = load("add_waiters")
	AdjustStock    = load("adjust_stock")
	Adopt          = load("adopt")
	BeginLoad      = load("begin_load")
	CacheOrder     = load("cache_order")
	ChangeRules    = load("change_rules")
	CorrectCounter = load("correct_counter")
	GateWaitlist   = load("gate_waitlist")
	LeaveWaitlist  = load("leave_waitlist")
	ListPending    = load("list_pending")
	MarkSent       = load("mark_sent")
	MarkWhole      = load("mark_whole")
	OpenLoad       = load("open_load")
	Probe          = load("probe")
	ReadEntries    = load("read_entries")
	ReadHolding    = load("read_holding")
	ReadRun        = load("read_run")
	ReadWaiters    = load("read_waiters")
	Release        = load("release")
	Reserve        = load("reserve")
	Snapshot       = load("snapshot")
	UndoAdjustment = load("undo_adjustment")
)

var all []*Script

// All gives every script, ordered by name.
func All() []*Script { return slices.Clone(all) }

// load reads a script that go:embed put into the binary; a missing one is a fault of the build and ends the program.
func load(name string) *Script {
	source, err := files.ReadFile(name + ".lua")
	if err != nil {
		panic(err)
	}
	sum := sha1.Sum(source)
	s := &Script{Name: name, Source: string(source), SHA: hex.EncodeToString(sum[:])}
	all = append(all, s)
	return s
}
