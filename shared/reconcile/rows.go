package reconcile

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"time"

	"holdfast/shared/order"
	"holdfast/shared/sale"
)

// rowPage is how many rows a query of the snapshot brings.
const rowPage = 2000

// rows is what one snapshot of MySQL says, order by order against the log and table against table.
type rows struct {
	p        *pass
	at       time.Time // of the snapshot, by the clock of the database
	residue  []sale.OrderID
	shapes   map[shape]*shapeCount
	statuses *statuses
	mismatch []finding
	checked  int64
	plain    int64
	twisted  map[sale.OrderID]bool // the stock log contradicts the order
}

// rowsPage is one page of the snapshot: orders and their stock log, each in order of id.
type rowsPage struct {
	orders []orderLine
	log    []logLine
}

// orderUnits are the units of a bucket that live orders have.
type orderUnits struct{ frozen, sold int }

// orderLine is what is needed of one order.
type orderLine struct {
	id          sale.OrderID
	form        form
	user        string
	units       int
	status      order.Status
	log         [2]*logLine // taken, given back
	pairs       bool        // log and row say the same
	contradicts string      // what is wrong with its stock log; "" nothing
}

// logLine is one row of stock_log.
type logLine struct {
	id          sale.OrderID
	direction   int
	action      string
	allocations string
	change      int
	status      int
}

// readRows reads all rows of the activity in one snapshot, page by page, pairs them with the log and holds MySQL's tables against each
// other.
func (p *pass) readRows(ctx context.Context) (*rows, error) {
	r := &rows{p: p, shapes: make(map[shape]*shapeCount), twisted: make(map[sale.OrderID]bool), statuses: newStatuses()}
	err := p.r.db.Snapshot(ctx, func(tx *sql.Tx) (err error) {
		if r.at, err = p.r.db.Now(ctx, tx); err != nil {
			return err
		}
		if err := r.compareOrders(ctx, tx); err != nil {
			return err
		}
		if err := r.compareBuckets(ctx, tx); err != nil {
			return err
		}
		return r.compareLimits(ctx, tx)
	})
	if err != nil {
		return nil, fmt.Errorf("reading rows: %w", err)
	}
	r.unmatched()
	return r, nil
}

// compareOrders reads all orders with their stock log and pairs them with the log of Redis.
func (r *rows) compareOrders(ctx context.Context, tx *sql.Tx) error {
	low, high := order.Range(r.p.a.Number)
	pages := 0
	read := func(ctx context.Context) (page rowsPage, more bool, err error) {
		page, low, more, err = readRowsPage(ctx, tx, low, high)
		return page, more, err
	}
	return eachPage(ctx, r.p.r.ahead(), read, func(page rowsPage) error {
		r.joinLog(page)
		for i := range page.orders {
			r.take(&page.orders[i])
		}
		pages++
		return r.p.alive(ctx, pages)
	})
}

// readRowsPage reads the orders after low and below high, with their stock log, and says up to which id.
func readRowsPage(ctx context.Context, tx *sql.Tx, low, high sale.OrderID) (page rowsPage, last sale.OrderID, more bool, err error) {
	if page.orders, err = readOrders(ctx, tx, low, high); err != nil {
		return page, low, false, err
	}
	last = high
	if more = len(page.orders) == rowPage; more {
		last = page.orders[len(page.orders)-1].id
	}
	page.log, err = readStockLog(ctx, tx, low, last)
	return page, last, more, err
}

const selectOrderLines = `SELECT id, ticket_type, user_id, quantity, allocations, status FROM trade_order
 WHERE id > ? AND id < ? ORDER BY id LIMIT ?`

func readOrders(ctx context.Context, tx *sql.Tx, low, high sale.OrderID) ([]orderLine, error) {
	found, err := tx.QueryContext(ctx, selectOrderLines, low[:], high[:], rowPage)
	if err != nil {
		return nil, err
	}
	defer found.Close()
	page := make([]orderLine, 0, rowPage)
	var id, ticketType, user, quantity, allocations, status sql.RawBytes
	for found.Next() {
		if err := found.Scan(&id, &ticketType, &user, &quantity, &allocations, &status); err != nil {
			return nil, err
		}
		units, err := strconv.Atoi(string(quantity))
		if err != nil {
			return nil, err
		}
		page = append(page, orderLine{id: sale.OrderID(id), user: string(user), units: units,
			form: form{string(ticketType), string(allocations)}, status: order.Status(status)})
	}
	return page, found.Err()
}

const selectLogLines = `SELECT order_id, direction, action, allocations, change_quantity, reconciliation_status FROM stock_log
 WHERE order_id > ? AND order_id <= ? ORDER BY order_id, direction`

func readStockLog(ctx context.Context, tx *sql.Tx, low, last sale.OrderID) ([]logLine, error) {
	found, err := tx.QueryContext(ctx, selectLogLines, low[:], last[:])
	if err != nil {
		return nil, err
	}
	defer found.Close()
	page := make([]logLine, 0, rowPage)
	var id, direction, action, allocations, change, status sql.RawBytes
	for found.Next() {
		if err := found.Scan(&id, &direction, &action, &allocations, &change, &status); err != nil {
			return nil, err
		}
		l := logLine{id: sale.OrderID(id), action: string(action), allocations: string(allocations)}
		var err1, err2, err3 error
		l.direction, err1 = strconv.Atoi(string(direction))
		l.change, err2 = strconv.Atoi(string(change))
		l.status, err3 = strconv.Atoi(string(status))
		if err := errors.Join(err1, err2, err3); err != nil {
			return nil, err
		}
		page = append(page, l)
	}
	return page, found.Err()
}

