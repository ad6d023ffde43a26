package sale

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/shopspring/decimal"
)

// RefundRule says what of a paid order comes back to a buyer who cancels, by how long before an instant of the sale that is:
//
//	{"from":"OPENS_AT","steps":[{"before":"P2D","ratio":"1"},{"before":"PT2H","ratio":"0.5"}]}
//
// With 48 hours or more to go all comes back, with two hours or more the half of it, and later the buyer cannot cancel. An instant that
// is reached is passed: with exactly 48 hours to go the first step holds no more.
type RefundRule struct {
	FromClosing bool // steps are reckoned from ClosesAt, not from OpensAt
	Steps       []RefundStep
}

// RefundStep is one line of a rule.
type RefundStep struct {
	Before time.Duration // whole seconds, 0 or more; each step's is less than that of the step before it
	Ratio  decimal.Decimal
}

// ErrBadRefundRule is the cause of every refusal to read a rule; the error's text says what is wrong and what is expected.
var ErrBadRefundRule = errors.New("sale: not a refund rule")

const maxRefundSteps = 16

var (
	isoDuration = regexp.MustCompile(`^P(?:(\d{1,4})D)?(?:T(?:(\d{1,6})H)?(?:(\d{1,8})M)?(?:(\d{1,9})S)?)?$`)
	plainRatio  = regexp.MustCompile(`^(0|1)(\.[0-9]{1,6})?$`)
)

// ParseRatio reads a decimal text from "0" to "1" with at most six decimals; false for any other text.
func ParseRatio(text string) (decimal.Decimal, bool) {
	if !plainRatio.MatchString(text) {
		return decimal.Decimal{}, false
	}
	ratio, err := decimal.NewFromString(text)
	return ratio, err == nil && !ratio.GreaterThan(decimal.NewFromInt(1))
}

// ParseRefundRule reads a rule; nothing at all, and {}, is the rule that nothing of a paid order comes back, nil. It returns
// ErrBadRefundRule.
func ParseRefundRule(raw json.RawMessage) (*RefundRule, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var in struct {
		From  string `json:"from"`
		Steps []struct {
			Before string `json:"before"`
			Ratio  string `json:"ratio"`
		} `json:"steps"`
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&in); err != nil {
		return nil, fmt.Errorf(`%w: write {"from":"OPENS_AT","steps":[{"before":"PT48H","ratio":"1"}]}`, ErrBadRefundRule)
	}
	if in.From == "" && in.Steps == nil {
		return nil, nil
	}
	if in.From != "OPENS_AT" && in.From != "CLOSES_AT" {
		return nil, fmt.Errorf("%w: from is OPENS_AT or CLOSES_AT", ErrBadRefundRule)
	}
	if len(in.Steps) < 1 || len(in.Steps) > maxRefundSteps {
		return nil, fmt.Errorf("%w: 1 to %d steps", ErrBadRefundRule, maxRefundSteps)
	}
	rule := &RefundRule{FromClosing: in.From == "CLOSES_AT"}
	for i, s := range in.Steps {
		before, err := ParseDuration(s.Before)
		if err != nil {
			return nil, fmt.Errorf("%w: before of step %d: %w", ErrBadRefundRule, i+1, err)
		}
		if i > 0 && before >= rule.Steps[i-1].Before {
			return nil, fmt.Errorf("%w: the steps stand from the longest before to the shortest, each once", ErrBadRefundRule)
		}
		ratio, ok := ParseRatio(s.Ratio)
		if !ok {
			return nil, fmt.Errorf(`%w: ratio of step %d is a decimal text from "0" to "1" with at most six decimals`, ErrBadRefundRule, i+1)
		}
		rule.Steps = append(rule.Steps, RefundStep{Before: before, Ratio: ratio})
	}
	return rule, nil
}

// ErrBadDuration is returned for a text that is no duration.
var ErrBadDuration = errors.New(`sale: a duration is days, hours, minutes and seconds by ISO 8601, such as "PT30M" or "P2DT12H"`)

// longestDuration is more than any deadline is moved or reckoned with.
const longestDuration = 10 * 366 * 24 * time.Hour

// ParseDuration reads a duration of ISO 8601 in days of 24 hours, hours, minutes and whole seconds, at most ten years. It returns
// ErrBadDuration for anything else.
func ParseDuration(s string) (time.Duration, error) {
	parts := isoDuration.FindStringSubmatch(s)
	if parts == nil || s == "P" || s[len(s)-1] == 'T' {
		return 0, ErrBadDuration
	}
	var seconds int64
	for i, unit := range []int64{24 * 3600, 3600, 60, 1} {
		if parts[i+1] == "" {
			continue
		}
		n, err := strconv.ParseInt(parts[i+1], 10, 64)
		if err != nil {
			return 0, ErrBadDuration
		}
		seconds += n * unit
	}
	if seconds > int64(longestDuration/time.Second) {
		return 0, ErrBadDuration
	}
	return time.Duration(seconds) * time.Second, nil
}

// Ratio is the part of what was paid that comes back for a cancellation of an order of this activity at an instant; false when a buyer
// can cancel no more. A nil rule is the one that gives nothing back.
func (r *RefundRule) Ratio(a *Activity, now time.Time) (decimal.Decimal, bool) {
	if r == nil {
		return decimal.Zero, false
	}
	from := a.OpensAt
	if r.FromClosing {
		from = a.ClosesAt
	}
	for _, s := range r.Steps {
		if now.Before(from.Add(-s.Before)) {
			return s.Ratio, true
		}
	}
	return decimal.Zero, false
}
