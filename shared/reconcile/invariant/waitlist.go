package invariant

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"slices"
	"time"

	"holdfast/shared/order"
	"holdfast/shared/sale"
)

// entryID is the id of an entry of the waitlist.
type entryID [16]byte

func (id entryID) String() string { return "waitlist entry " + hex.EncodeToString(id[:]) }

// waiterRow is one row of waitlist_entry.
type waiterRow struct {
	id                 entryID
	ticketType, userID string
	quantity           int
	status             string
	orderID            sale.OrderID
	hasOrder           bool
	updatedAt          time.Time
}

var errEntryID = errors.New("invariant: an entry id has not 16 bytes")

// readWaiters reads the waitlist of the activity.
func (r *rows) readWaiters(ctx context.Context, tx *sql.Tx, activityID string) error {
	return each(ctx, tx, func(scan func(...any) error) error {
		var w waiterRow
		var id, orderID []byte
		if err := scan(&id, &w.ticketType, &w.userID, &w.quantity, &w.status, &orderID, &w.updatedAt); err != nil {
			return err
		}
		if copy(w.id[:], id) != len(w.id) {
			return errEntryID
		}
		var err error
		if w.hasOrder = orderID != nil; w.hasOrder {
			w.orderID, err = sale.OrderIDFromBytes(orderID)
		}
		r.waiters = append(r.waiters, w)
		return err
	}, `SELECT entry_id, ticket_type, user_id, quantity, status, order_id, updated_at FROM waitlist_entry
		WHERE activity_id = ? ORDER BY entry_id`, activityID)
}

// ofWaiters checks that an entry and the order that was offered to it change together, that nobody waits twice, and that the sets in
// Redis, which shut the public out, hold whoever waits. An entry that changed within the grace may be on its way into or out of a set.
func ofWaiters(r *Reading) []Equation {
	offers := newTally("W1", "entries of the waitlist that stand as the order that was offered to them")
	active := newTally("W2", "active entries of the waitlist = users who have one")
	late := newTally("W4", "entries that wait for a sale that has been over for longer than the grace")
	sets := newTally("W3", "who waits in Redis = who waits in MySQL, or is on the way")
	users := make(map[string]bool)
	offered := make(map[sale.OrderID]bool)
	known := make(map[entryID]bool, len(r.rows.waiters))
	for i := range r.rows.waiters {
		w := &r.rows.waiters[i]
		known[w.id] = true
		if w.status == "WAITING" || w.status == "OFFERED" {
			active.Left++
			if users[w.userID] {
				active.breaks(w.id.String())
			}
			users[w.userID] = true
		}
		if w.status == "OFFERED" || w.status == "ACCEPTED" || w.status == "LAPSED" {
			offered[w.orderID] = true
			stands := 0
			if r.rows.offerStands(w) {
				stands = 1
			}
			offers.compare(stands, 1, w.id.String())
		}
		if w.status == "WAITING" && r.rows.overSince != nil && !r.rows.now.Before(r.rows.overSince.Add(Grace)) {
			late.Left++
			late.breaks(w.id.String())
		}
		inSet, waits := r.cache.waiters[w.id] != "", w.status == "WAITING"
		if inSet == waits && (!waits || r.cache.waiters[w.id] == w.ticketType) || r.rows.now.Before(w.updatedAt.Add(Grace)) {
			continue
		}
		if inSet {
			sets.Left++
		}
		if waits {
			sets.Right++
		}
		sets.breaks(w.id.String())
	}
	active.Right = len(users)
	for _, o := range r.rows.sorted {
		if o.source == "OFFER" && !offered[o.id] && !o.bornDead() {
			offers.compare(0, 1, o.id.String())
		}
	}
	for _, id := range r.cache.strayWaiters(known) {
		sets.Left++
		sets.breaks(id.String())
	}
	return []Equation{offers.Equation, active.Equation, sets.Equation, late.Equation}
}

