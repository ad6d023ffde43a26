package api

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"holdfast/shared/fault"
	"holdfast/shared/money"
	"holdfast/shared/wallet"
)

// transferView is a top-up or withdrawal as it was carried out, with what the wallet held afterwards.
type transferView struct {
	EntryID   string       `json:"entryId"`
	Type      wallet.Type  `json:"type"`
	Reference string       `json:"reference"`
	UserID    string       `json:"userId"`
	Amount    money.Amount `json:"amount"`
	Available money.Amount `json:"available"`
	Frozen    money.Amount `json:"frozen"`
	At        string       `json:"at"`
}

// userWallets is what a user has, of every currency that has moved.
type userWallets struct {
	UserID  string            `json:"userId"`
	At      string            `json:"at"` // the instant that the balances are of
	Wallets []userWalletBrief `json:"wallets"`
	Now     string            `json:"now"`
}

type userWalletBrief struct {
	Available money.Amount `json:"available"`
	Frozen    money.Amount `json:"frozen"`
	Version   int64        `json:"version"` // movements until then
}

// topUpWallet answers POST /ops/v1/wallets/{userId}/top-ups: idempotent by reference.
func (o *operate) topUpWallet(ctx context.Context, r *Request, by caller) (*Response, error) {
	return o.transfer(ctx, r, by, wallet.TopUp, "wallet.top-up")
}

// withdrawFromWallet answers POST /ops/v1/wallets/{userId}/withdrawals: idempotent by reference. More than is available is refused.
func (o *operate) withdrawFromWallet(ctx context.Context, r *Request, by caller) (*Response, error) {
	return o.transfer(ctx, r, by, wallet.Withdrawal, "wallet.withdraw")
}

func (o *operate) transfer(ctx context.Context, r *Request, by caller, kind wallet.Type, action string) (*Response, error) {
	user, err := pathUser(r)
	if err != nil {
		return nil, err
	}
	f, err := r.Fields()
	if err != nil {
		return nil, err
	}
	t := wallet.Transfer{Type: kind, UserID: user, Reference: readReference(f), Amount: f.Money("amount")}
	if f.OK() && !t.Amount.Value.IsPositive() {
		f.Break("amount", "OUT_OF_RANGE", "more than nothing")
	}
	if err := f.Finish(); err != nil {
		return nil, err
	}
	e, created, err := wallet.Carry(ctx, o.DB, t, by.entry(action, user, nil))
	if err != nil {
		return nil, err
	}
	o.Checkout.DropHints(ctx, []wallet.Key{{UserID: user, Currency: t.Amount.Currency}})
	return JSON(statusOr(created), transferView{EntryID: strconv.FormatInt(e.ID, 10), Type: e.Type, Reference: e.Reference, UserID: user,
		Amount: t.Amount, Available: e.After.Available, Frozen: e.After.Frozen, At: stamp(e.At)})
}

// maxReference bounds the references that operators choose for payments and transfers.
const maxReference = 100

// readReference reads a reference of the operator's, which must be there.
func readReference(f *Fields) string {
	reference := f.text("reference", true)
	if reference != nil && (len(*reference) > maxReference || !isPrintable(*reference)) {
		f.Break("reference", "BAD_FORMAT", "1 to 100 printable ASCII characters, no space at the beginning or end")
	}
	return value(reference)
}

// pathUser gives the user id of the path, in the form that claims have.
func pathUser(r *Request) (string, error) {
	id := r.Param("userId")
	if len(id) > 128 || !isPrintable(id) {
		return "", &fault.Error{Code: fault.ValidationFailed, Violations: []fault.Violation{{Pointer: "userId", Code: "BAD_FORMAT",
			Message: "1 to 128 printable ASCII characters"}}}
	}
	return id, nil
}

// readWallets answers GET /ops/v1/wallets/{userId}?at=: what the user has, or had at an instant, of every currency. A user of whom no
// money has moved until then has no wallets.
func (o *operate) readWallets(ctx context.Context, r *Request, _ caller) (*Response, error) {
	user, err := pathUser(r)
	if err != nil {
		return nil, err
	}
	now, err := o.DB.Now(ctx, o.DB)
	if err != nil {
		return nil, err
	}
	q := r.Query()
	at, past := q.instant("at")
	if past && at.After(now) {
		q.Break("at", "OUT_OF_RANGE", "an instant that has come")
	}
	if err := q.Finish(); err != nil {
		return nil, err
	}
	if !past {
		at = now
	}
	currencies, err := wallet.Currencies(ctx, o.DB, user)
	if err != nil {
		return nil, err
	}
	v := userWallets{UserID: user, At: stamp(at), Now: stamp(now), Wallets: []userWalletBrief{}}
	for _, currency := range currencies {
		b, err := o.balance(ctx, wallet.Key{UserID: user, Currency: currency}, at, past)
		if err != nil {
			return nil, err
		}
		if b.Version > 0 {
			v.Wallets = append(v.Wallets, userWalletBrief{b.Available, b.Frozen, b.Version})
		}
	}
	return JSON(http.StatusOK, v)
}

// balance reads a wallet as it is, or as it was at an instant that is past.
func (o *operate) balance(ctx context.Context, k wallet.Key, at time.Time, past bool) (wallet.Balance, error) {
	if past {
		return wallet.At(ctx, o.DB, k, at)
	}
	return wallet.Get(ctx, o.DB, k)
}
