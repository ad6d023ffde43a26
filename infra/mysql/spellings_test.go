package mysql_test

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"

	"holdfast/shared/testenv"
)

var spellings = []string{"aB3x", "Ab3X", "aB3x "}

// notIDs are the texts in unique keys that are no ids, in all tables or in one: closed lists and forms that a CHECK holds.
var notIDs = []string{"kind", "type", "currency", "trade_order.reference"}

// mixedUp lists the id columns of unique keys in which two of the three spellings are one row.
func mixedUp(t *testing.T, db *sql.DB, rows map[string]row) (out []string, tried int) {
	t.Helper()
	conn := unlinked(t, db)
	const keys = `SELECT CONCAT(s.table_name, ' ', s.index_name, ' ', s.column_name) FROM information_schema.statistics s
		JOIN information_schema.columns c ON c.table_schema = s.table_schema AND c.table_name = s.table_name AND c.column_name = s.column_name
		WHERE s.table_schema = DATABASE() AND s.non_unique = 0 AND c.data_type IN ('varbinary', 'varchar', 'char', 'text')
		AND s.table_name <> 'goose_db_version' ORDER BY 1`
	for _, line := range textColumn(t, conn, keys) {
		part := strings.Fields(line)
		table, index, column := part[0], part[1], part[2]
		if slices.Contains(notIDs, column) || slices.Contains(notIDs, table+"."+column) {
			continue
		}
		tried++
		for i, spelling := range spellings {
			change := otherKeys(t, conn, table, index, i)
			change[column] = spelling
			if err := rows[table].with(change).insert(t.Context(), conn, table); err != nil {
				out = append(out, fmt.Sprintf("%s: %q: %v", line, spelling, err))
			}
		}
		if _, err := conn.ExecContext(t.Context(), "DELETE FROM "+table); err != nil {
			t.Fatal(err)
		}
	}
	return out, tried
}

// otherKeys gives the i-th row its own values in all unique keys but the one that is looked at.
func otherKeys(t *testing.T, conn *sql.Conn, table, index string, i int) row {
	t.Helper()
	const columns = `SELECT DISTINCT s.column_name FROM information_schema.statistics s WHERE s.table_schema = DATABASE() AND s.non_unique = 0
		AND s.table_name = ? AND s.index_name <> ? AND s.column_name NOT IN
		(SELECT o.column_name FROM information_schema.statistics o WHERE o.table_schema = DATABASE() AND o.table_name = s.table_name AND o.index_name = ?)`
	own := map[string]any{"id": sixteen(fmt.Sprint(i)), "number": i + 1, "position": i, "reference": fmt.Sprintf("REFERENC0%d", i),
		"job_id": fmt.Sprint("j", i), "alert_id": i + 1, "dead_letter_id": i + 1, "replaces": nil, "replaced_by": nil,
		"activity_id": fmt.Sprint("a", i), "kind": fmt.Sprint("K", i), "ticket_type": fmt.Sprint("t", i), "active": nil, "open_mark": nil,
		"difference_id": i + 1, "run_id": fmt.Sprint("r", i), "user_id": fmt.Sprint("u", i), "currency": "CNY", "type": "TOP_UP", "version": i + 1,
		"wallet_log.entry_id": i + 1, "waitlist_entry.entry_id": sixteen(fmt.Sprint(i)), "notice_id": i + 1, "order_id": sixteen(fmt.Sprint(i)),
		"payment_id": fmt.Sprint("p", i), "decides": nil, "new_order_id": nil, "provider_reference": nil, "refund_id": fmt.Sprint("r", i), "surplus": 1}
	change := row{}
	for _, column := range textColumn(t, conn, columns, table, index, index) {
		value, known := own[table+"."+column]
		if !known {
			value, known = own[column]
		}
		if !known {
			t.Fatalf("%s.%s stands in a unique key and the test has no values for it", table, column)
		}
		if !slices.Contains([]string{"active", "open_mark", "decides"}, column) { // These compute themselves.
			change[column] = value
		}
	}
	return change
}

func TestThreeSpellingsAreThreeIdsInEveryUniqueKey(t *testing.T) {
	t.Parallel()
	db := testenv.MySQL(t)
	faults, tried := mixedUp(t, db, soundRows)
	for _, fault := range faults {
		t.Error(fault)
	}
	if tried < 30 {
		t.Errorf("only %d columns were tried", tried)
	}
	// An id of a usual collation is found: this one is planted.
	const planted = `CREATE TABLE planted (user_id VARCHAR(64) NOT NULL, n INT, PRIMARY KEY (user_id)) DEFAULT CHARSET = utf8mb4`
	if _, err := db.ExecContext(t.Context(), planted); err != nil {
		t.Fatal(err)
	}
	rows := map[string]row{"planted": {"user_id": "u", "n": 1}}
	for name, sound := range soundRows {
		rows[name] = sound
	}
	if faults, _ := mixedUp(t, db, rows); len(faults) != 2 {
		t.Errorf("the planted key was not found: %q", faults)
	}
}
