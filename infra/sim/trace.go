package sim

import (
	"fmt"
	"hash/fnv"
	"time"
)

// line is one line of a trace; its text is made when it is printed.
type line struct {
	step  int
	at    time.Time
	who   *actor // nil: the world
	side  side
	what  string
	fault fault
}

// trace is what happened in a seed.
type trace []line

func (r *run) note(a *actor, c *call, f fault) {
	r.steps++
	r.clock.advance(time.Millisecond)
	r.trace = append(r.trace, line{r.steps, r.clock.now(), a, c.side, c.what, f})
}

// tellOf notes a call of the settling, which is no step of the seed.
func (r *run) tellOf(a *actor, c *call) {
	r.clock.advance(time.Millisecond)
	r.trace = append(r.trace, line{r.steps, r.clock.now(), a, c.side, c.what, none})
}

// tell notes what no actor did.
func (r *run) tell(what string) {
	r.trace = append(r.trace, line{step: r.steps, at: r.clock.now(), what: what})
}

func (l *line) String() string {
	if l.who == nil {
		return fmt.Sprintf("%4d  +%-9v %s", l.step, l.at.Sub(epoch).Truncate(time.Millisecond), l.what)
	}
	text := fmt.Sprintf("%4d  +%-9v %-16s %-5s %s", l.step, l.at.Sub(epoch).Truncate(time.Millisecond), l.who, l.side, short(l.what))
	if l.fault != none {
		text += "  <- " + l.fault.String()
	}
	return text
}

// lines are the trace for people.
func (t trace) lines() []string {
	out := make([]string, len(t))
	for i := range t {
		out[i] = t[i].String()
	}
	return out
}

// digest tells two courses of a seed apart.
func (t trace) digest() uint64 {
	h := fnv.New64a()
	for i := range t {
		fmt.Fprintln(h, t[i].String())
	}
	return h.Sum64()
}
