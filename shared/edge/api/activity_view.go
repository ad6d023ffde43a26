package api

import (
	"encoding/json"
	"time"

	"holdfast/shared/money"
	"holdfast/shared/sale"
	"holdfast/shared/stock"
)

// The words for how much is left. Exact figures would invite counting games, and be old when they arrive.
const (
	plenty = "PLENTY"
	few    = "FEW" // at most a tenth of the capacity as first set, or one unit
	none   = "NONE"
)

// activityView is an activity as buyers see it.
type activityView struct {
	ActivityID        string          `json:"activityId"`
	Kind              sale.Kind       `json:"kind"`
	Mode              sale.Mode       `json:"mode"`
	Title             string          `json:"title"`
	Lang              string          `json:"lang,omitempty"`
	TimeZone          string          `json:"timeZone,omitempty"`
	Metadata          json.RawMessage `json:"metadata,omitempty"`
	Status            sale.Status     `json:"status"`
	Phase             sale.Phase      `json:"phase"`
	OpensAt           string          `json:"opensAt"`
	ClosesAt          string          `json:"closesAt"`
	Now               string          `json:"now,omitempty"`
	PerUserLimit      int             `json:"perUserLimit"`
	PayWindowSeconds  int64           `json:"payWindowSeconds"`
	RefundRule        json.RawMessage `json:"refundRule"`
	SaleTokenRequired bool            `json:"saleTokenRequired,omitempty"`
	TicketTypes       []typeView      `json:"ticketTypes"`
	Deposit           *policyView     `json:"deposit,omitempty"`
}

// typeView is a ticket type as buyers see it. Availability is absent while the stock is being loaded: nobody knows it then.
type typeView struct {
	TicketType   string       `json:"ticketType"`
	Title        string       `json:"title"`
	Price        money.Amount `json:"price"`
	Availability string       `json:"availability,omitempty"`

	DepositOutcomes []outcomeView `json:"depositOutcomes,omitempty"` // of kind DEPOSIT
}

// viewActivity writes an activity as it stands at an instant of the deciding clock. left is what the public may take by type, nil when that
// is not known.
func viewActivity(a *sale.Activity, left map[string]stock.TypeSnapshot, now time.Time) activityView {
	v := activityView{ActivityID: a.ID, Kind: a.Kind, Mode: a.Mode, Title: a.Title, Lang: a.Lang, TimeZone: a.TimeZone,
		Metadata: a.Metadata, Status: a.Status, Phase: a.PhaseAt(now), OpensAt: stamp(a.OpensAt), ClosesAt: stamp(a.ClosesAt),
		Now: stamp(now), PerUserLimit: a.PerUserLimit, PayWindowSeconds: int64(a.PayWindow / time.Second),
		RefundRule: a.RefundRule, SaleTokenRequired: a.SaleTokenRequired, TicketTypes: make([]typeView, len(a.TicketTypes)),
		Deposit: viewPolicy(a)}
	if v.RefundRule == nil {
		v.RefundRule = json.RawMessage("{}")
	}
	for i, t := range a.TicketTypes {
		v.TicketTypes[i] = typeView{TicketType: t.ID, Title: t.Title, Price: t.Price, DepositOutcomes: viewOutcomes(a, &t)}
		if snapshot, known := left[t.ID]; known {
			v.TicketTypes[i].Availability = availability(snapshot.Left, t.Capacity)
		}
	}
	return v
}

// availability puts units left into a word.
func availability(left, capacity int) string {
	switch {
	case left <= 0:
		return none
	case left <= max(1, capacity/10):
		return few
	}
	return plenty
}
