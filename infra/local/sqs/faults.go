package sqs

import (
	"context"
	"slices"
)

// The points at which faults can be injected, each asked once per call, batches included.
const (
	PointSend    = "queue.send"
	PointReceive = "queue.receive"
	PointDelete  = "queue.delete"
)

// Mode says how a call goes wrong; the table in the package's description tells what each does at each point.
type Mode string

// None lets the call go through. The others are named as the local stack's fault endpoint names them.
const (
	None       Mode = ""
	Refuse     Mode = "refuse"
	LoseAnswer Mode = "lose-answer"
	Drop       Mode = "drop"
	Duplicate  Mode = "duplicate"
	Hang       Mode = "hang"
	FailEntry  Mode = "fail-entry"
)

// Faults decides how the next call at a point goes wrong. Next is called by many goroutines at once. A mode that the point does not know
// counts as None.
type Faults interface {
	Next(point string) Mode
}

var modesOf = map[string][]Mode{
	PointSend:    {Refuse, LoseAnswer, Drop, Duplicate, Hang, FailEntry},
	PointReceive: {Refuse, LoseAnswer, Drop, Duplicate, Hang},
	PointDelete:  {Refuse, LoseAnswer, Drop, Hang, FailEntry},
}

// Points returns the fault points of this package.
func Points() []string { return []string{PointSend, PointReceive, PointDelete} }

// Modes returns the modes that act at point; nil for a point of someone else.
func Modes(point string) []Mode { return slices.Clone(modesOf[point]) }

// begin asks for the fault of one call and carries out those that end it before any effect: refuse answers 503, hang waits until the caller
// gives up.
func (s *Server) begin(ctx context.Context, point string) (Mode, error) {
	if s.faults == nil {
		return None, nil
	}
	mode := s.faults.Next(point)
	if !slices.Contains(modesOf[point], mode) {
		return None, nil
	}
	switch mode {
	case Refuse:
		return mode, errUnavailable()
	case Hang:
		select {
		case <-ctx.Done():
			return mode, ctx.Err()
		case <-s.done:
			return mode, ErrClosed
		}
	}
	return mode, nil
}

// end returns the error of a call that took effect.
func (m Mode) end() error {
	if m == LoseAnswer {
		return ErrAnswerLost
	}
	return nil
}

// failing reports whether fail-entry hits entry i, counted from 0, of a batch of n: the third and the seventh, or the last of a shorter one.
func (m Mode) failing(i, n int) bool {
	return m == FailEntry && (i == 2 || i == 6 || n < 3 && i == n-1)
}
