package timeline

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"holdfast/shared/audit"
	"holdfast/shared/order"
	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
)

// most bounds how many rows of one kind a story reads.
const most = 200

// collect runs a query and adds an event per row.
func collect(ctx context.Context, q sqltx.Querier, what string, add func(scan func(...any) error) error, query string, args ...any) error {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return fmt.Errorf("timeline: read %s: %w", what, err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := add(rows.Scan); err != nil {
			return fmt.Errorf("timeline: read %s: %w", what, err)
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("timeline: read %s: %w", what, err)
	}
	return nil
}

// paidAt reads when the stock log's row of an order turned into DEDUCT; zero when it has not, or was that from the beginning.
func paidAt(ctx context.Context, q sqltx.Querier, id sale.OrderID) (time.Time, error) {
	var made, changed time.Time
	var action string
	err := q.QueryRowContext(ctx, `SELECT action, created_at, updated_at FROM stock_log WHERE order_id = ? AND direction = -1`, id[:]).
		Scan(&action, &made, &changed)
	if errors.Is(err, sql.ErrNoRows) || err == nil && (action != "DEDUCT" || !changed.After(made)) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("timeline: read the stock log: %w", err)
	}
	return changed, nil
}

// ofDeadLetters adds the messages that were given up.
func (s *teller) ofDeadLetters(ctx context.Context, id sale.OrderID) error {
	return collect(ctx, s.db, "dead letters", func(scan func(...any) error) error {
		var queue, message, reason, detail string
		var receives int
		var at time.Time
		var again sql.NullTime
		if err := scan(&queue, &message, &reason, &detail, &receives, &at, &again); err != nil {
			return err
		}
		s.letters++
		why := reason
		if detail != "" {
			why += ", " + detail
		}
		s.add(at, Queue, "Its message %s was given up after %d deliveries and kept as a dead letter: %s.", message, receives, why)
		if again.Valid {
			s.redriven++
			s.add(again.Time, Queue, "The message %s was sent to the queue again.", message)
		}
		return nil
	}, `SELECT queue, message_id, reason, detail, receive_count, created_at, redriven_at FROM dead_letter WHERE order_id = ?
 ORDER BY dead_letter_id LIMIT ?`, id[:], most)
}

// ofFailures adds what could not be brought about in Redis at once.
func (s *teller) ofFailures(ctx context.Context, id sale.OrderID) error {
	return collect(ctx, s.db, "failed compensations", func(scan func(...any) error) error {
		var kind, status string
		var attempts int
		var due, made, changed time.Time
		if err := scan(&kind, &status, &attempts, &due, &made, &changed); err != nil {
			return err
		}
		s.add(made, Repair, "Redis could not be told at once to %s; it was noted for the minute pass.", effects[kind])
		if status == "DONE" {
			s.add(changed, Repair, "Redis was told to %s, after %d more tries.", effects[kind], attempts)
		} else {
			s.due = &due
		}
		return nil
	}, `SELECT kind, status, attempts, due_at, created_at, updated_at FROM compensation_fail WHERE order_id = ? ORDER BY kind`, id[:])
}

// effects says in words what compensation_fail counts.
var effects = map[string]string{"RELEASE": "give the units back", "ACK": "take the order as committed"}

// ofRepairs adds what was mended.
func (s *teller) ofRepairs(ctx context.Context, id sale.OrderID) error {
	return collect(ctx, s.db, "repairs", func(scan func(...any) error) error {
		var layer int
		var kind string
		var broken sql.NullTime
		var at time.Time
		if err := scan(&layer, &kind, &broken, &at); err != nil {
			return err
		}
		since := ""
		if broken.Valid {
			since = fmt.Sprintf(", broken since %s", when(broken.Time))
		}
		s.add(at, Repair, "%s %s%s.", layers[layer], repairs[order.RepairKind(kind)], since)
		return nil
	}, `SELECT layer, kind, broken_at, at FROM repair WHERE order_id = ? ORDER BY repair_id LIMIT ?`, id[:], most)
}

var layers = map[int]string{1: "Whoever cancelled it", 2: "The minute pass", 3: "The full reconcile"}

var repairs = map[order.RepairKind]string{
	order.RepairRelease: "gave its units back in Redis", order.RepairAck: "told Redis that it is committed",
	order.RepairCreate: "made the reservation an order", order.RepairRefuse: "made the reservation a CANCELLED row",
	order.RepairAdopt: "taught Redis the order, which had lost it",
}

// ofDifferences adds what a reconcile found and could not explain.
func (s *teller) ofDifferences(ctx context.Context, id sale.OrderID) error {
	return collect(ctx, s.db, "differences", func(scan func(...any) error) error {
		var number int64
		var kind, status, proposed string
		var action sql.NullString
		var found time.Time
		var end sql.NullTime
		if err := scan(&number, &kind, &status, &proposed, &action, &found, &end); err != nil {
			return err
		}
		s.add(found, Repair, "The full reconcile found difference %d, %s, and proposed %s to a person.", number, kind, proposed)
		switch {
		case status == "OPEN":
			s.differences++
		case end.Valid && action.Valid:
			s.add(end.Time, Operator, "Difference %d was resolved by %s.", number, action.String)
		case end.Valid:
			s.add(end.Time, Repair, "Difference %d was not found any more.", number)
		}
		return nil
	}, `SELECT difference_id, kind, status, proposed_action, action, found_at, resolved_at FROM difference
 WHERE activity_id = ? AND subject = ? ORDER BY difference_id LIMIT ?`, s.activity.ID, id.String(), most)
}

// ofAlerts adds what a person was asked to look at.
func (s *teller) ofAlerts(ctx context.Context, id sale.OrderID) error {
	return collect(ctx, s.db, "alerts", func(scan func(...any) error) error {
		var kind string
		var times int
		var first time.Time
		if err := scan(&kind, &times, &first); err != nil {
			return err
		}
		s.add(first, Repair, "Alert %s was raised, %d times so far.", kind, times)
		return nil
	}, `SELECT kind, occurrences, first_at FROM alert WHERE activity_id = ? AND subject = ? ORDER BY alert_id LIMIT ?`,
		s.activity.ID, id.String(), most)
}

// ofOperators adds what operators did to it.
func (s *teller) ofOperators(ctx context.Context, id sale.OrderID) error {
	for before := int64(1<<63 - 1); ; {
		records, err := audit.List(ctx, s.db, audit.Filter{Subject: id.String()}, before, most)
		if err != nil {
			return err
		}
		for _, r := range records {
			s.add(r.At, Operator, "%s, by operator %s.", act(r.Action), r.Operator)
			before = r.ID
		}
		if len(records) < most {
			return nil
		}
	}
}
