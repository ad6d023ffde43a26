package api

import (
	"context"
	"strconv"

	"github.com/aws/aws-lambda-go/lambda"

	"holdfast/shared/edge"
	"holdfast/shared/money"
	"holdfast/shared/sale"
	"holdfast/shared/wallet"
)

// walletEntryView is one movement of the caller's money.
type walletEntryView struct {
	EntryID        string       `json:"entryId"`
	Type           wallet.Type  `json:"type"`
	AvailableDelta money.Amount `json:"availableDelta"`
	FrozenDelta    money.Amount `json:"frozenDelta"`
	OrderID        string       `json:"orderId,omitempty"`
	At             string       `json:"at"`
}

func viewWalletEntry(e wallet.Entry) walletEntryView {
	v := walletEntryView{EntryID: strconv.FormatInt(e.ID, 10), Type: e.Type, AvailableDelta: e.AvailableDelta, FrozenDelta: e.FrozenDelta,
		At: stamp(e.At)}
	if e.OrderID != (sale.OrderID{}) {
		v.OrderID = e.OrderID.String()
	}
	return v
}

// NewListWalletEntries builds GET /v1/wallet/entries: the movements of the caller's wallets of all currencies, newest first. It takes DB,
// Claims and Log.
func NewListWalletEntries(d edge.Deps) lambda.Handler {
	return serve(d, "list-wallet-entries", readBudget, func(ctx context.Context, r *Request) (*Response, error) {
		user, err := r.userID(d.Claims)
		if err != nil {
			return nil, err
		}
		return numbered(r.Query(),
			func(before int64, limit int) ([]wallet.Entry, error) {
				return wallet.List(ctx, d.DB, user, before, limit)
			},
			func(e wallet.Entry) int64 { return e.ID }, viewWalletEntry)
	})
}
