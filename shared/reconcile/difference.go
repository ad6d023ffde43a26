package reconcile

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"holdfast/shared/sale"
)

// DifferenceKind is what contradicts what.
type DifferenceKind string

// The kinds there are. The subject of each is named with it. A difference is what no reservation explains: it is never mended by itself.
const (
	CounterDiffers    DifferenceKind = "COUNTER_DIFFERS"    // a counter in Redis is not what the log adds up to; "TYPE" or "TYPE:bucket"
	MarkDiffers       DifferenceKind = "MARK_DIFFERS"       // a buyer's mark is not what the log adds up to; user
	LiveButDead       DifferenceKind = "LIVE_BUT_DEAD"      // dead in Redis, live in MySQL; order
	DeadWithoutRow    DifferenceKind = "DEAD_WITHOUT_ROW"   // dead in Redis, and MySQL has no row that says so; order
	EntryDiffers      DifferenceKind = "ENTRY_DIFFERS"      // both have it live, with other particulars; order
	RowMissing        DifferenceKind = "ROW_MISSING"        // MySQL once had the order and has no row now; order
	AdjustmentDiffers DifferenceKind = "ADJUSTMENT_DIFFERS" // Redis and MySQL changed capacity differently; adjustment
	LogUnreadable     DifferenceKind = "LOG_UNREADABLE"     // the log has a field that nobody can read; activity
	BucketDiffers     DifferenceKind = "BUCKET_DIFFERS"     // a bucket in MySQL is not what its live orders add up to; "TYPE:bucket"
	LimitDiffers      DifferenceKind = "LIMIT_DIFFERS"      // purchase_limit is not what the user's live orders add up to; user
	StockLogDiffers   DifferenceKind = "STOCK_LOG_DIFFERS"  // stock_log and the order contradict each other; order

	DepositDiffers    DifferenceKind = "DEPOSIT_DIFFERS"     // a deposit's parts do not add up, or are not what the ledger says; order
	DepositStale      DifferenceKind = "DEPOSIT_STALE"       // a deposit is FROZEN long after its deadline; order
	OrderMoneyDiffers DifferenceKind = "ORDER_MONEY_DIFFERS" // what an order was paid is not what the ledger says; order
	WalletDiffers     DifferenceKind = "WALLET_DIFFERS"      // a wallet is not what its entries add up to; "user currency"
	AccountDiffers    DifferenceKind = "ACCOUNT_DIFFERS"     // an account is not what it must be; "account currency"
	ProviderDiffers   DifferenceKind = "PROVIDER_DIFFERS"    // the provider's list has something else; "payment id" or "refund id"
)

// MoneyKinds lists the kinds that the daily reconcile of money finds; the others are the stock's.
func MoneyKinds() []string {
	return []string{string(DepositDiffers), string(DepositStale), string(OrderMoneyDiffers), string(WalletDiffers), string(AccountDiffers),
		string(ProviderDiffers)}
}

// withinMySQL says whether MySQL contradicts itself by it: then nobody knows what is left to sell.
func (k DifferenceKind) withinMySQL() bool {
	return k == BucketDiffers || k == LimitDiffers || k == StockLogDiffers
}

// Action is what a person has done about a difference.
type Action string

// The actions there are. What each does, and what undoes it, stands at its effect.
const (
	ActNone        Action = "NONE"                // leave it, and do not speak of it again while it says the same
	ActRelease     Action = "RELEASE"             // write the CANCELLED row that is missing, then give the units back
	ActCancelOrder Action = "CANCEL_ORDER"        // cancel the live order
	ActSetCounter  Action = "SET_COUNTER_TO_FOLD" // move the counter by what it is off
	ActRebuild     Action = "REBUILD"             // build the set in Redis anew from MySQL
	ActBucket      Action = "CORRECT_BUCKET"      // write the bucket from its live orders and adjustments
	ActLimit       Action = "CORRECT_LIMIT"       // write the user's holding from the live orders
	ActSettle      Action = "SETTLE_DEPOSIT"      // settle the deposit as its deadline would have
	ActLearn       Action = "LEARN_SUCCESS"       // take the success that the provider lists for news, as if it had been notified
)

// actions lists what may be done about each kind; the first is proposed.
var actions = map[DifferenceKind][]Action{
	CounterDiffers:    {ActSetCounter, ActRebuild, ActNone},
	MarkDiffers:       {ActRebuild, ActNone},
	LiveButDead:       {ActCancelOrder, ActRebuild, ActNone},
	DeadWithoutRow:    {ActRelease, ActNone},
	EntryDiffers:      {ActRebuild, ActNone},
	RowMissing:        {ActRelease, ActNone},
	AdjustmentDiffers: {ActRebuild, ActNone},
	LogUnreadable:     {ActRebuild, ActNone},
	BucketDiffers:     {ActBucket, ActNone},
	LimitDiffers:      {ActLimit, ActNone},
	StockLogDiffers:   {ActNone},
	DepositDiffers:    {ActNone},
	DepositStale:      {ActSettle, ActNone},
	OrderMoneyDiffers: {ActNone},
	WalletDiffers:     {ActNone},
	AccountDiffers:    {ActNone},
	ProviderDiffers:   {ActLearn, ActNone},
}

// Actions gives what may be done about a difference, the proposed one first.
func (k DifferenceKind) Actions() []Action { return slices.Clone(actions[k]) }

// DifferenceStatus is where a difference stands: OPEN -> RESOLVED by a person, or GONE by itself.
type DifferenceStatus string

// The states there are.
const (
	DifferenceOpen     DifferenceStatus = "OPEN"
	DifferenceResolved DifferenceStatus = "RESOLVED"
	DifferenceGone     DifferenceStatus = "GONE"
)

// Difference is what was found and left to a person.
type Difference struct {
	ID          int64
	Revision    int64
	ActivityID  string
	Kind        DifferenceKind
	Subject     string
	Status      DifferenceStatus
	Evidence    json.RawMessage // {"redis":{...},"mysql":{...},"provider":{...}}, as far as each has to do with it
	Proposed    Action
	Occurrences int
	Action      Action // "" unless RESOLVED
	Note        string
	Inverse     json.RawMessage // what would undo the action; nil: nothing was changed
	Operator    string
	FoundAt     time.Time
	SeenAt      time.Time
	ResolvedAt  *time.Time
}

// Refusals of resolving a difference. None of them changed anything.
var (
	ErrDifferenceNotFound = errors.New("reconcile: there is no such difference")
	ErrDifferenceChanged  = errors.New("reconcile: the difference says something else by now")
	ErrDifferenceClosed   = errors.New("reconcile: the difference is not open any more")
	ErrActionUnfit        = errors.New("reconcile: this cannot be done about a difference of this kind")
	ErrActionImpossible   = errors.New("reconcile: this cannot be done as things stand")
	ErrBusy               = errors.New("reconcile: the activity is being reconciled")
)

// finding is a difference that a run has seen.
type finding struct {
	kind     DifferenceKind
	subject  string
	order    *sale.OrderID // whose pair contradicts, if it is one order's
	says     any           // what it says apart from figures that move while it stays the same
	evidence map[string]any
}

// digest tells a difference that says the same as before from one that says something else.
func (f *finding) digest() ([]byte, error) {
	text, err := json.Marshal([]any{f.kind, f.subject, f.says})
	if err != nil {
		return nil, fmt.Errorf("reconcile: difference %s: %w", f.kind, err)
	}
	sum := sha256.Sum256(text)
	return sum[:], nil
}
