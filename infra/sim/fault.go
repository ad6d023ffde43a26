package sim

import (
	"errors"
	"net"
	"os"
	"syscall"

	"github.com/go-sql-driver/mysql"
)

// side is what lies beyond a boundary.
type side uint8

const (
	cacheSide side = iota
	tableSide
	queueSide
	pauseSide
	providerSide
	workflowSide
	bellSide
	topicSide
)

func (s side) String() string {
	return [...]string{"redis", "mysql", "queue", "pause", "pay", "flow", "bell", "topic"}[s]
}

// fault is what happens to a call at a boundary.
type fault uint8

const (
	none       fault = iota
	diesBefore       // the actor dies, the call is never made
	diesAfter        // the call takes effect, then the actor dies
	unsent           // the call fails and had no effect
	unanswered       // the call takes effect, its answer is lost
	late             // the answer is lost, and the call takes effect later
	twice            // the call takes effect twice
	faults           // how many there are
)

func (f fault) String() string {
	return [...]string{"", "dies before", "dies after", "not sent", "answer lost", "answer lost, effect later", "sent twice"}[f]
}

// errDead is what a dead actor hears of every call.
var errDead = errors.New("sim: the actor is dead")

var (
	errQueue   = errors.New("sim: the queue does not answer")
	errOutside = errors.New("sim: the service does not answer")
)

// refusal is the error of a call that was never sent, as the client of that side words it.
func refusal(s side) error {
	switch s {
	case queueSide:
		return errQueue
	case providerSide, workflowSide, bellSide, topicSide:
		return errOutside
	}
	return &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
}

// silence is the error of a call whose answer never came.
func silence(s side) error {
	switch s {
	case cacheSide:
		return &net.OpError{Op: "read", Net: "tcp", Err: os.ErrDeadlineExceeded}
	case tableSide:
		return mysql.ErrInvalidConn
	case queueSide:
		return errQueue
	}
	return errOutside
}
