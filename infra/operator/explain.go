package operator

import (
	"context"
	"encoding/json"
	"io"
	"net/url"
)

// Story is the timeline of an order or a buyer, as far as it is printed.
type Story struct {
	OrderID     string   `json:"orderId"`
	ActivityID  string   `json:"activityId"`
	UserID      string   `json:"userId"`
	Status      string   `json:"status"`
	Events      []Event  `json:"events"`
	Verdict     string   `json:"verdict"`
	Next        string   `json:"next"`
	NotProvable []string `json:"notProvable"`
}

// Event is one thing that happened.
type Event struct {
	At     string `json:"at"` // RFC 3339; "" when not known
	Source string `json:"source"`
	Text   string `json:"text"`
}

// ExplainOrder gets an order's story, and the body as it came. It returns a *Refused, whose detail says what was looked at, for an order
// without a trace.
func (c *Client) ExplainOrder(ctx context.Context, orderID string) (*Story, json.RawMessage, error) {
	return c.story(ctx, "/ops/v1/orders/"+url.PathEscape(orderID)+"/timeline")
}

// ExplainUser gets the story of a user in an activity, and the body as it came. It returns a *Refused for an unknown activity.
func (c *Client) ExplainUser(ctx context.Context, activityID, userID string) (*Story, json.RawMessage, error) {
	return c.story(ctx, "/ops/v1/activities/"+url.PathEscape(activityID)+"/timeline?userId="+url.QueryEscape(userID))
}

func (c *Client) story(ctx context.Context, path string) (*Story, json.RawMessage, error) {
	_, body, err := c.get(ctx, path)
	if err != nil {
		return nil, nil, err
	}
	s := new(Story)
	if err := json.Unmarshal(body, s); err != nil {
		return nil, nil, errNotJSON
	}
	return s, body, nil
}

// PrintStory writes a story for people: what happened, how things stand, what happens next, and what cannot be told.
func PrintStory(w io.Writer, s *Story) error {
	p := &printer{w: w}
	if s.OrderID != "" {
		p.line("order %s of activity %s: %s", s.OrderID, s.ActivityID, s.Status)
	} else {
		p.line("user %s in activity %s", s.UserID, s.ActivityID)
	}
	for _, e := range s.Events {
		p.line("  %-24s  %-8s  %s", e.At, e.Source, e.Text)
	}
	p.line("verdict: %s", s.Verdict)
	p.line("next: %s", s.Next)
	for _, text := range s.NotProvable {
		p.line("cannot be told: %s", text)
	}
	return p.err
}
