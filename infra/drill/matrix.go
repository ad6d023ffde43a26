package drill

import (
	"cmp"
	"context"
	"database/sql"
	"math"
	"slices"
	"time"

	"holdfast/shared/order"
	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
)

// Mended is one repair as the stack noted it.
type Mended struct {
	OrderID  *sale.OrderID // nil: a whole sale
	Layer    order.Layer
	Kind     order.RepairKind
	BrokenAt time.Time // zero: not known
	At       time.Time
}

// stepOf says at which step of its way an order was cut off, by what had to be mended.
var stepOf = map[order.RepairKind]string{
	order.RepairAck:        stepAck,
	order.RepairCreate:     stepSend + " or " + stepCreate,
	order.RepairRefuse:     stepSend + " or " + stepCreate,
	order.RepairRelease:    stepRelease,
	order.RepairAdopt:      "known to Redis",
	order.RepairLoad:       "the sale's set",
	order.RepairRules:      "the sale's rules",
	order.RepairAdjustment: "an adjustment",
}

// repairs reads what the stack noted.
func (w *world) repairs(ctx context.Context) (list []Mended, err error) {
	err = w.inDatabase(ctx, func(db *sqltx.DB) error {
		rows, err := db.QueryContext(ctx, `SELECT order_id, layer, kind, broken_at, at FROM repair ORDER BY repair_id`)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var m Mended
			var id []byte
			var broken sql.NullTime
			if err := rows.Scan(&id, &m.Layer, &m.Kind, &broken, &m.At); err != nil {
				return err
			}
			if orderID, err := sale.OrderIDFromBytes(id); err == nil {
				m.OrderID = &orderID
			}
			m.BrokenAt = broken.Time
			list = append(list, m)
		}
		return rows.Err()
	})
	return list, err
}

// Row is one line of the matrix: what was cut, by what, and which layer mended it, how fast.
type Row struct {
	Step   string          `json:"step"`
	Fault  string          `json:"fault"`
	Layers [4]int          `json:"layers"` // by layer; [0] is unused
	Took   []time.Duration `json:"-"`
	P50    time.Duration   `json:"p50"`
	P99    time.Duration   `json:"p99"`
}

// Pace is how fast one layer mended.
type Pace struct {
	Layer    order.Layer   `json:"layer"`
	Orders   int           `json:"orders"`
	Share    float64       `json:"share"` // of all mended orders
	P50      time.Duration `json:"p50"`
	P99      time.Duration `json:"p99"`
	Promised time.Duration `json:"promised"`
	InTime   int           `json:"inTime"`
	Known    int           `json:"known"` // orders of which it is known since when they were broken
}

// promised is how fast each layer mends, from the fault on.
var promised = map[order.Layer]time.Duration{order.AtOnce: 2 * time.Second, order.EveryMinute: 75 * time.Second, order.InFull: 330 * time.Second}

// How far a strike reaches: what was on its way when it began, and what met its last moment.
const (
	before = 6 * time.Second
	after  = 2 * time.Second
)

// cuts says at which steps a strike can cause what a kind of repair mends.
var cuts = map[order.RepairKind][]string{
	order.RepairAck:        {stepAny, stepCreate, stepAck},
	order.RepairCreate:     {stepAny, stepReserve, stepSend, stepCreate},
	order.RepairRefuse:     {stepAny, stepReserve, stepSend, stepCreate},
	order.RepairRelease:    {stepAny, stepCreate, stepRelease},
	order.RepairAdopt:      {stepAny, stepAck},
	order.RepairRules:      {stepAny},
	order.RepairAdjustment: {stepAny, stepCreate},
}

// causeOf finds the strike that a repair mends: of those that can have caused it and reach the moment of breaking the one that began
// last, else the first that came between breaking and mending, which kept it from being mended. nil: there is none.
func causeOf(strikes []Strike, m Mended) *Strike {
	if m.BrokenAt.IsZero() {
		return lossBefore(strikes, m.At)
	}
	var cause, later *Strike
	for i := range strikes {
		s := &strikes[i]
		if !slices.Contains(cuts[m.Kind], s.Step) || s.From.After(m.At) {
			continue
		}
		if s.From.Add(-before).After(m.BrokenAt) {
			if later == nil {
				later = s
			}
			continue
		}
		if !m.BrokenAt.After(s.To.Add(after)) && (cause == nil || nearer(s, cause, m.BrokenAt)) {
			cause = s
		}
	}
	return cmp.Or(cause, later)
}

