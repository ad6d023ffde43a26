package testenv

import (
	"os"
	"strings"
	"testing"

	mysqldriver "github.com/go-sql-driver/mysql"

	"holdfast/infra/local/server"
)

// In a test run that has started the servers the variables are set, and their meaning is checked at once. Otherwise the
// test starts servers and runs itself again with the variables set.
func TestSharedServersAreThoseThatTheEnvironmentNames(t *testing.T) {
	t.Parallel()
	if os.Getenv(server.EnvTestRedis) == "" || os.Getenv(server.EnvTestMySQL) == "" {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		status, err := server.Run(t.Context(), &out, &out, []string{self, "-test.v", "-test.run=^" + t.Name() + "$"}, server.TestEnv)
		if status != 0 || err != nil || !strings.Contains(out.String(), "--- PASS: "+t.Name()) {
			t.Fatalf("status %d, %v:\n%s", status, err, out.String())
		}
		return
	}
	if got, want := RedisAddr(t), os.Getenv(server.EnvTestRedis); got != want {
		t.Errorf("redis at %s, want %s", got, want)
	}
	got, err := mysqldriver.ParseDSN(MySQLDSN(t))
	if err != nil {
		t.Fatal(err)
	}
	want, err := mysqldriver.ParseDSN(os.Getenv(server.EnvTestMySQL))
	if err != nil {
		t.Fatal("the variable holds no DSN")
	}
	if got.Addr != want.Addr || got.DBName == want.DBName {
		t.Errorf("database %s at %s; want another than %s at %s", got.DBName, got.Addr, want.DBName, want.Addr)
	}
	if _, err := MySQL(t).ExecContext(t.Context(), "CREATE TABLE k (id INT PRIMARY KEY)"); err != nil {
		t.Error(err)
	}
}
