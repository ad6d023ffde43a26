package api

import (
	"context"
	"errors"
	"sync"
	"time"

	"holdfast/shared/catalog"
	"holdfast/shared/edge"
	"holdfast/shared/fault"
	"holdfast/shared/sale"
)

// How long a row of an activity is believed without asking again, and how many are kept: ids come from strangers.
const (
	rowLife = time.Second
	maxRows = 1000
)

// activities keeps rows of activities for a second, so that a crowd that looks at one sale asks MySQL once per instance and
// second. An id that has no row is kept as well.
type activities struct {
	d    edge.Deps
	mu   sync.Mutex
	rows map[string]row
}

// row is an activity as read at an instant of the process' monotonic clock; nil for an id that had none.
type row struct {
	activity *sale.Activity
	read     time.Time
}

func newActivities(d edge.Deps) *activities {
	return &activities{d: d, rows: make(map[string]row)}
}

// get gives an activity that buyers may see. It returns ActivityNotFound for an unknown id and for a draft, and the errors of the
// database.
func (c *activities) get(ctx context.Context, id string) (*sale.Activity, error) {
	c.mu.Lock()
	kept, found := c.rows[id]
	c.mu.Unlock()
	if !found || time.Since(kept.read) >= rowLife {
		asked := time.Now()
		a, err := catalog.Get(ctx, c.d.DB, id)
		if err != nil && !errors.Is(err, catalog.ErrNotFound) {
			return nil, err
		}
		kept = row{activity: a, read: asked}
		c.keep(id, kept)
	}
	if kept.activity == nil || kept.activity.Status == sale.Draft {
		return nil, fault.New(fault.ActivityNotFound, "There is no such activity.")
	}
	return kept.activity, nil
}

// keep stores a row; when too many have come, all of them go: the ones in use are back within a second.
func (c *activities) keep(id string, r row) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.rows) >= maxRows {
		clear(c.rows)
	}
	c.rows[id] = r
}
