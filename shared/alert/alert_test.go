package alert_test

import (
	"testing"
	"time"

	"holdfast/shared/alert"
	"holdfast/shared/sqltx"
	"holdfast/shared/testenv"
)

func TestRaisingAgainCountsAndKeepsTheNewerEvidence(t *testing.T) {
	t.Parallel()
	db, err := sqltx.Open(testenv.MySQLDSN(t))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	first := time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)
	for i := range 3 {
		a := alert.Alert{Kind: alert.LiveButDead, Subject: "order-1", ActivityID: "a", Evidence: map[string]any{"n": i}}
		if err := alert.Raise(t.Context(), db, a, first.Add(time.Duration(i)*time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	if err := alert.Raise(t.Context(), db, alert.Alert{Kind: alert.LiveButDead, Subject: "order-2"}, first); err != nil {
		t.Fatal(err)
	}
	var rows, occurrences int
	var detail string
	var from, to time.Time
	if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM alert").Scan(&rows); err != nil {
		t.Fatal(err)
	}
	err = db.QueryRowContext(t.Context(), "SELECT occurrences, detail, first_at, last_at FROM alert WHERE subject = 'order-1'").
		Scan(&occurrences, &detail, &from, &to)
	if err != nil || rows != 2 || occurrences != 3 || detail != `{"n":2}` || !from.Equal(first) || !to.Equal(first.Add(2*time.Minute)) {
		t.Errorf("%d rows; %d times, %s, %v..%v, %v", rows, occurrences, detail, from, to, err)
	}
}
