package bench

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestVerdictSaysHowFarATargetIsMissed(t *testing.T) {
	for _, c := range []struct {
		value  float64
		target Target
		want   string
	}{
		{1.1, Target{atMost, 1.2}, "met"},
		{1.2, Target{atMost, 1.2}, "met"},
		{1.25, Target{atMost, 1.2}, "missed by 0.05"},
		{13, Target{atLeast, 10}, "met"},
		{8.5, Target{atLeast, 10}, "missed by 1.5"},
		{8.5, Target{}, ""},
	} {
		if got := (Figure{Value: c.value, Target: c.target}).verdict(); got != c.want {
			t.Errorf("%v against %v: %q, want %q", c.value, c.target, got, c.want)
		}
	}
}

func TestDigitsAreAsManyAsAMeasurementIsWorth(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 1: "1", 1.2: "1.2", 0.04567: "0.046", 17.26: "17.3", 10: "10", 300: "300", 1234.5: "1234"} {
		if got := digits(v); got != want {
			t.Errorf("digits(%v) = %q, want %q", v, got, want)
		}
	}
}

func TestReportIsOneFlatObjectAndATableWithVerdicts(t *testing.T) {
	r := &Report{[]Figure{
		{Key: "b_ratio", Title: "ours over theirs", Value: 0.5, Target: Target{atMost, 0.4}},
		{Key: "a_us", Title: "a call", Value: 12.34, Unit: "us"},
	}}
	text, err := json.Marshal(r)
	if err != nil || string(text) != `{"b_ratio":0.5,"a_us":12.3}` {
		t.Errorf("JSON is %s (%v)", text, err)
	}
	var table strings.Builder
	if err := r.Write(&table); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"b_ratio", "at most 0.4", "missed by 0.1", "12.3 us", "ours over theirs"} {
		if !strings.Contains(table.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, &table)
		}
	}
}
