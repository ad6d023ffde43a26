package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"holdfast/shared/checkout"
	"holdfast/shared/order"
	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
	"holdfast/shared/stock"
)

// PendingGrace is how long a reservation may be without a row before repair takes it up.
const PendingGrace = time.Minute

const (
	judgePage    = 200
	releaseGrace = 5 * time.Second // how long whoever cancels may take to give the units back
)

// judgment is what becomes of an id whose pair was not plain.
type judgment struct {
	id      sale.OrderID
	mend    MendKind     // "" nothing
	row     *order.Order // to acknowledge or to release
	entry   stock.Entry  // to create from
	finding *finding     // nil: none
	flight  bool         // it is on its way between the stores
	broken  time.Time    // since when; zero: not known
	done    bool         // it was mended
	others  bool         // by a part of repair that writes it down itself
}

// judgeAll reads the ids again whose pair was not plain, page by page, judges and mends them. mayCreate says that MySQL does not
// contradict itself, so that an order may be made of what only Redis knows.
func (p *pass) judgeAll(ctx context.Context, mayCreate bool) error {
	ids := p.rows.residue
	slices.SortFunc(ids, order.CompareIDs)
	swept := false
	for pages := 0; len(ids) > 0; pages++ {
		page := ids[:min(len(ids), judgePage)]
		ids = ids[len(page):]
		judged, err := p.judge(ctx, page, mayCreate)
		if err != nil {
			return err
		}
		for i := range judged {
			switch j := &judged[i]; {
			case j.flight:
				p.inFlight++
			case j.finding != nil:
				p.found = append(p.found, *j.finding)
			case j.mend == "":
				p.rows.plain++
			}
		}
		if err := p.mend(ctx, judged, &swept); err != nil {
			return err
		}
		if err := p.alive(ctx, pages); err != nil {
			return err
		}
	}
	return nil
}

// judge reads rows, log, and rows again. The order matters, for both stores go on meanwhile, and along one life only: a row that was live
// before the log was read must stand in that log; an entry that was dead when the log was read must have its row afterwards.
func (p *pass) judge(ctx context.Context, ids []sale.OrderID, mayCreate bool) ([]judgment, error) {
	before, err := order.GetMany(ctx, p.r.db, ids)
	if err != nil {
		return nil, err
	}
	entries, err := p.r.stock.Entries(ctx, p.a.ID, ids)
	if errors.Is(err, stock.ErrNotLoaded) {
		return nil, errMoved
	}
	if err != nil {
		return nil, err
	}
	after, err := order.GetMany(ctx, p.r.db, ids)
	if err != nil {
		return nil, err
	}
	now, err := p.r.db.Now(ctx, p.r.db)
	if err != nil {
		return nil, err
	}
	out := make([]judgment, len(ids))
	var unknown []int
	for i, id := range ids {
		earlier, had := before[id]
		row, has := after[id]
		out[i] = judgment{id: id, entry: entries[i].Entry}
		switch e := entries[i]; {
		case !has && e.Found && e.Standing != stock.Dead && e.HasTaken:
			if out[i].flight = p.young(e.Reservation); !out[i].flight {
				unknown = append(unknown, i)
			}
		case !has && e.Found:
			out[i].finding = pairFinding(DeadWithoutRow, id, e, nil)
		case !has:
		case row.Status.Live():
			p.judgeLive(&out[i], e, &row, had && earlier.Status.Live())
		case e.Found && e.Standing != stock.Dead:
			p.judgeCancelled(&out[i], &row, had && earlier.ReleasedAt != nil, now)
		}
	}
	return out, p.judgeUnknown(ctx, out, unknown, mayCreate)
}

// young says whether a reservation is within its grace.
func (p *pass) young(r sale.Reservation) bool {
	return r.Seq > p.shot.Now.Add(-PendingGrace).UnixMicro()
}

// judgeLive judges an order that is live. wasLive says that it was live before the log was read.
func (p *pass) judgeLive(j *judgment, e stock.Found, row *order.Order, wasLive bool) {
	j.row = row
	r := e.Reservation
	switch {
	case !e.Found && !wasLive:
		j.flight = true // taken after the log was read, and made an order since
	case e.Standing == stock.Dead:
		j.finding = pairFinding(LiveButDead, row.ID, e, row)
	case !row.Fits(&p.facts): // no set can have it, with what the row says
		j.finding = pairFinding(EntryDiffers, row.ID, e, row)
	case !e.Found:
		j.mend = MendAdopt
	case r.UserID != row.UserID || r.TicketType != row.TicketType || r.Quantity != row.Quantity:
		j.finding = pairFinding(EntryDiffers, row.ID, e, row)
	case slices.Equal(r.Allocations, row.Allocations):
	default:
		if _, moved := p.log.moves[row.ID]; moved { // an order moves once at most
			j.finding = pairFinding(EntryDiffers, row.ID, e, row)
			return
		}
		j.mend, j.broken = MendAck, row.CreatedAt
	}
}

