package api

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"holdfast/shared/edge"
	"holdfast/shared/money"
	"holdfast/shared/wallet"
)

// walletView is what the caller has of one currency.
type walletView struct {
	Available money.Amount `json:"available"`
	Frozen    money.Amount `json:"frozen"`
	Now       string       `json:"now"`
}

// NewGetWallet builds GET /v1/wallet?currency=: what the caller has of a currency, by its row, so that whoever has just paid reads what
// is left. A wallet that nothing has moved yet holds nothing. It takes DB, Claims and Log.
func NewGetWallet(d edge.Deps) lambda.Handler {
	return serve(d, "get-wallet", readBudget, func(ctx context.Context, r *Request) (*Response, error) {
		user, err := r.userID(d.Claims)
		if err != nil {
			return nil, err
		}
		q := r.Query()
		currency := q.currency()
		if err := q.Finish(); err != nil {
			return nil, err
		}
		balance, now, err := readWallet(ctx, d, wallet.Key{UserID: user, Currency: currency})
		if err != nil {
			return nil, err
		}
		return JSON(http.StatusOK, walletView{balance.Available, balance.Frozen, stamp(now)})
	})
}

func readWallet(ctx context.Context, d edge.Deps, k wallet.Key) (wallet.Balance, time.Time, error) {
	balance, err := wallet.Get(ctx, d.DB, k)
	if err != nil {
		return wallet.Balance{}, time.Time{}, err
	}
	now, err := d.DB.Now(ctx, d.DB)
	return balance, now, err
}

// currency reads the currency that a call is about; there is no wallet of all currencies.
func (q *Query) currency() string {
	text := q.Text("currency")
	if text == "" {
		if len(q.r.query["currency"]) < 2 {
			q.report.add(true, "?currency", "REQUIRED", "name the currency, such as ?currency=CNY")
		}
		return ""
	}
	if _, err := money.Digits(text); err != nil {
		q.Break("currency", "BAD_CURRENCY", strings.TrimPrefix(err.Error(), money.ErrInvalid.Error()+": "))
	}
	return text
}
