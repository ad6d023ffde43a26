package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"
)

// Figure is one measured number.
type Figure struct {
	Key    string // in JSON
	Title  string // for people
	Value  float64
	Unit   string // "us", "bytes"; empty for a ratio
	Target Target
}

// Target bounds a figure; the zero value sets no bound.
type Target struct {
	kind  string // atMost, atLeast, or empty
	limit float64
}

const (
	atMost  = "at most"
	atLeast = "at least"
)

// verdict says in words how the figure stands to its target; empty without one.
func (f Figure) verdict() string {
	var over float64
	switch f.Target.kind {
	case atMost:
		over = f.Value - f.Target.limit
	case atLeast:
		over = f.Target.limit - f.Value
	default:
		return ""
	}
	if over > 0 {
		return "missed by " + digits(over)
	}
	return "met"
}

// Report is what a run has measured, in the order of measuring.
type Report struct{ Figures []Figure }

// MarshalJSON writes one flat object, key to number.
func (r *Report) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, f := range r.Figures {
		if i > 0 {
			b.WriteByte(',')
		}
		key, err := json.Marshal(f.Key)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "%s:%s", key, digits(f.Value))
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// Write prints a table for people.
func (r *Report) Write(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "figure\tvalue\ttarget\t\twhat it is")
	for _, f := range r.Figures {
		value, target := digits(f.Value), ""
		if f.Unit != "" {
			value += " " + f.Unit
		}
		if f.Target.kind != "" {
			target = f.Target.kind + " " + digits(f.Target.limit)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", f.Key, value, target, f.verdict(), f.Title)
	}
	return table.Flush()
}

// digits writes a number with as many digits as a measurement is worth: whole from 100 on, else three places at most.
func digits(v float64) string {
	switch {
	case v >= 100 || v <= -100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 10 || v <= -10:
		return trimmed(strconv.FormatFloat(v, 'f', 1, 64))
	}
	return trimmed(strconv.FormatFloat(v, 'f', 3, 64))
}

// trimmed cuts the zeros off that end a decimal fraction.
func trimmed(s string) string {
	text := bytes.TrimRight([]byte(s), "0")
	return string(bytes.TrimSuffix(text, []byte(".")))
}
