package waitlist_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"holdfast/shared/sqltx"
	"holdfast/shared/testenv"
	"holdfast/shared/waitlist"
)

// listening keeps the statements that it passes on.
type listening struct {
	sqltx.Querier
	statements []string
	args       [][]any
}

func (l *listening) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	l.statements, l.args = append(l.statements, query), append(l.args, args)
	return l.Querier.QueryRowContext(ctx, query, args...)
}

// queue writes WAITING entries that joined a second apart, and gives them as they stand.
func queue(t *testing.T, db *sqltx.DB, length int, now time.Time) []waitlist.Entry {
	t.Helper()
	err := db.Run(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		for i := range length {
			e := waitlist.Entry{ID: waitlist.EntryID{byte(i >> 8), byte(i)}, ActivityID: "a", TicketType: "STANDARD", UserID: fmt.Sprint("u", i),
				Quantity: 1, JoinedAt: now.Add(time.Duration(i-length) * time.Second)}
			if _, err := waitlist.Insert(ctx, tx, &e); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	list, err := waitlist.InTurn(t.Context(), db, "a", "STANDARD", waitlist.Turn{}, length+1)
	if err != nil || len(list) != length {
		t.Fatalf("%d entries: %v", len(list), err)
	}
	return list
}

// A line may be long, and everybody in it asks: a place is counted in the index and no row is looked up.
func TestPlaceIsCountedInTheIndexAlone(t *testing.T) {
	t.Parallel()
	db := sqltx.New(testenv.MySQL(t), nil)
	now := time.Now().UTC().Truncate(time.Millisecond)
	list := queue(t, db, 300, now)
	err := db.Run(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		done, err := waitlist.Save(ctx, tx, list[150].ID, now)
		if err == nil && !done {
			err = errors.New("nothing is saved up")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	l := &listening{Querier: db}
	for i, behind := range map[int]bool{0: false, 150: false, 151: true, 299: true} {
		if p, err := waitlist.PlaceOf(t.Context(), l, &list[i], now); err != nil || p != (waitlist.Place{Position: i + 1, Behind: behind}) {
			t.Errorf("place %d: %+v, %v", i+1, p, err)
		}
	}
	for i, statement := range l.statements {
		var plan string
		if err := db.QueryRowContext(t.Context(), `EXPLAIN FORMAT=JSON `+statement, l.args[i]...).Scan(&plan); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(plan, `"key": "waitlist_turn"`) || !strings.Contains(plan, `"using_index": true`) {
			t.Errorf("rows are looked up: %s", plan)
		}
	}
}