// bornDead says whether the order was CANCELLED by the transaction that wrote it, so that nobody ever had it.
func (o *orderRow) bornDead() bool {
	return !o.live() && o.cancelledAt != nil && !o.cancelledAt.After(o.createdAt)
}

// offerStands says whether an entry that was offered an order stands as that order does.
func (r *rows) offerStands(w *waiterRow) bool {
	o := r.orders[w.orderID]
	if !w.hasOrder || o == nil || o.source != "OFFER" || o.userID != w.userID || o.ticketType != w.ticketType || o.quantity != w.quantity {
		return false
	}
	deposit := r.money != nil && r.money.offered[o.id] != nil
	switch w.status {
	case "OFFERED":
		return o.status == "UNPAID" && !deposit
	case "ACCEPTED": // paid, if only nothing, or frozen; what became of that later is no matter of the waitlist
		return deposit || o.status == "PAID" || o.status == "CANCELLED" && (o.paidBy != "" || r.taken[o.id].action == "DEDUCT")
	}
	return o.status == "CANCELLED" && o.paid == 0 && !deposit
}

// strayWaiters lists members of the sets in Redis that no row explains, sorted. Rows are never deleted, and are read after the sets.
func (c *cache) strayWaiters(known map[entryID]bool) []entryID {
	var strays []entryID
	for id := range c.waiters {
		if !known[id] {
			strays = append(strays, id)
		}
	}
	slices.SortFunc(strays, func(a, b entryID) int { return bytes.Compare(a[:], b[:]) })
	return strays
}

// noticeSums is what is known of the notices that are named after orders of an activity: all but those of refunds and of offers, which are
// written beside the row that they tell of.
type noticeSums struct {
	notices, subjects int    // written, and different in subject and kind
	doubled           string // a subject with two of one kind
	orphans           []sale.OrderID
}

// readNotices counts the notices, and finds those about orders that do not exist. They are one range of subjects, as the orders are one of
// ids: the table holds the notices of all sales.
func (r *rows) readNotices(ctx context.Context, tx *sql.Tx, _ string) error {
	n := &r.notices
	above, below := order.Range(r.number)
	from, to := above.String(), below.String()
	err := each(ctx, tx, func(scan func(...any) error) error { return scan(&n.notices, &n.subjects) },
		`SELECT COUNT(*), COUNT(DISTINCT subject, kind) FROM notice WHERE subject > ? AND subject < ?`, from, to)
	if err != nil {
		return err
	}
	if n.notices != n.subjects {
		err := each(ctx, tx, func(scan func(...any) error) error { return scan(&n.doubled) }, `SELECT subject FROM notice
			WHERE subject > ? AND subject < ? GROUP BY subject, kind HAVING COUNT(*) > 1 ORDER BY subject LIMIT 1`, from, to)
		if err != nil {
			return err
		}
	}
	return each(ctx, tx, func(scan func(...any) error) error {
		var id []byte
		if err := scan(&id); err != nil {
			return err
		}
		orderID, err := sale.OrderIDFromBytes(id)
		n.orphans = append(n.orphans, orderID)
		return err
	}, `SELECT n.order_id FROM notice n LEFT JOIN trade_order o ON o.id = n.order_id
		WHERE n.subject > ? AND n.subject < ? AND n.order_id IS NOT NULL AND o.id IS NULL ORDER BY n.order_id LIMIT ?`, from, to, page)
}

// ofNotices is that nobody is told twice, nor of what was rolled back.
func ofNotices(r *rows) []Equation {
	once := newTally("N1", "notices = different subjects and kinds")
	once.compare(r.notices.notices, r.notices.subjects, "notices of "+r.notices.doubled)
	unreal := newTally("N2", "notices of orders that do not exist")
	for _, id := range r.notices.orphans {
		unreal.Left++
		unreal.breaks(id.String())
	}
	return []Equation{once.Equation, unreal.Equation}
}
