// Package modelcheck walks breadth-first through every state that a small model of a protocol can reach: an explicit-state model checker
// for protocols that are written as Go values. The models of this project are told to it by Model; what they abstract from stands in
// their own packages. Only tests use it.
package modelcheck

import "fmt"

// Model is a protocol in one scenario under one set of rules. S is its whole state, R what remains of it once all actors have died.
type Model[S, R comparable] struct {
	First S
	// Walk makes one step of the state in every way that there is and hands each to emit, with who made it, what it was, and for which
	// subject.
	Walk func(s S, emit func(who, subject uint8, what string, next S))
	// Breaks says which rule a step breaks; "" for none.
	Breaks func(from, to *S) string
	// Rest is what remains of a state when all actors die.
	Rest func(s *S) R
	// Settle is one round of what runs by itself then.
	Settle func(r *R)
	// Unmended says what is wrong when settling changes nothing any more; "" for nothing.
	Unmended func(r *R) string
	Rounds   int      // more than settling ever takes
	Actors   []string // names of who makes steps
	Subject  string   // what a step is for, e.g. "order"
}

// Result is what a walk through all states found.
type Result struct {
	States    int
	Settled   int // distinct rests from which settling was tried
	Violation string
	Trace     []string // the steps that lead to the violation, none longer than needed
}

// origin is how a state was first reached.
type origin struct {
	from         int32
	who, subject uint8
	what         string
}

// Explore walks through every state that the model can reach and stops at the first violation, which no shorter way leads to. From every
// state it lets all actors die and the rest settle.
func Explore[S, R comparable](m *Model[S, R]) Result {
	seen := map[S]struct{}{m.First: {}}
	states, origins := []S{m.First}, []origin{{from: -1}}
	settled := make(map[R]struct{})
	for i := 0; i < len(states); i++ {
		s := states[i]
		wrong, last := m.settles(m.Rest(&s), settled), i
		if wrong == "" {
			m.Walk(s, func(who, subject uint8, what string, next S) {
				if _, known := seen[next]; known || wrong != "" {
					return
				}
				seen[next] = struct{}{}
				states, origins = append(states, next), append(origins, origin{int32(i), who, subject, what})
				if wrong = m.Breaks(&s, &next); wrong != "" {
					last = len(states) - 1
				}
			})
		}
		if wrong != "" {
			return Result{States: len(states), Settled: len(settled), Violation: wrong, Trace: m.trace(origins, last)}
		}
	}
	return Result{States: len(states), Settled: len(settled)}
}

func (m *Model[S, R]) trace(origins []origin, last int) []string {
	var steps []string
	for i := int32(last); i > 0; i = origins[i].from {
		o := origins[i]
		steps = append([]string{fmt.Sprintf("%s %s (%s %d)", m.Actors[o.who], o.what, m.Subject, o.subject+1)}, steps...)
	}
	return steps
}

// settles lets the schedules run and says what is not mended then; "" when all is. What was settled before is settled.
func (m *Model[S, R]) settles(r R, seen map[R]struct{}) string {
	for range m.Rounds {
		if _, known := seen[r]; known {
			return ""
		}
		before := r
		seen[before] = struct{}{}
		m.Settle(&r)
		if r == before {
			return m.Unmended(&r)
		}
	}
	return "repair never comes to rest"
}
