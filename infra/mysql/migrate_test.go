package mysql_test

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/infra/mysql"
	"holdfast/shared/testenv"
)

// schema describes everything that a database holds, to compare two.
func schema(t *testing.T, db *sql.DB) string {
	t.Helper()
	var out []string
	for _, table := range textColumn(t, db, allTables+` ORDER BY 1`) {
		var name, text string
		if err := db.QueryRowContext(t.Context(), "SHOW CREATE TABLE "+table).Scan(&name, &text); err != nil {
			t.Fatal(err)
		}
		out = append(out, text)
	}
	return strings.Join(out, "\n")
}

func versions(t *testing.T, db *sql.DB, current int64) {
	t.Helper()
	got, newest, err := mysql.Version(t.Context(), db)
	if err != nil || got != current || newest < 1 {
		t.Errorf("version %d of %d: %v; want %d", got, newest, err, current)
	}
}

func TestUpDownAndUpAgainGiveTheSameSchema(t *testing.T) {
	t.Parallel()
	db := testenv.EmptyMySQL(t)
	versions(t, db, 0)
	for range 2 { // A second call finds nothing to do.
		if err := mysql.Migrate(t.Context(), db); err != nil {
			t.Fatal(err)
		}
	}
	_, newest, err := mysql.Version(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	versions(t, db, newest)
	first := schema(t, db)
	if err := mysql.Down(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	versions(t, db, 0)
	if left := textColumn(t, db, allTables); len(left) > 0 {
		t.Errorf("down has left %q", left)
	}
	if err := mysql.Migrate(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	if again := schema(t, db); again != first || strings.Count(again, "CREATE TABLE") != len(soundRows) {
		t.Errorf("up, down and up again gives another schema:\n%s\n\n%s", first, again)
	}
}

func TestMigrationThatBrokeOffIsFinishedByTheNext(t *testing.T) {
	t.Parallel()
	db := testenv.EmptyMySQL(t)
	if err := mysql.Migrate(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	whole := schema(t, db)
	// As after a crash between two statements: the last tables are missing, and the version was not written down.
	for _, s := range []string{`DROP TABLE audit_log`, `DROP TABLE lease`, `DROP TABLE job`, `DELETE FROM goose_db_version WHERE version_id > 0`} {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	if err := mysql.Migrate(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	if got := schema(t, db); got != whole {
		t.Errorf("the finished schema differs:\n%s", got)
	}
}

func TestMigratorThatDiedBetweenItsFirstTwoStatementsIsSucceeded(t *testing.T) {
	t.Parallel()
	db := testenv.EmptyMySQL(t)
	if _, _, err := mysql.Version(t.Context(), db); err != nil { // This makes the table of versions.
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), `DELETE FROM goose_db_version`); err != nil {
		t.Fatal(err)
	}
	if err := mysql.Migrate(t.Context(), db); err != nil {
		t.Error(err)
	}
}

func TestMigratorsOfOneDatabaseTakeTurns(t *testing.T) {
	t.Parallel()
	for range 5 { // The first moments of a new database are where migrators could meet.
		db := testenv.EmptyMySQL(t)
		ended := make(chan error, 6)
		for range cap(ended) {
			go func() { ended <- mysql.Migrate(t.Context(), db) }()
		}
		for range cap(ended) {
			if err := <-ended; err != nil {
				t.Errorf("one of the migrators failed: %v", err)
			}
		}
		applied := textColumn(t, db, `SELECT CONCAT(version_id, ' ', COUNT(*)) FROM goose_db_version GROUP BY version_id ORDER BY 1`)
		if len(applied) < 2 || applied[0] != "0 1" || applied[1] != "1 1" {
			t.Errorf("versions and how often they were written down: %q", applied)
		}
	}
}

func TestMigratorWaitsForTheOtherOneAsLongAsItsContextAllows(t *testing.T) {
	t.Parallel()
	db := testenv.EmptyMySQL(t)
	other, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := other.ExecContext(t.Context(), `SELECT GET_LOCK(CONCAT('holdfast-migrate-', SHA1(DATABASE())), 0)`); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := mysql.Migrate(ctx, db); err == nil {
		t.Error("two migrators were let in at once")
	}
	if left := textColumn(t, db, allTables); len(left) > 0 {
		t.Errorf("the second migrator made %q", left)
	}
}

func TestMigrationNeedsOneConnectionOnly(t *testing.T) {
	t.Parallel()
	db := testenv.EmptyMySQL(t)
	db.SetMaxOpenConns(1)
	if err := mysql.Migrate(t.Context(), db); err != nil {
		t.Fatal(err)
	}
}

// silent lists columns and tables without a comment. The migrator's own table is not ours to comment.
func silent(t *testing.T, db *sql.DB) []string {
	t.Helper()
	return textColumn(t, db, `SELECT CONCAT(table_name, '.', column_name) FROM information_schema.columns
		WHERE table_schema = DATABASE() AND table_name <> 'goose_db_version' AND column_comment = ''
		UNION ALL SELECT table_name FROM information_schema.tables
		WHERE table_schema = DATABASE() AND table_name <> 'goose_db_version' AND table_comment = ''`)
}

func TestEveryTableAndColumnHasAComment(t *testing.T) {
	t.Parallel()
	db := testenv.MySQL(t)
	if got := silent(t, db); len(got) > 0 {
		t.Errorf("without a comment: %q", got)
	}
	// One without is found: it is planted.
	if _, err := db.ExecContext(t.Context(), `ALTER TABLE lease ADD COLUMN planted INT`); err != nil {
		t.Fatal(err)
	}
	if got := silent(t, db); !slices.Equal(got, []string{"lease.planted"}) {
		t.Errorf("the planted column was not found: %q", got)
	}
}
