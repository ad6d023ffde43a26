package sqltx_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"holdfast/shared/sqltx"
	"holdfast/shared/testenv"
)

func TestOpenRefusesDSNsThatWouldSendSetAndNeverShowsThePassword(t *testing.T) {
	t.Parallel()
	for _, dsn := range []string{
		"",
		"user:hunter2@tcp(127.0.0.1:3306)/",
		"user:hunter2@tcp(127.0.0.1:3306",
		"user:hunter2@127.0.0.1:3306/holdfast",
		"user:hunter2@tcp(127.0.0.1:3306)/holdfast?time_zone=%27%2B00:00%27",
		"user:hunter2@tcp(127.0.0.1:3306)/holdfast?charset=utf8mb4",
		"user:hunter2@tcp(127.0.0.1:3306)/holdfast?parseTime=true&charset=utf8mb4,utf8",
		"user:hunter2@tcp(127.0.0.1:3306)/holdfast?collation=utf8mb4_bin",
		"user:hunter2@tcp(127.0.0.1:3306)/holdfast?parseTime=hunter2",
		"user:hunter2@tcp(127.0.0.1:3306)/holdfast?tls=nosuchconfig",
	} {
		db, err := sqltx.Open(dsn)
		if !errors.Is(err, sqltx.ErrBadDSN) || db != nil {
			t.Errorf("%q was taken: %v", dsn, err)
			continue
		}
		if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the password stands in the error: %v", err)
		}
	}
}

func TestOpenTakesAPlainDSNAndConnectsOnlyWhenUsed(t *testing.T) {
	t.Parallel()
	db, err := sqltx.Open("user:hunter2@tcp(192.0.2.1:3306)/holdfast?readTimeout=4m")
	if err != nil {
		t.Fatal(err)
	}
	if s := db.Stats(); s.MaxOpenConnections != 2 || s.OpenConnections != 0 {
		t.Errorf("the pool has %+v", s)
	}
	_ = db.Close()
}

func TestReadTimeoutIsAllThatChangesInADSN(t *testing.T) {
	t.Parallel()
	for dsn, want := range map[string]string{
		"tcp(db.example:3306)/holdfast?tls=true":                 "tcp(db.example:3306)/holdfast?readTimeout=4m0s&tls=true",
		"user:p@ss:/w@tcp(127.0.0.1:1)/holdfast?readTimeout=10s": "user:p@ss:/w@tcp(127.0.0.1:1)/holdfast?readTimeout=4m0s",
	} {
		if got, err := sqltx.WithReadTimeout(dsn, 4*time.Minute); err != nil || got != want {
			t.Errorf("%s became %s: %v", dsn, got, err)
		}
	}
	if _, err := sqltx.WithReadTimeout("user:hunter2@tcp(", time.Minute); !errors.Is(err, sqltx.ErrBadDSN) || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("a DSN that cannot be read: %v", err)
	}
}

func TestServerThatHangsIsUnavailableWithinItsTimeout(t *testing.T) {
	t.Parallel()
	dsn, _ := tally(t)
	proxy, through := testenv.ProxyMySQL(t, dsn)
	short, err := sqltx.WithReadTimeout(through, 200*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	db := open(t, short)
	if err := add(t.Context(), db, "a"); err != nil {
		t.Fatal(err)
	}
	proxy.Delay(time.Hour)
	began := time.Now()
	if err := add(t.Context(), db, "a"); !sqltx.Unavailable(err) {
		t.Errorf("got %v from a server that hangs", err)
	}
	if took := time.Since(began); took > 600*time.Millisecond {
		t.Errorf("a timeout of 200 ms took %v", took)
	}
}
