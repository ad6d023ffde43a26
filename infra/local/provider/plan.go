package provider

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Event is something that happens to a charge.
type Event struct {
	Status string   // SUCCEEDED or FAILED, as the notification says
	After  duration // after the event before it, or after the charge was begun
	Times  int      // how often it is notified, all at once; 0 is once
}

// Plan says what becomes of charges and refunds.
type Plan struct {
	Events      []Event // of every charge; none: it stays pending for ever
	Refuse      bool    // charges are refused
	Refunds     string  // SUCCEEDED, FAILED or PENDING: how refunds are answered; "" is SUCCEEDED
	LoseAnswers int     // so many calls are done and not answered
}

// At first every charge succeeds after a moment.
var atFirst = Plan{Events: []Event{{Status: "SUCCEEDED", After: duration(200 * time.Millisecond)}}}

func (p *Plan) check() error {
	switch p.Refunds {
	case "", "SUCCEEDED", "FAILED", "PENDING":
	default:
		return errors.New("refunds is SUCCEEDED, FAILED or PENDING")
	}
	return checkEvents(p.Events)
}

func checkEvents(events []Event) error {
	for _, e := range events {
		if e.Status != "SUCCEEDED" && e.Status != "FAILED" {
			return errors.New("the status of an event is SUCCEEDED or FAILED")
		}
		if e.Times < 0 || e.Times > 100 || e.After < 0 {
			return errors.New("an event happens 1 to 100 times, after 0s or more")
		}
	}
	return nil
}

// duration is written as "90s" in JSON.
type duration time.Duration

func (d *duration) UnmarshalJSON(b []byte) error {
	var text string
	if err := json.Unmarshal(b, &text); err != nil {
		return fmt.Errorf("a duration is a text such as \"90s\"")
	}
	parsed, err := time.ParseDuration(text)
	*d = duration(parsed)
	return err
}