// judgeCancelled judges a CANCELLED order that the log has as taken. wasReleased says that its units were known to be back before the log
// was read, so that Redis must have lost that.
func (p *pass) judgeCancelled(j *judgment, row *order.Order, wasReleased bool, now time.Time) {
	j.row = row
	switch {
	case wasReleased:
		j.mend = MendRelease
	case row.CancelledAt.Add(releaseGrace).Before(now):
		j.mend, j.broken = MendRelease, *row.CancelledAt
	default:
		j.flight = true
	}
}

// judgeUnknown judges reservations past their grace that have no row. Pending ones are the minute pass's own, and made orders of by the
// same code. One that is not pending was acknowledged once, so a row was there: unless nothing at all in MySQL knows it, and
// Redis lost what was pending. Then an order is made of it, but for a deposit seat that is not marked as promised: its buyer may have been
// told that it did not work, and no money may be frozen for that; or was promised it before the mark could be set, and may not be
// cancelled. That is for a person to say.
func (p *pass) judgeUnknown(ctx context.Context, all []judgment, unknown []int, mayCreate bool) error {
	var acknowledged []sale.OrderID
	for _, i := range unknown {
		if all[i].entry.Standing == stock.Pending {
			all[i].mend, all[i].broken = MendCreate, all[i].entry.Reservation.At
		} else {
			acknowledged = append(acknowledged, all[i].id)
		}
	}
	traces, err := p.traces(ctx, acknowledged)
	if err != nil {
		return err
	}
	for _, i := range unknown {
		j := &all[i]
		switch {
		case j.mend != "":
		case traces[j.id]:
			j.finding = pairFinding(RowMissing, j.id, stock.Found{Entry: j.entry, Found: true}, nil)
		case p.a.Kind == sale.Deposit && !j.entry.Sent:
			j.finding = pairFinding(RowMissing, j.id, stock.Found{Entry: j.entry, Found: true}, nil)
		case mayCreate:
			j.mend, j.broken = MendCreate, j.entry.Reservation.At
		default:
			j.flight = true // nobody knows what is left to sell: first a person
		}
	}
	return nil
}

// traces says which ids other tables than that of orders know.
func (p *pass) traces(ctx context.Context, ids []sale.OrderID) (map[sale.OrderID]bool, error) {
	out := make(map[sale.OrderID]bool)
	if len(ids) == 0 {
		return out, nil
	}
	args := make([]any, len(ids))
	for i := range ids {
		args[i] = ids[i][:]
	}
	in := sqltx.In(len(ids))
	for _, query := range []string{
		`SELECT order_id FROM order_router WHERE order_id IN ` + in,
		`SELECT order_id FROM stock_log WHERE direction = -1 AND order_id IN ` + in,
	} {
		if err := p.addTraces(ctx, out, query, args); err != nil {
			return nil, fmt.Errorf("looking for traces of orders: %w", err)
		}
	}
	return out, nil
}

func (p *pass) addTraces(ctx context.Context, out map[sale.OrderID]bool, query string, args []any) error {
	found, err := p.r.db.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer found.Close()
	for found.Next() {
		var id []byte
		if err := found.Scan(&id); err != nil {
			return err
		}
		out[sale.OrderID(id)] = true
	}
	return found.Err()
}

// pairFinding is a difference of one order, with what each store says of it.
func pairFinding(kind DifferenceKind, id sale.OrderID, e stock.Found, row *order.Order) *finding {
	redis, mysql := map[string]any{"found": e.Found}, map[string]any{"found": row != nil}
	if e.Found {
		redis["standing"] = standingWords[e.Standing]
		if e.HasTaken {
			redis["userId"], redis["ticketType"], redis["quantity"] = e.Reservation.UserID, e.Reservation.TicketType, e.Reservation.Quantity
			redis["allocations"] = e.Reservation.Allocations
		}
		if e.Reason != "" {
			redis["reason"] = e.Reason
		}
	}
	if row != nil {
		mysql["userId"], mysql["ticketType"], mysql["quantity"] = row.UserID, row.TicketType, row.Quantity
		mysql["status"], mysql["allocations"] = row.Status, row.Allocations
	}
	evidence := map[string]any{"redis": redis, "mysql": mysql}
	return &finding{kind: kind, subject: id.String(), order: &id, says: evidence, evidence: evidence}
}

var standingWords = map[stock.Standing]string{stock.Pending: "PENDING", stock.Acknowledged: "ACKNOWLEDGED", stock.Dead: "DEAD"}

