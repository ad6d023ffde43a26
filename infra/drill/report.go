package drill

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"holdfast/shared/order"
)

// published is the split over the layers that the design behind Holdfast reports, in percent.
var published = map[order.Layer]float64{order.AtOnce: 95, order.EveryMinute: 4.5, order.InFull: 0.5}

// layerNames say who mends.
var layerNames = map[order.Layer]string{order.AtOnce: "1, at once", order.EveryMinute: "2, every minute", order.InFull: "3, in full"}

// WriteMarkdown writes the report. It returns the errors of the writer.
func (r *Result) WriteMarkdown(out io.Writer) error {
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	p("\n# Drill with seed %d\n", r.Seed)
	verdict := "**nothing lost, nothing double, everything settled**"
	if !r.InOrder() {
		verdict = "**NOT in order**"
	}
	p("%d sales, %d reservations sent, %d promised by a 202, %d cancelled by their buyers, %d paid, %d waited for and %d of them accepted; %d strikes of the nemesis. Settled by itself %s after the last one: %s.\n",
		len(r.Load.Sales), r.Load.Requests, r.Load.Promised, r.Load.Cancelled, r.Load.Paid, r.Load.Waited, r.Load.Accepted,
		len(r.Strikes), r.Settled.Round(time.Second), verdict)
	if c := r.Calm; c != nil {
		p("Nothing was broken. %d full reconciliations held %d orders against each other meanwhile: %d differences, %d repairs.\n", c.Runs, c.Checked,
			c.Differences, c.Repaired)
	}
	r.writeVerdicts(p)
	r.writePaces(p)
	r.writeMatrix(p)
	r.writeStrikes(p)
	_, err := io.WriteString(out, b.String())
	return err
}

type printer func(format string, args ...any)

// writeVerdicts adds the equations of all sales up and names what breaks them.
func (r *Result) writeVerdicts(p printer) {
	type sum struct {
		text        string
		sign        string
		left, right int
		failed      []string
	}
	sums := make(map[string]*sum)
	inFlight := 0
	for _, v := range r.Verdicts {
		inFlight += v.InFlight
		if v.Problem != "" {
			p("- %s could not be checked: %s", v.Sale, v.Problem)
		}
		for _, e := range v.Equations {
			s := sums[e.ID]
			if s == nil {
				s = &sum{text: e.Text, sign: "="}
				sums[e.ID] = s
			}
			if e.AtMost {
				s.sign = "<="
			}
			s.left, s.right = s.left+e.Left, s.right+e.Right
			if !e.Pass {
				s.failed = append(s.failed, v.Sale+": "+e.FirstOffender)
			}
		}
	}
	p("## The proof\n\nOver all sales, from MariaDB, Redis and the crowd's journal; in flight in the end: %d.\n", inFlight)
	p("| | equation | left | | right | verdict |\n|---|---|---:|:-:|---:|---|")
	for _, id := range slices.Sorted(maps.Keys(sums)) {
		s := sums[id]
		verdict := "PASS"
		if len(s.failed) > 0 {
			verdict = "FAIL " + strings.Join(s.failed, "; ")
		}
		p("| %s | %s | %d | %s | %d | %s |", id, s.text, s.left, s.sign, s.right, verdict)
	}
	passed := 0
	for _, c := range r.Certificates {
		if c.Pass() {
			passed++
		} else {
			p("\ncertificate of %s: %s with %d in flight", c.ActivityID, c.Verdict, c.InFlight)
		}
	}
	p("\nCertificates of the closed sales: %d of %d PASS. Differences left to a person: %d. Dead letters: %d.", passed, len(r.Certificates), r.Differences, r.DeadLetters)
	for _, text := range r.Load.Broken {
		p("- an answer broke the contract: %s", text)
	}
	p("")
}

// writePaces says which layer mended how much, and whether in time.
func (r *Result) writePaces(p printer) {
	p("## Which layer mended how much\n")
	p("| layer | orders | share | published | p50 | p99 | promised | in time |\n|---|---:|---:|---:|---:|---:|---:|---:|")
	for _, pace := range r.Paces {
		inTime := "-"
		if pace.Known > 0 {
			inTime = fmt.Sprintf("%d of %d", pace.InTime, pace.Known)
		}
		p("| %s | %d | %.1f %% | %g %% | %s | %s | %s | %s |", layerNames[pace.Layer], pace.Orders, pace.Share, published[pace.Layer],
			length(pace.P50), length(pace.P99), pace.Promised, inTime)
	}
	p("\nTime counts from the strike, or from the moment at which an order got stuck where that is later; strikes that follow hold repair up, and are counted in. Layer 1 also adopts what Redis lost when the order's message comes; that is no matter of its pace. %d more orders came over %s late through the queue alone, without any repair.\n",
		r.Late, lateAfter)
}

// writeMatrix is the repair matrix.
func (r *Result) writeMatrix(p printer) {
	p("## The repair matrix\n")
	p("| what was cut | by | layer 1 | layer 2 | layer 3 | p50 | p99 |\n|---|---|---:|---:|---:|---:|---:|")
	for _, row := range r.Matrix {
		p("| %s | %s | %d | %d | %d | %s | %s |", row.Step, row.Fault, row.Layers[1], row.Layers[2], row.Layers[3], length(row.P50), length(row.P99))
	}
	p("")
}

// writeStrikes counts the faults and what else the buyers heard.
func (r *Result) writeStrikes(p printer) {
	count, total := make(map[string]int), make(map[string]time.Duration)
	for _, s := range r.Strikes {
		count[s.Fault]++
		total[s.Fault] += s.To.Sub(s.From)
	}
	p("## What the nemesis did\n\n| fault | times | in all |\n|---|---:|---:|")
	for _, name := range slices.Sorted(maps.Keys(count)) {
		p("| %s | %d | %s |", name, count[name], length(total[name]))
	}
	p("\nOther answers than 202 that buyers heard:")
	for _, code := range slices.Sorted(maps.Keys(r.Load.Others)) {
		p("- %d × %s", r.Load.Others[code], code)
	}
	p("- %d buyers without a final answer in the end", r.Load.Unanswered)
}

// length writes a duration for a table.
func length(d time.Duration) string {
	switch {
	case d == 0:
		return "-"
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	}
	return d.Round(100 * time.Millisecond).String()
}
