package sale_test

import (
	"errors"
	"testing"
	"time"

	"holdfast/shared/sale"
)

func TestRefundRuleGivesBackByTheFirstStepThatStillHolds(t *testing.T) {
	t.Parallel()
	opens := time.Date(2026, 12, 24, 20, 0, 0, 0, time.UTC)
	a := &sale.Activity{OpensAt: opens, ClosesAt: opens.Add(24 * time.Hour)}
	const text = `{"from":"OPENS_AT","steps":[{"before":"P2D","ratio":"1"},{"before":"PT2H","ratio":"0.333333"},{"before":"PT0S","ratio":"0"}]}`
	rule, err := sale.ParseRefundRule([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		left  time.Duration // until the opening
		ratio string
		may   bool
	}{
		{49 * time.Hour, "1", true}, {48*time.Hour + time.Millisecond, "1", true}, {48 * time.Hour, "0.333333", true},
		{2 * time.Hour, "0", true}, {time.Millisecond, "0", true}, {0, "0", false}, {-time.Hour, "0", false},
	} {
		ratio, may := rule.Ratio(a, opens.Add(-c.left))
		if ratio.String() != c.ratio || may != c.may {
			t.Errorf("%v before: %s, %v", c.left, ratio, may)
		}
	}
	closing, err := sale.ParseRefundRule([]byte(`{"from":"CLOSES_AT","steps":[{"before":"PT1H","ratio":"0.5"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if ratio, may := closing.Ratio(a, opens); ratio.String() != "0.5" || !may {
		t.Errorf("from the closing: %s, %v", ratio, may)
	}
}

func TestNoRuleAndAnEmptyOneLetNobodyCancel(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "{}"} {
		rule, err := sale.ParseRefundRule([]byte(text))
		if _, may := rule.Ratio(&sale.Activity{}, time.Time{}); err != nil || may {
			t.Errorf("%q: %v, %v", text, may, err)
		}
	}
}

func TestRefundRulesThatMakeNoSenseAreRefused(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"no JSON":                `{`,
		"a member of its own":    `{"from":"OPENS_AT","steps":[{"before":"PT1H","ratio":"1"}],"fee":"1"}`,
		"another instant":        `{"from":"NOW","steps":[{"before":"PT1H","ratio":"1"}]}`,
		"no steps":               `{"from":"OPENS_AT","steps":[]}`,
		"steps alone":            `{"steps":[{"before":"PT1H","ratio":"1"}]}`,
		"more than all":          `{"from":"OPENS_AT","steps":[{"before":"PT1H","ratio":"1.1"}]}`,
		"less than nothing":      `{"from":"OPENS_AT","steps":[{"before":"PT1H","ratio":"-0.1"}]}`,
		"seven decimals":         `{"from":"OPENS_AT","steps":[{"before":"PT1H","ratio":"0.1234567"}]}`,
		"an exponent":            `{"from":"OPENS_AT","steps":[{"before":"PT1H","ratio":"1e0"}]}`,
		"a ratio without quotes": `{"from":"OPENS_AT","steps":[{"before":"PT1H","ratio":1}]}`,
		"the wrong way round":    `{"from":"OPENS_AT","steps":[{"before":"PT1H","ratio":"1"},{"before":"PT2H","ratio":"1"}]}`,
		"the same twice":         `{"from":"OPENS_AT","steps":[{"before":"PT1H","ratio":"1"},{"before":"PT60M","ratio":"0"}]}`,
		"no duration":            `{"from":"OPENS_AT","steps":[{"before":"1h","ratio":"1"}]}`,
	} {
		if _, err := sale.ParseRefundRule([]byte(text)); !errors.Is(err, sale.ErrBadRefundRule) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDurationsAreReadAsISO8601WithoutMonths(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"PT30M": 30 * time.Minute, "P2DT12H": 60 * time.Hour, "PT0S": 0, "PT1H1M1S": time.Hour + time.Minute + time.Second, "P1D": 24 * time.Hour,
	} {
		if got, err := sale.ParseDuration(text); err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "P", "PT", "P1DT", "PT-1H", "P1M", "P1Y", "PT1.5H", "1h", "pt1h", "PT1M1H", "P9999D", " PT1H"} {
		if got, err := sale.ParseDuration(text); !errors.Is(err, sale.ErrBadDuration) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

func TestLateOrderHasAnIdOfItsOwnInTheSameSale(t *testing.T) {
	t.Parallel()
	a := &sale.Activity{Number: 1795000000000, Salt: []byte("salt")}
	old := sale.NewOrderID(a.Number, a.Salt, "u", "k")
	id := a.LateOrderID(old, "pay_1")
	if id != a.LateOrderID(old, "pay_1") || id == a.LateOrderID(old, "pay_2") || id == old || id.Number() != a.Number {
		t.Fatalf("%s", id)
	}
	if parsed, err := sale.ParseOrderID(id.String()); err != nil || parsed != id {
		t.Fatal(err)
	}
	if id == sale.NewOrderID(a.Number, a.Salt, string(old[:]), "pay_1") {
		t.Error("a user's key can make it")
	}
}
