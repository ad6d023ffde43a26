package api

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"holdfast/shared/fault"
	"holdfast/shared/money"
	"holdfast/shared/sale"
)

// operatorActivity is an activity as operators see it: all that they have set, and the versions. The salt never leaves.
type operatorActivity struct {
	ActivityID        string          `json:"activityId"`
	Kind              sale.Kind       `json:"kind"`
	Mode              sale.Mode       `json:"mode"`
	Title             string          `json:"title"`
	Lang              string          `json:"lang,omitempty"`
	TimeZone          string          `json:"timeZone,omitempty"`
	Metadata          json.RawMessage `json:"metadata,omitempty"`
	Status            sale.Status     `json:"status"`
	Phase             sale.Phase      `json:"phase,omitempty"` // not of a DRAFT, nor while the deciding clock cannot be read
	OpensAt           string          `json:"opensAt"`
	ClosesAt          string          `json:"closesAt"`
	Now               string          `json:"now,omitempty"`
	PerUserLimit      int             `json:"perUserLimit"`
	PayWindowSeconds  int64           `json:"payWindowSeconds"`
	Currency          string          `json:"currency"`
	RefundRule        json.RawMessage `json:"refundRule"`
	SaleTokenRequired bool            `json:"saleTokenRequired"`
	TicketTypes       []operatorType  `json:"ticketTypes"`
	Deposit           *policyView     `json:"deposit,omitempty"`
	Revision          int64           `json:"revision"`
	RulesVersion      int64           `json:"rulesVersion"`
	Epoch             int64           `json:"epoch"`
	RulesApplied      *bool           `json:"rulesApplied,omitempty"` // only in answers to a change
	CreatedAt         string          `json:"createdAt"`
	UpdatedAt         string          `json:"updatedAt"`
}

type operatorType struct {
	TicketType string       `json:"ticketType"`
	Title      string       `json:"title"`
	Price      money.Amount `json:"price"`
	Capacity   int          `json:"capacity"`
	Buckets    int          `json:"buckets"`
}

// viewForOperator writes an activity as it stands at an instant of the deciding clock; zero when that could not be read.
func viewForOperator(a *sale.Activity, now time.Time) operatorActivity {
	v := operatorActivity{
		ActivityID: a.ID, Kind: a.Kind, Mode: a.Mode, Title: a.Title, Lang: a.Lang, TimeZone: a.TimeZone, Metadata: a.Metadata,
		Status: a.Status, OpensAt: stamp(a.OpensAt), ClosesAt: stamp(a.ClosesAt), PerUserLimit: a.PerUserLimit,
		PayWindowSeconds: int64(a.PayWindow / time.Second), Currency: a.Currency, RefundRule: a.RefundRule,
		SaleTokenRequired: a.SaleTokenRequired, TicketTypes: make([]operatorType, len(a.TicketTypes)),
		Revision: a.Revision, RulesVersion: a.RulesVersion, Epoch: a.Epoch,
		CreatedAt: stamp(a.CreatedAt), UpdatedAt: stamp(a.UpdatedAt), Deposit: viewPolicy(a),
	}
	if len(v.RefundRule) == 0 {
		v.RefundRule = json.RawMessage("{}")
	}
	for i, t := range a.TicketTypes {
		v.TicketTypes[i] = operatorType{t.ID, t.Title, t.Price, t.Capacity, t.Buckets}
	}
	if !now.IsZero() {
		v.Now = stamp(now)
		if a.Status != sale.Draft {
			v.Phase = a.PhaseAt(now)
		}
	}
	return v
}

// revisionTag is the entity tag of what can be edited: a strong one, since If-Match compares strongly.
func revisionTag(revision int64) string { return `"` + strconv.FormatInt(revision, 10) + `"` }

// taggedActivity is an answer of one activity with its entity tag.
func taggedActivity(status int, v operatorActivity) (*Response, error) {
	response, err := JSON(status, v)
	if err != nil {
		return nil, err
	}
	response.Header["ETag"] = revisionTag(v.Revision)
	return response, nil
}

// ifMatch gives the revision that the caller has read. It returns PreconditionRequired without If-Match, and PreconditionFailed
// for a tag that no activity ever had: weak ones, lists and * name no single version.
func (r *Request) ifMatch() (int64, error) {
	sent := strings.TrimSpace(r.Header("If-Match"))
	if sent == "" {
		return 0, fault.New(fault.PreconditionRequired, "Send If-Match with the ETag of the version that you have read.")
	}
	digits, opened := strings.CutPrefix(sent, `"`)
	digits, closed := strings.CutSuffix(digits, `"`)
	revision, err := strconv.ParseInt(digits, 10, 64)
	if !opened || !closed || err != nil || revisionTag(revision) != sent {
		return 0, fault.New(fault.PreconditionFailed, "If-Match names no version of this; send the ETag of one, as it came.")
	}
	return revision, nil
}
