package catalog

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/shopspring/decimal"

	"holdfast/shared/money"
	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
)

const (
	selectPolicyHead = `SELECT p.activity_id, p.version, p.amount, p.ratio, p.penalty_ratio, p.confirm_deadline, p.remind_at,
		p.cancellation, p.club_id, p.offer_lead_s FROM deposit_policy p WHERE p.activity_id IN `
	selectPolicyTail = ` AND p.version = (SELECT MAX(q.version) FROM deposit_policy q WHERE q.activity_id = p.activity_id)`

	selectVersion = `SELECT COALESCE(MAX(version), 0) FROM deposit_policy WHERE activity_id = ?`
	insertPolicy  = `INSERT INTO deposit_policy (activity_id, version, amount, ratio, penalty_ratio, confirm_deadline, remind_at,
		cancellation, club_id, offer_lead_s, hash, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
)

// addPolicies reads the deposit policies of those activities that sell deposit seats, the highest version of each. Sales of other kinds
// cost no statement.
func addPolicies(ctx context.Context, q sqltx.Querier, activities []sale.Activity) error {
	at := make(map[string]*sale.Activity)
	var ids []string
	for i := range activities {
		if a := &activities[i]; a.Kind == sale.Deposit {
			at[a.ID] = a
			ids = append(ids, a.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	rows, err := q.QueryContext(ctx, selectPolicyHead+sqltx.In(len(ids))+selectPolicyTail, sqltx.Args(ids)...)
	if err != nil {
		return fmt.Errorf("reading deposit policies: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := scanPolicy(rows, at); err != nil {
			return fmt.Errorf("reading deposit policies: %w", err)
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("reading deposit policies: %w", err)
	}
	return nil
}

func scanPolicy(rows *sql.Rows, at map[string]*sale.Activity) error {
	var (
		id            string
		p             sale.DepositPolicy
		amount, ratio decimal.NullDecimal
		leadS         int64
	)
	err := rows.Scan(&id, &p.Version, &amount, &ratio, &p.PenaltyRatio, &p.ConfirmDeadline, &p.RemindAt, &p.Cancellation, &p.ClubID, &leadS)
	if err != nil {
		return err
	}
	a := at[id]
	p.OfferLead = time.Duration(leadS) * time.Second
	if amount.Valid {
		each := money.Of(amount.Decimal, a.Currency)
		p.Amount = &each
	}
	if ratio.Valid {
		p.Ratio = &ratio.Decimal
	}
	a.Deposit = &p
	return nil
}

// addPolicy writes the activity's deposit policy as its next version; the caller has locked the activity, or has just inserted it. An
// activity without one gets no row.
func addPolicy(ctx context.Context, tx *sql.Tx, a *sale.Activity, now time.Time) error {
	p := a.Deposit
	if p == nil {
		return nil
	}
	var last int
	if err := tx.QueryRowContext(ctx, selectVersion, a.ID).Scan(&last); err != nil {
		return fmt.Errorf("reading the version of a deposit policy: %w", err)
	}
	var amount, ratio any
	if p.Amount != nil {
		amount = p.Amount.String()
	}
	if p.Ratio != nil {
		ratio = p.Ratio.String()
	}
	hash := p.Hash()
	_, err := tx.ExecContext(ctx, insertPolicy, a.ID, last+1, amount, ratio, p.PenaltyRatio.String(), p.ConfirmDeadline, p.RemindAt,
		p.Cancellation, p.ClubID, int64(p.OfferLead/time.Second), hash[:], now)
	if err != nil {
		return fmt.Errorf("inserting a deposit policy: %w", err)
	}
	return nil
}

// normalizePolicy brings a policy into the one form that the database keeps: UTC and whole seconds. It leaves the caller's as it is.
func normalizePolicy(p *sale.DepositPolicy) *sale.DepositPolicy {
	if p == nil {
		return nil
	}
	out := *p
	out.ConfirmDeadline = p.ConfirmDeadline.UTC().Truncate(time.Second)
	out.RemindAt = p.RemindAt.UTC().Truncate(time.Second)
	out.OfferLead = p.OfferLead.Truncate(time.Second)
	return &out
}

// policyTerms is the policy without its version, which no operator sets; nil when there is none.
func policyTerms(a *sale.Activity) any {
	if a.Deposit == nil {
		return nil
	}
	terms := *a.Deposit
	terms.Version = 0
	return terms
}
