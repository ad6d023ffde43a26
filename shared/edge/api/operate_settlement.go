package api

import (
	"context"
	"net/http"

	domain "holdfast/shared/money"
	"holdfast/shared/order"
	"holdfast/shared/reconcile/money"
	"holdfast/shared/sale"
)

// settlementView is the money of a sale.
type settlementView struct {
	ActivityID string                 `json:"activityId"`
	Mode       sale.Mode              `json:"mode"`
	At         string                 `json:"at"`
	Orders     []settledOrdersView    `json:"orders"`
	Paid       domain.Amount          `json:"paid"`
	Refunded   domain.Amount          `json:"refunded"`
	Net        domain.Amount          `json:"net"`
	Deposits   []settledDepositsView  `json:"deposits"`
	Clubs      []settledPenaltiesView `json:"clubs"`
}

type settledOrdersView struct {
	Status   order.Status  `json:"status"`
	Orders   int           `json:"orders"`
	Units    int           `json:"units"`
	Amount   domain.Amount `json:"amount"`
	Paid     domain.Amount `json:"paid"`
	Refunded domain.Amount `json:"refunded"`
}

type settledDepositsView struct {
	Status     string        `json:"status"`
	Deposits   int           `json:"deposits"`
	Deposit    domain.Amount `json:"deposit"`
	Consumed   domain.Amount `json:"consumed"`
	Supplement domain.Amount `json:"supplement"`
	Penalty    domain.Amount `json:"penalty"`
	Refunded   domain.Amount `json:"refunded"`
}

type settledPenaltiesView struct {
	ClubID    string        `json:"clubId"`
	Penalties domain.Amount `json:"penalties"`
	Reversed  domain.Amount `json:"reversed"`
	Net       domain.Amount `json:"net"`
}

// readSettlement answers GET …/settlement.
func (o *operate) readSettlement(ctx context.Context, r *Request, _ caller) (*Response, error) {
	id, err := pathActivity(r)
	if err != nil {
		return nil, err
	}
	s, err := money.Settle(ctx, o.DB, id)
	if err != nil {
		return nil, err
	}
	v := settlementView{ActivityID: s.ActivityID, Mode: s.Mode, At: stamp(s.At), Paid: s.Paid, Refunded: s.Refunded, Net: s.Net,
		Orders: make([]settledOrdersView, len(s.Orders)), Deposits: make([]settledDepositsView, len(s.Deposits)),
		Clubs: make([]settledPenaltiesView, len(s.Clubs))}
	for i, of := range s.Orders {
		v.Orders[i] = settledOrdersView(of)
	}
	for i, of := range s.Deposits {
		v.Deposits[i] = settledDepositsView(of)
	}
	for i, of := range s.Clubs {
		v.Clubs[i] = settledPenaltiesView(of)
	}
	return JSON(http.StatusOK, v)
}
