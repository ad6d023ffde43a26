package sqltx

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"holdfast/shared/testenv"
)

func TestServerOfTheTestsPassesTheCheck(t *testing.T) {
	t.Parallel()
	if err := CheckServer(t.Context(), testenv.MySQL(t)); err != nil {
		t.Error(err)
	}
}

func TestServerWithWrongSettingsIsToldWhatToChange(t *testing.T) {
	t.Parallel()
	server := testenv.OwnMariaDB(t, "--transaction-isolation=REPEATABLE-READ", "--sql-mode=NO_ENGINE_SUBSTITUTION")
	db, err := Open(server.DSN)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = CheckServer(t.Context(), db)
	if !errors.Is(err, ErrServerSettings) {
		t.Fatalf("got %v, want ErrServerSettings", err)
	}
	for _, word := range []string{"READ-COMMITTED", "STRICT_TRANS_TABLES"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%v does not name %s", err, word)
		}
	}
}

func TestEachWrongSettingIsNamed(t *testing.T) {
	t.Parallel()
	mysql8 := map[string]string{"transaction_isolation": "READ-COMMITTED", "sql_mode": "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES",
		"autocommit": "ON", "wait_timeout": "28800", "character_set_connection": "UTF8MB4"}
	mariadb := maps.Clone(mysql8)
	delete(mariadb, "transaction_isolation")
	mariadb["tx_isolation"] = "READ-COMMITTED"
	for _, good := range []map[string]string{mysql8, mariadb} {
		if wrong := wrongSettings(good); len(wrong) > 0 {
			t.Errorf("good settings were refused: %q", wrong)
		}
	}
	for name, value := range map[string]string{"transaction_isolation": "SERIALIZABLE", "sql_mode": "", "autocommit": "OFF",
		"wait_timeout": "180", "character_set_connection": "LATIN1"} {
		bad := maps.Clone(mysql8)
		bad[name] = value
		if wrong := wrongSettings(bad); len(wrong) != 1 {
			t.Errorf("%s = %q: got %q, want one complaint", name, value, wrong)
		}
	}
}
