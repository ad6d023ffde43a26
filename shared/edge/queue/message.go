package queue

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"holdfast/shared/sale"
)

// ErrUnreadable is the cause of every refusal to decode a message. Its text says what is wrong, and quotes no value.
var ErrUnreadable = errors.New("queue: unreadable message")

// messageVersion is the form that is written. A reader takes unknown fields for additions of the same version.
const messageVersion = 1

// timeLayout is RFC 3339 in UTC with milliseconds.
const timeLayout = "2006-01-02T15:04:05.000Z"

// message is a reservation on its way: all that create-orders needs, so that it reads no other store.
type message struct {
	Version     int              `json:"v"`
	OrderID     sale.OrderID     `json:"orderId"`
	ActivityID  string           `json:"activityId"`
	UserID      string           `json:"userId"`
	TicketType  string           `json:"ticketType"`
	Quantity    int              `json:"quantity"`
	Allocations sale.Allocations `json:"allocations"`
	Seq         string           `json:"seq"` // digits in a string: 64 bits do not pass through every JSON reader
	At          string           `json:"at"`
	Before      int              `json:"before"`
}

// Encode writes the message of a reservation: JSON, some 350 bytes.
func Encode(r sale.Reservation) ([]byte, error) {
	if r.Allocations == nil {
		r.Allocations = sale.Allocations{}
	}
	return json.Marshal(message{Version: messageVersion, OrderID: r.OrderID, ActivityID: r.ActivityID, UserID: r.UserID,
		TicketType: r.TicketType, Quantity: r.Quantity, Allocations: r.Allocations, Seq: strconv.FormatInt(r.Seq, 10),
		At: r.At.UTC().Format(timeLayout), Before: r.Before})
}

// Decode reads what Encode wrote. It returns ErrUnreadable for anything that no version of this program wrote: such a message
// will never become readable.
func Decode(body []byte) (sale.Reservation, error) {
	var m message
	if err := json.Unmarshal(body, &m); err != nil {
		return sale.Reservation{}, unreadable("it is not the JSON of a message")
	}
	if m.Version != messageVersion {
		return sale.Reservation{}, unreadable("version %d is not known", m.Version)
	}
	seq, err := strconv.ParseInt(m.Seq, 10, 64)
	if err != nil || seq < 1 {
		return sale.Reservation{}, unreadable("seq is no positive number")
	}
	at, err := time.Parse(time.RFC3339, m.At)
	if err != nil {
		return sale.Reservation{}, unreadable("at is no time")
	}
	switch {
	case m.OrderID == sale.OrderID{}:
		return sale.Reservation{}, unreadable("orderId is missing")
	case m.ActivityID == "" || len(m.ActivityID) > 64:
		return sale.Reservation{}, unreadable("activityId is not 1 to 64 characters")
	case m.UserID == "" || len(m.UserID) > 128:
		return sale.Reservation{}, unreadable("userId is not 1 to 128 characters")
	case m.TicketType == "" || len(m.TicketType) > 64:
		return sale.Reservation{}, unreadable("ticketType is not 1 to 64 characters")
	case m.Before < -1:
		return sale.Reservation{}, unreadable("before is no figure of a counter")
	case m.Before > math.MaxInt32: // the stock log has no room for it, and no order is lost for a figure
		m.Before = -1
	}
	// The compact form is checked, and sorted, by the one reader of allocations there is.
	allocations, err := sale.ParseAllocations(m.Allocations.Compact())
	if err != nil || m.Quantity < 1 || allocations.Units() != m.Quantity {
		return sale.Reservation{}, unreadable("allocations do not add up to quantity")
	}
	return sale.Reservation{OrderID: m.OrderID, ActivityID: m.ActivityID, UserID: m.UserID, TicketType: m.TicketType,
		Quantity: m.Quantity, Allocations: allocations, Seq: seq, At: at.UTC(), Before: m.Before}, nil
}

func unreadable(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrUnreadable, fmt.Sprintf(format, args...))
}