// mend does what was judged to be mended, or only lists it in a dry run. A repair that does not succeed leaves the run unfinished and its
// order with a status that says so; the others go on.
func (p *pass) mend(ctx context.Context, judged []judgment, swept *bool) error {
	var list []Mended
	by := make(map[MendKind][]*judgment)
	for i := range judged {
		if j := &judged[i]; j.mend != "" {
			list = append(list, Mended{Kind: j.mend, ActivityID: p.a.ID, OrderID: &j.id})
			by[j.mend] = append(by[j.mend], j)
		}
	}
	p.mends += len(list)
	if len(list) == 0 {
		return nil
	}
	if p.x.run.Mode == Repairing {
		p.step(ctx, MendRelease, by[MendRelease], p.release)
		p.step(ctx, MendAdopt, by[MendAdopt], p.acknowledge)
		p.step(ctx, MendAck, by[MendAck], p.acknowledge)
		p.step(ctx, MendCreate, by[MendCreate], func(ctx context.Context, list []*judgment) error { return p.create(ctx, list, swept) })
		list = list[:0]
		for i := range judged {
			if j := &judged[i]; j.done {
				list = append(list, Mended{Kind: j.mend, ActivityID: p.a.ID, OrderID: &j.id})
			}
		}
	}
	return p.x.mended(ctx, list)
}

// step mends what is of one kind, all at once, and writes it down.
func (p *pass) step(ctx context.Context, kind MendKind, list []*judgment, do func(context.Context, []*judgment) error) {
	if len(list) == 0 {
		return
	}
	if err := do(ctx, list); err != nil {
		p.failed = append(p.failed, fmt.Errorf("%s of %d orders: %w", kind, len(list), err))
		for _, j := range list {
			j.done = false
			p.rows.statuses.setBoth(j.id, unjudged)
		}
		return
	}
	var repairs []order.Repair
	for _, j := range list {
		if j.done && !j.others {
			repairs = append(repairs, order.Repair{ActivityID: p.a.ID, OrderID: &j.id, Layer: order.InFull, Kind: repairKinds[kind], BrokenAt: j.broken})
		}
	}
	p.note(ctx, repairs)
}

var repairKinds = map[MendKind]order.RepairKind{MendRelease: order.RepairRelease, MendAdopt: order.RepairAdopt, MendAck: order.RepairAck,
	MendCreate: order.RepairCreate, MendAdjustment: order.RepairAdjustment}

// note writes down what was mended; it stays mended if that fails.
func (p *pass) note(ctx context.Context, repairs []order.Repair) {
	now, err := p.r.db.Now(ctx, p.r.db)
	if err == nil {
		err = order.RecordRepairs(ctx, p.r.db, repairs, now)
	}
	if err != nil {
		p.r.log.Warn("repairs were not written down", "activityId", p.a.ID, "repairs", len(repairs), "error", err)
	}
}

func (p *pass) release(ctx context.Context, list []*judgment) error {
	var out checkout.Outcome
	for _, j := range list {
		j.done = true
		out.Cancelled = append(out.Cancelled, *j.row)
	}
	return p.r.checkout.Settle(ctx, out)
}

// acknowledge has Redis adopt orders that it lost, and move those that MySQL has in other buckets. What contradicts is found, not mended.
func (p *pass) acknowledge(ctx context.Context, list []*judgment) error {
	reservations := make([]sale.Reservation, len(list))
	for i, j := range list {
		reservations[i] = j.row.Reservation()
	}
	outcomes, err := p.r.stock.Acknowledge(ctx, p.a.ID, reservations)
	if err != nil {
		return err
	}
	for i, j := range list {
		e := stock.Found{Entry: j.entry, Found: j.mend == MendAck}
		switch outcomes[i] {
		case stock.AckAdopted, stock.AckMoved:
			j.done = true
		case stock.AckDead:
			e.Found, e.Standing = true, stock.Dead
			p.found = append(p.found, *pairFinding(LiveButDead, j.id, e, j.row))
		case stock.AckConflict:
			p.found = append(p.found, *pairFinding(EntryDiffers, j.id, e, j.row))
		}
	}
	return nil
}

// create makes orders of reservations without a row: pending ones by the sweep of the minute pass, once for all of them; others by the
// same transaction. A person is alerted of those that can become none.
func (p *pass) create(ctx context.Context, list []*judgment, swept *bool) error {
	var batch []checkout.Message
	for _, j := range list {
		j.done, j.others = true, j.entry.Standing == stock.Pending
		if !j.others {
			batch = append(batch, checkout.Message{Reservation: j.entry.Reservation})
		} else if !*swept {
			*swept = true
			if _, err := p.r.SweepPending(ctx, p.a.ID, PendingGrace, judgePage); err != nil {
				return err
			}
		}
	}
	made, err := p.r.createEach(ctx, batch)
	p.r.alertUnfit(ctx, p.a.ID, made.Poison)
	return errors.Join(err, p.r.checkout.Settle(ctx, made))
}