// joinLog gives each order of the page its rows of the stock log; both lists are in order of id. A row of an order that there is not
// contradicts.
func (r *rows) joinLog(page rowsPage) {
	at := 0
	for i := range page.log {
		l := &page.log[i]
		for at < len(page.orders) && bytes.Compare(page.orders[at].id[:], l.id[:]) < 0 {
			at++
		}
		switch {
		case at == len(page.orders) || page.orders[at].id != l.id:
			r.twist(l.id, "the stock log has it, and there is no order", map[string]any{"direction": l.direction})
			r.statuses.set(l, inconsistent)
		case l.direction < 0:
			page.orders[at].log[0] = l
		default:
			page.orders[at].log[1] = l
		}
	}
}

func (r *rows) twist(id sale.OrderID, what string, more map[string]any) {
	if r.twisted[id] {
		return
	}
	r.twisted[id] = true
	r.mismatch = append(r.mismatch, finding{kind: StockLogDiffers, subject: id.String(), order: &id, says: what,
		evidence: map[string]any{"mysql": with(more, "stockLog", what)}})
}

func with(more map[string]any, name string, value any) map[string]any {
	out := map[string]any{name: value}
	for k, v := range more {
		out[k] = v
	}
	return out
}

// take counts one order and pairs it with the log.
func (r *rows) take(o *orderLine) {
	r.checked++
	x := r.p.log
	if what := o.stockLogFault(); what != "" {
		o.contradicts = what
		r.twist(o.id, what, map[string]any{"status": o.status, "quantity": o.units})
	}
	e := x.find(o.id)
	if e != nil {
		e.flags |= hasRow
	}
	if o.status.Live() {
		r.count(o)
		if e != nil && e.owned() && x.buyers[e.user].id == o.user { // which spares a look-up
			x.buyers[e.user].rows += int32(o.units)
		} else {
			x.buyers[x.buyer(o.user)].rows += int32(o.units)
		}
	}
	if o.pairs = o.pairsWith(x, e); o.pairs {
		r.plain++
	} else {
		r.residue = append(r.residue, o.id)
	}
	for _, l := range o.log {
		switch {
		case l == nil:
		case o.contradicts != "":
			r.statuses.set(l, inconsistent)
		case o.pairs:
			r.statuses.set(l, consistent)
		}
	}
}

// stockLogFault says what the stock log has wrong about an order; "" nothing.
func (o *orderLine) stockLogFault() string {
	taken, back := o.log[0], o.log[1]
	action := map[order.Status]string{order.Unpaid: "FREEZE", order.Paid: "DEDUCT"}[o.status]
	switch {
	case taken == nil:
		return "it has no row for the taking"
	case o.status.Live() && back != nil:
		return "it has a row for the giving back of a live order"
	case o.status == order.Cancelled && back == nil:
		return "it has no row for the giving back"
	case action != "" && taken.action != action:
		return "the taking has the action of another state"
	case -taken.change != o.units || back != nil && back.change != o.units:
		return "it has another quantity"
	case o.status.Live() && taken.allocations != o.form.allocations:
		return "it has other allocations"
	}
	return ""
}

// pairsWith says whether log and row plainly say the same of an id.
func (o *orderLine) pairsWith(x *logIndex, e *logEntry) bool {
	if !o.status.Live() {
		return e == nil || e.flags&isDead != 0
	}
	return e != nil && e.live() && int(e.units) == o.units && x.buyers[e.user].id == o.user && x.now(e) == o.form
}

// shape is what orders have in common that take the same units of the same buckets.
type shape struct {
	form  form
	units int
	paid  bool
}

// shapeCount is how many live orders have a shape, and one of them.
type shapeCount struct {
	n   int
	one sale.OrderID
}

func (r *rows) count(o *orderLine) {
	key := shape{o.form, o.units, o.status == order.Paid}
	c := r.shapes[key]
	if c == nil {
		c = &shapeCount{one: o.id}
		r.shapes[key] = c
	}
	c.n++
}

// addUp gives the units of each bucket that live orders have. Few shapes differ, so their allocations are read once each.
func (r *rows) addUp() map[bucketKey]*orderUnits {
	units := make(map[bucketKey]*orderUnits)
	for s, c := range r.shapes {
		allocations, err := sale.ParseAllocations(s.form.allocations)
		if err != nil || allocations.Units() != s.units {
			r.mismatch = append(r.mismatch, finding{kind: BucketDiffers, subject: c.one.String(), order: &c.one, says: "allocations",
				evidence: map[string]any{"mysql": map[string]any{"quantity": s.units, "allocations": s.form.allocations, "orders": c.n}}})
			continue
		}
		for _, a := range allocations {
			key := bucketKey{s.form.ticketType, a.Bucket}
			u := units[key]
			if u == nil {
				u = new(orderUnits)
				units[key] = u
			}
			if s.paid {
				u.sold += a.Count * c.n
			} else {
				u.frozen += a.Count * c.n
			}
		}
	}
	return units
}

// unmatched adds what the log has and MySQL has not.
func (r *rows) unmatched() {
	for i := range r.p.log.entries {
		if e := &r.p.log.entries[i]; e.flags&hasRow == 0 {
			r.residue = append(r.residue, e.id)
			r.checked++
		}
	}
}
