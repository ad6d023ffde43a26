package catalog

import (
	"errors"
	"time"

	"holdfast/shared/audit"
	"holdfast/shared/sqltx"
)

// Refusals. Each comes as the cause of a *fault.Error with the code that clients see.
var (
	ErrNotFound          = errors.New("catalog: there is no such activity")
	ErrExists            = errors.New("catalog: the activity exists and was created with another body")
	ErrStale             = errors.New("catalog: the activity has changed since it was read")
	ErrIllegalTransition = errors.New("catalog: the status does not allow this")
	ErrNotChangeable     = errors.New("catalog: this cannot be changed any more")
	ErrRefused           = errors.New("catalog: the database refuses these values")

	ErrAdjustmentNotFound = errors.New("catalog: there is no such adjustment")
	ErrAdjustmentExists   = errors.New("catalog: the adjustment exists and asked for something else")
	ErrAdjustmentRefused  = errors.New("catalog: the adjustment was refused before")
	ErrBelowSold          = errors.New("catalog: a bucket has not that many units left")
)

// ErrEpoch is returned by NextEpoch when somebody else has loaded in between.
var ErrEpoch = errors.New("catalog: the epoch is another one by now")

// ErrBadCursor is returned by List for a cursor that it has not given out.
var ErrBadCursor = errors.New("catalog: bad cursor")

// Catalog writes activities.
type Catalog struct{ db *sqltx.DB }

// New makes a catalog over a database.
func New(db *sqltx.DB) *Catalog { return &Catalog{db: db} }

// complete fills what the caller of a write may leave open: action and subject; the instant is always the database's.
func complete(e audit.Entry, action, subject string, now time.Time) audit.Entry {
	if e.Action == "" {
		e.Action = action
	}
	if e.Subject == "" {
		e.Subject = subject
	}
	e.At = now
	return e
}
