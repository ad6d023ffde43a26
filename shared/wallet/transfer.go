package wallet

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"holdfast/shared/audit"
	"holdfast/shared/fault"
	"holdfast/shared/money"
	"holdfast/shared/sqltx"
)

// Transfer is money that an operator brings into a wallet from outside, or takes out of it.
type Transfer struct {
	Type      Type   // TopUp or Withdrawal
	Reference string // the operator's, 1..191 bytes, unique among top-ups or among withdrawals
	UserID    string
	Amount    money.Amount // above zero
}

// actions are the audit log's words by type.
var actions = map[Type]string{TopUp: "wallet.top-up", Withdrawal: "wallet.withdraw"}

// Carry carries a transfer out, with an audit row, in one transaction, and gives its entry. The same again, by its reference, changes
// nothing and gives the entry with created false. Of by it takes Operator and RequestID. The caller drops the wallet's hint.
//
// It returns, as faults that have moved nothing: ErrShort for a withdrawal of more than is available; ErrConflict when the reference
// belongs to a transfer with other particulars; ErrFull and ErrMalformed, as violations, for amounts that are not above zero or that the
// wallet cannot hold; and the errors of the transaction runner, of which sqltx.ErrCommitUnclear is resolved by the same call again.
func Carry(ctx context.Context, db *sqltx.DB, t Transfer, by audit.Entry) (e Entry, created bool, err error) {
	m := Movement{Type: t.Type, Reference: t.Reference, UserID: t.UserID, Amount: t.Amount}
	if err := checkTransfer(m); err != nil {
		return Entry{}, false, err
	}
	err = db.Run(ctx, func(ctx context.Context, tx *sql.Tx) error {
		now, err := db.Now(ctx, tx)
		if err != nil {
			return err
		}
		written, err := apply(ctx, tx, []Movement{m}, now)
		if err != nil {
			return err
		}
		created = written == 1
		if e, err = entryOf(ctx, tx, m.Type, m.Reference); err != nil || !created {
			return err
		}
		return addAudit(ctx, tx, m, by, now)
	})
	if err != nil {
		return Entry{}, false, transferFault(m, err)
	}
	return e, created, nil
}

func checkTransfer(m Movement) error {
	if actions[m.Type] == "" {
		return fmt.Errorf("%w: %q is no transfer", ErrMalformed, m.Type)
	}
	if err := m.check(); err != nil {
		return transferFault(m, err)
	}
	if m.Amount.IsZero() {
		return transferFault(m, fmt.Errorf("%w: nothing to move", ErrMalformed))
	}
	return nil
}

// transferFault says what is wrong in the words of whoever asked for the transfer.
func transferFault(m Movement, err error) error {
	switch {
	case errors.Is(err, ErrShort):
		return fault.Wrap(fault.InsufficientBalance, err, "The wallet has less available than is to be taken out; nothing was moved.")
	case errors.Is(err, ErrConflict):
		return fault.Wrap(fault.MovementExists, err, "This reference was used before for another user or another amount; nothing was moved.")
	case errors.Is(err, ErrFull):
		return invalid("/amount", "OUT_OF_RANGE", "the wallet cannot hold that much", err)
	case errors.Is(err, ErrMalformed) && (m.Reference == "" || len(m.Reference) > maxReference):
		return invalid("/reference", "BAD_LENGTH", fmt.Sprintf("1 to %d bytes", maxReference), err)
	case errors.Is(err, ErrMalformed):
		return invalid("/amount", "OUT_OF_RANGE", "more than nothing, with the decimals of its currency, below 10000000000000000", err)
	}
	return err
}

func invalid(pointer, code, message string, cause error) error {
	f := fault.Wrap(fault.ValidationFailed, cause, "The transfer is not valid; nothing was moved.")
	f.Violations = []fault.Violation{{Pointer: pointer, Code: code, Message: message}}
	return f
}

func addAudit(ctx context.Context, tx *sql.Tx, m Movement, by audit.Entry, now time.Time) error {
	detail, err := json.Marshal(map[string]any{"reference": m.Reference, "amount": m.Amount})
	if err != nil {
		return fmt.Errorf("wallet: audit: %w", err)
	}
	by.Action, by.Subject, by.Detail, by.At = actions[m.Type], m.UserID, detail, now
	return audit.Add(ctx, tx, by)
}
