package mysql_test

import (
	"go/ast"
	"go/token"
	"io/fs"
	"strings"
	"testing"

	"holdfast/infra/mysql"
)

func TestEveryStatementInGoRunsOnMySQL8AndMariaDB(t *testing.T) {
	t.Parallel()
	found, err := goStatements("../../shared", "../../functions", ".")
	if err != nil {
		t.Fatal(err)
	}
	if len(found) < 40 {
		t.Errorf("only %d statements were found: the scan misses some", len(found))
	}
	for _, s := range found {
		for _, fault := range faultsOf(s) {
			t.Error(fault)
		}
	}
}

func TestEveryMigrationRunsOnMySQL8AndMariaDB(t *testing.T) {
	t.Parallel()
	names, err := fs.Glob(mysql.Migrations(), "*.sql")
	if err != nil || len(names) == 0 {
		t.Fatalf("no migrations: %v", err)
	}
	for _, name := range names {
		text, err := fs.ReadFile(mysql.Migrations(), name)
		if err != nil {
			t.Fatal(err)
		}
		for _, fault := range faultsOf(statement{name, string(text)}) {
			t.Error(fault)
		}
	}
}

// Each planted statement must be found and refused.
func TestPlantedStatementsAreFoundAndRefused(t *testing.T) {
	t.Parallel()
	for name, source := range map[string]string{
		"RETURNING":            "db.Exec(`INSERT INTO a (b) VALUES (?) RETURNING b`)",
		"row alias":            "db.Exec(`INSERT INTO a (b) VALUES (?) AS new ON DUPLICATE KEY UPDATE b = new.b`)",
		"VALUES ROW":           "db.Exec(`INSERT INTO a (b) VALUES ROW(?)`)",
		"INSERT IGNORE":        "db.Exec(`INSERT IGNORE INTO a (b) VALUES (?)`)",
		"NOW":                  "db.Exec(`UPDATE a SET b = NOW() WHERE c = ?`)",
		"CURRENT_TIMESTAMP":    "db.Exec(`UPDATE a SET b = CURRENT_TIMESTAMP WHERE c = ?`)",
		"whole-second clock":   "db.Query(`SELECT UTC_TIMESTAMP()`)",
		"REPLACE":              "db.Exec(`REPLACE INTO a (b) VALUES (?)`)",
		"FOR SHARE":            "db.Query(`SELECT b FROM a WHERE c = ? FOR SHARE`)",
		"MariaDB alone":        "db.Exec(`DELETE FROM a WHERE b = ? RETURNING c`)",
		"no SQL":               "db.Query(`SELECT FROM WHERE`)",
		"put together":         "db.Query(`SELECT b ` + `FROM a ` + where(3) + ` ORDER BY NOW()`)",
		"by a constant":        "db.Query(start + ` WHERE c = NOW()`)",
		"formatted":            "db.Query(fmt.Sprintf(`SELECT b FROM %s WHERE c < NOW()`, table))",
		"the constant alone":   "const other = `UPDATE a SET b = SYSDATE()`",
		"misspelt around hole": "db.Query(`SELECT b FROM a WHERE c == ? AND ` + more)",
	} {
		packages, files := map[string]map[string]*ast.File{}, token.NewFileSet()
		body := "package planted\n\nconst start = `SELECT b FROM a`\n\nfunc f() {\n\t" + source + "\n}\n"
		if err := addFile(packages, files, "planted/planted.go", []byte(body)); err != nil {
			t.Fatal(err)
		}
		var faults []string
		for _, s := range packageStatements(files, packages["planted"]) {
			faults = append(faults, faultsOf(s)...)
		}
		if len(faults) == 0 {
			t.Errorf("%s: %s passed", name, source)
		}
	}
}

func TestSoundStatementsPassTheScan(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"SELECT b FROM a WHERE c IN " + hole + " ORDER BY b LOCK IN SHARE MODE",
		"INSERT INTO a (b, c) VALUES ",
		"INSERT INTO a (b) VALUES (?) ON DUPLICATE KEY UPDATE b = VALUES(b)",
		"UPDATE a SET b = 'RETURNING NOW()' WHERE c = ?",
		"SELECT UTC_TIMESTAMP(3)",
		"SELECT b FROM a WHERE " + hole + " FOR UPDATE SKIP LOCKED",
	} {
		if faults := faultsOf(statement{"sound", text}); len(faults) > 0 {
			t.Error(strings.Join(faults, "\n"))
		}
	}
}