// nearer prefers a strike during which the thing broke to one that reaches it from before or after, and then the later one.
func nearer(a, b *Strike, broken time.Time) bool {
	inA, inB := !broken.Before(a.From) && !broken.After(a.To), !broken.Before(b.From) && !broken.After(b.To)
	if inA != inB {
		return inA
	}
	return a.From.After(b.From)
}

// lossBefore finds the last strike before an instant by which Redis lost what it held: that is what a whole sale is mended after.
func lossBefore(strikes []Strike, at time.Time) *Strike {
	var cause *Strike
	for i := range strikes {
		if f := faultNamed(strikes[i].Fault); f != nil && f.cost == redisSet && !strikes[i].From.After(at) {
			cause = &strikes[i]
		}
	}
	return cause
}

// untold stands for the cause of what no strike reaches.
const untold = "no strike near"

// joinMatrix joins repairs with strikes. An order that was mended twice in the same way counts once.
func joinMatrix(repairs []Mended, strikes []Strike) (matrix []Row, paces []Pace) {
	rows := make(map[[2]string]*Row)
	took := make(map[order.Layer][]time.Duration)
	count := make(map[order.Layer]int)
	seen := make(map[string]bool)
	for _, m := range repairs {
		if m.OrderID != nil {
			key := m.OrderID.String() + string(m.Kind)
			if seen[key] {
				continue
			}
			seen[key] = true
			count[m.Layer]++
		}
		cause, name := causeOf(strikes, m), untold
		if cause != nil {
			name = cause.Fault
		}
		row := rows[[2]string{stepOf[m.Kind], name}]
		if row == nil {
			row = &Row{Step: stepOf[m.Kind], Fault: name}
			rows[[2]string{row.Step, name}] = row
		}
		row.Layers[m.Layer]++
		if m.BrokenAt.IsZero() && cause == nil {
			continue
		}
		since := m.BrokenAt
		if cause != nil && cause.From.After(since) {
			since = cause.From // it was sound until then
		}
		d := max(0, m.At.Sub(since))
		row.Took = append(row.Took, d)
		// An adoption at once happens when the order's message comes, however late that is; its time is not the layer's.
		if m.OrderID != nil && (m.Layer != order.AtOnce || m.Kind != order.RepairAdopt) {
			took[m.Layer] = append(took[m.Layer], d)
		}
	}
	for _, row := range rows {
		row.P50, row.P99 = percentile(row.Took, 50), percentile(row.Took, 99)
		matrix = append(matrix, *row)
	}
	slices.SortFunc(matrix, func(a, b Row) int { return cmp.Or(cmp.Compare(a.Step, b.Step), cmp.Compare(a.Fault, b.Fault)) })
	return matrix, pacesOf(count, took)
}

func pacesOf(count map[order.Layer]int, took map[order.Layer][]time.Duration) (paces []Pace) {
	all := 0
	for _, n := range count {
		all += n
	}
	for _, layer := range []order.Layer{order.AtOnce, order.EveryMinute, order.InFull} {
		p := Pace{Layer: layer, Orders: count[layer], P50: percentile(took[layer], 50), P99: percentile(took[layer], 99),
			Promised: promised[layer], Known: len(took[layer])}
		if all > 0 {
			p.Share = 100 * float64(p.Orders) / float64(all)
		}
		for _, d := range took[layer] {
			if d <= p.Promised {
				p.InTime++
			}
		}
		paces = append(paces, p)
	}
	return paces
}

// percentile is the nearest rank; 0 of nothing.
func percentile(list []time.Duration, p float64) time.Duration {
	if len(list) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(list))
	return sorted[max(0, int(math.Ceil(p/100*float64(len(sorted))))-1)]
}
