package sale

import "holdfast/shared/money"

// Facts is what never changes about a published activity. The reserve path reads it from Redis once per Lambda instance and
// needs no MySQL. It holds the salt, so it stays on the server side.
type Facts struct {
	ActivityID string     `json:"activityId"`
	Number     int64      `json:"number,string"`
	Salt       []byte     `json:"salt"`
	Kind       Kind       `json:"kind"`
	Mode       Mode       `json:"mode"`
	Currency   string     `json:"currency"`
	Types      []TypeFact `json:"types"`
	SaleToken  bool       `json:"saleTokenRequired,omitempty"`

	Deposit *DepositPolicy `json:"deposit,omitempty"` // of kind DEPOSIT only
}

// TypeFact is what never changes about a ticket type.
type TypeFact struct {
	ID         string       `json:"ticketType"`
	Price      money.Amount `json:"price"`
	Capacities []int        `json:"capacities"` // per bucket as first set; its length is the number of buckets
}

// Facts gives the activity's unchanging part. It only makes sense once the activity has left DRAFT.
func (a *Activity) Facts() Facts {
	f := Facts{ActivityID: a.ID, Number: a.Number, Salt: a.Salt, Kind: a.Kind, Mode: a.Mode, Currency: a.Currency,
		SaleToken: a.SaleTokenRequired, Deposit: a.Deposit}
	for _, t := range a.TicketTypes {
		f.Types = append(f.Types, TypeFact{ID: t.ID, Price: t.Price, Capacities: Spread(t.Capacity, t.Buckets)})
	}
	return f
}

// Type finds a ticket type by its id.
func (f *Facts) Type(id string) (TypeFact, bool) {
	for _, t := range f.Types {
		if t.ID == id {
			return t, true
		}
	}
	return TypeFact{}, false
}

// OrderID is the id of the wish that a user named by an Idempotency-Key.
func (f *Facts) OrderID(user, key string) OrderID { return NewOrderID(f.Number, f.Salt, user, key) }

// TypeIDs are the ids of the ticket types, in their order.
func (f *Facts) TypeIDs() []string {
	out := make([]string, len(f.Types))
	for i := range f.Types {
		out[i] = f.Types[i].ID
	}
	return out
}
