package catalog

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"holdfast/shared/fault"
	"holdfast/shared/money"
	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
)

const (
	selectActivity = `SELECT activity_id, number, salt, kind, mode, title, lang, time_zone, metadata, status, opens_at, closes_at,
		per_user_limit, pay_window_s, currency, refund_rule, sale_token_required, epoch, rules_version, revision, cancelled_at,
		created_at, updated_at FROM activity`
	selectTypes = `SELECT activity_id, position, ticket_type, title, price, capacity, buckets FROM ticket_type
		WHERE activity_id IN `

	insertActivity = `INSERT INTO activity (activity_id, number, salt, kind, mode, title, lang, time_zone, metadata, status, opens_at,
		closes_at, per_user_limit, pay_window_s, currency, refund_rule, sale_token_required, created_hash, created_at, updated_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'DRAFT', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	insertTypes   = `INSERT INTO ticket_type (activity_id, ticket_type, position, title, price, capacity, buckets) VALUES `
	insertBuckets = `INSERT INTO stock_bucket (activity_id, ticket_type, bucket, capacity, updated_at) VALUES `

	updateActivity = `UPDATE activity SET kind = ?, title = ?, lang = ?, time_zone = ?, metadata = ?, opens_at = ?, closes_at = ?,
		per_user_limit = ?, pay_window_s = ?, currency = ?, refund_rule = ?, sale_token_required = ?, rules_version = ?,
		revision = revision + 1, updated_at = ? WHERE activity_id = ? AND revision = ?`
	updateStatus = `UPDATE activity SET status = ?, rules_version = rules_version + 1, revision = revision + 1, updated_at = ?
		WHERE activity_id = ? AND status = ?`
	updateEpoch = `UPDATE activity SET epoch = epoch + 1, updated_at = ? WHERE activity_id = ? AND epoch = ?`

	deleteBuckets = `DELETE FROM stock_bucket WHERE activity_id = ?`
	deleteTypes   = `DELETE FROM ticket_type WHERE activity_id = ?`

	selectHash = `SELECT created_hash FROM activity WHERE activity_id = ?`

	// The smallest number above the given one's run of taken numbers.
	selectFreeNumber = `SELECT a.number + 1 FROM activity a LEFT JOIN activity b ON b.number = a.number + 1
		WHERE a.number >= ? AND b.number IS NULL ORDER BY a.number LIMIT 1`
)

// one reads one activity with its types; where holds the condition and the lock. It returns ErrNotFound as a fault.
func one(ctx context.Context, q sqltx.Querier, where string, args ...any) (*sale.Activity, error) {
	found, err := many(ctx, q, where, args...)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, notFound()
	}
	return &found[0], nil
}

func notFound() error {
	return fault.Wrap(fault.ActivityNotFound, ErrNotFound, "there is no activity with this id")
}

// many reads activities with their types, in the order of the statement.
func many(ctx context.Context, q sqltx.Querier, where string, args ...any) ([]sale.Activity, error) {
	rows, err := q.QueryContext(ctx, selectActivity+where, args...)
	if err != nil {
		return nil, fmt.Errorf("reading activities: %w", err)
	}
	defer rows.Close()
	var found []sale.Activity
	for rows.Next() {
		a, err := scanActivity(rows)
		if err != nil {
			return nil, fmt.Errorf("reading activities: %w", err)
		}
		found = append(found, a)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("reading activities: %w", err)
	}
	if err := addTypes(ctx, q, found); err != nil {
		return nil, err
	}
	return found, addPolicies(ctx, q, found)
}

func scanActivity(rows *sql.Rows) (sale.Activity, error) {
	var (
		a                sale.Activity
		metadata, refund sql.NullString
		payWindowS       int64
		cancelledAt      sql.NullTime
	)
	err := rows.Scan(&a.ID, &a.Number, &a.Salt, &a.Kind, &a.Mode, &a.Title, &a.Lang, &a.TimeZone, &metadata, &a.Status, &a.OpensAt,
		&a.ClosesAt, &a.PerUserLimit, &payWindowS, &a.Currency, &refund, &a.SaleTokenRequired, &a.Epoch, &a.RulesVersion, &a.Revision,
		&cancelledAt, &a.CreatedAt, &a.UpdatedAt)
	if err != nil {
		return a, err
	}
	a.PayWindow = time.Duration(payWindowS) * time.Second
	if metadata.Valid {
		a.Metadata = json.RawMessage(metadata.String)
	}
	if refund.Valid {
		a.RefundRule = json.RawMessage(refund.String)
	}
	if cancelledAt.Valid {
		a.CancelledAt = &cancelledAt.Time
	}
	return a, nil
}

// addTypes reads the ticket types of all activities in one statement. Types of what is not a draft never change, so that this second
// look fits the first.
func addTypes(ctx context.Context, q sqltx.Querier, activities []sale.Activity) error {
	if len(activities) == 0 {
		return nil
	}
	at := make(map[string]*sale.Activity, len(activities))
	ids := make([]string, len(activities))
	for i := range activities {
		at[activities[i].ID] = &activities[i]
		ids[i] = activities[i].ID
	}
	found, err := sqltx.Collect(ctx, q, scanType, selectTypes+sqltx.In(len(ids)), sqltx.Args(ids)...)
	if err != nil {
		return fmt.Errorf("reading ticket types: %w", err)
	}
	slices.SortFunc(found, func(a, b typeRow) int { return a.position - b.position }) // the server would make a table of its own for it
	for _, t := range found {
		a := at[t.activityID]
		t.Price = money.Of(t.price, a.Currency)
		a.TicketTypes = append(a.TicketTypes, t.TicketType)
	}
	return nil
}

// typeRow is a row of ticket_type.
type typeRow struct {
	sale.TicketType
	activityID string
	position   int // in the operator's list
	price      decimal.Decimal
}

func scanType(row sqltx.Scanner) (t typeRow, err error) {
	err = row.Scan(&t.activityID, &t.position, &t.ID, &t.Title, &t.price, &t.Capacity, &t.Buckets)
	return t, err
}

// addStock inserts the ticket types of an activity and their buckets.
func addStock(ctx context.Context, tx *sql.Tx, a *sale.Activity, now time.Time) error {
	var types, buckets [][]any
	for position, t := range a.TicketTypes {
		types = append(types, []any{a.ID, t.ID, position, t.Title, t.Price.String(), t.Capacity, t.Buckets})
		for bucket, capacity := range sale.Spread(t.Capacity, t.Buckets) {
			buckets = append(buckets, []any{a.ID, t.ID, bucket, capacity, now})
		}
	}
	if _, err := sqltx.ExecRows(ctx, tx, insertTypes, types, ""); err != nil {
		return fmt.Errorf("inserting ticket types: %w", err)
	}
	if _, err := sqltx.ExecRows(ctx, tx, insertBuckets, buckets, ""); err != nil {
		return fmt.Errorf("inserting buckets: %w", err)
	}
	return nil
}

// dropStock deletes the types and buckets of a draft, to make room for others.
func dropStock(ctx context.Context, tx *sql.Tx, id string) error {
	for _, statement := range []string{deleteBuckets, deleteTypes} {
		if _, err := tx.ExecContext(ctx, statement, id); err != nil {
			return fmt.Errorf("deleting stock of a draft: %w", err)
		}
	}
	return nil
}

// freeNumber is the first number from n on that no activity has.
func freeNumber(ctx context.Context, q sqltx.Querier, n int64) (int64, error) {
	var free int64
	if err := q.QueryRowContext(ctx, selectFreeNumber, n).Scan(&free); err != nil {
		return 0, fmt.Errorf("looking for a free number: %w", err)
	}
	return free, nil
}

// oneRow returns an error unless the statement changed exactly one row: the caller has locked it and knows its state, so anything else
// is a mistake of the code or of the data, never a race.
func oneRow(res sql.Result) error {
	n, err := res.RowsAffected()
	if err != nil {
		return err
	}
	if n != 1 {
		return fmt.Errorf("%d rows changed instead of the locked one", n)
	}
	return nil
}

// textOrNull writes JSON as text; nothing and JSON's null as NULL.
func textOrNull(raw json.RawMessage) any {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	return string(raw)
}

// refused turns a CHECK of the database, or a value that does not fit its column, into a fault; other errors stay.
func refused(err error) error {
	var known *fault.Error
	if errors.As(err, &known) || !sqltx.CheckViolated(err) && !sqltx.OutOfRange(err) {
		return err
	}
	return fault.Wrap(fault.ValidationFailed, errors.Join(ErrRefused, err), "a rule of the database refuses these values")
}
