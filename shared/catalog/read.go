package catalog

import (
	"context"
	"database/sql"
	"slices"
	"strconv"

	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
)

// Get reads an activity by its id, with its ticket types in the operator's order; drafts too. It returns ErrNotFound, as a fault, and
// the errors of the driver.
func Get(ctx context.Context, q sqltx.Querier, id string) (*sale.Activity, error) {
	return one(ctx, q, ` WHERE activity_id = ?`, id)
}

// ByNumber reads the activity that order ids with this number belong to. Errors as of Get.
func ByNumber(ctx context.Context, q sqltx.Querier, number int64) (*sale.Activity, error) {
	return one(ctx, q, ` WHERE number = ?`, number)
}

// ListFilter says which activities a list holds.
type ListFilter struct {
	Drafts   bool          // drafts too; without it they are hidden
	Statuses []sale.Status // only these; none: all
}

// List reads a page of activities, the latest number first (the latest opening, as it was at creation). after is the cursor that the
// last page gave, "" for the first page; limit is at least 1. next is "" on the last page. It returns ErrBadCursor and the errors of
// the driver.
func List(ctx context.Context, q sqltx.Querier, f ListFilter, after string, limit int) (page []sale.Activity, next string, err error) {
	statuses := f.Statuses
	if len(statuses) == 0 {
		statuses = []sale.Status{sale.Draft, sale.Published, sale.Suspended, sale.Closed, sale.Cancelled}
	}
	if !f.Drafts {
		statuses = slices.DeleteFunc(slices.Clone(statuses), func(s sale.Status) bool { return s == sale.Draft })
	}
	if len(statuses) == 0 {
		return nil, "", nil
	}
	below := sale.MaxNumber + 1
	if after != "" {
		below, err = strconv.ParseInt(after, 36, 64)
		if err != nil || below < 1 || below > sale.MaxNumber {
			return nil, "", ErrBadCursor
		}
	}
	args := append(sqltx.Args(statuses), below, limit+1)
	page, err = many(ctx, q, ` WHERE status IN `+sqltx.In(len(statuses))+` AND number < ? ORDER BY number DESC LIMIT ?`, args...)
	if err != nil {
		return nil, "", err
	}
	if len(page) > limit {
		page = page[:limit]
		next = strconv.FormatInt(page[limit-1].Number, 36)
	}
	return page, next, nil
}

// LockShared reads activities, by id, under a shared lock that lasts as long as tx: their status, window and limit stay as they are
// while orders are written by them. It locks in the order of ids. An id without an activity is missing in the answer. It returns the
// errors of the driver.
func (c *Catalog) LockShared(ctx context.Context, tx *sql.Tx, ids []string) (map[string]*sale.Activity, error) {
	sorted := slices.Compact(slices.Sorted(slices.Values(ids)))
	locked := make(map[string]*sale.Activity, len(sorted))
	for chunk := range slices.Chunk(sorted, idsPerStatement) {
		found, err := many(ctx, tx, ` WHERE activity_id IN `+sqltx.In(len(chunk))+` ORDER BY activity_id LOCK IN SHARE MODE`,
			sqltx.Args(chunk)...)
		if err != nil {
			return nil, err
		}
		for i := range found {
			locked[found[i].ID] = &found[i]
		}
	}
	return locked, nil
}

// LockSharedByNumber is LockShared of the one activity that order ids with this number belong to. It returns ErrNotFound as a fault.
func (c *Catalog) LockSharedByNumber(ctx context.Context, tx *sql.Tx, number int64) (*sale.Activity, error) {
	return one(ctx, tx, ` WHERE number = ? LOCK IN SHARE MODE`, number)
}

// idsPerStatement keeps a list of ids, each up to 64 bytes and quoted, below sqltx.MaxStatement.
const idsPerStatement = 100
