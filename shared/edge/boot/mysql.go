package boot

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"github.com/go-sql-driver/mysql"

	"holdfast/shared/sqltx"
)

// errSecretForm is returned for a secret that does not say who logs in.
var errSecretForm = errors.New(`boot: the database's secret is not {"username":"...","password":"..."}`)

// openMySQL makes the pool; it connects at the first call. A password out of a secret is asked for at each new connection, so
// that one that was rotated is found.
func openMySQL(c Config, secrets *secrets) (*sql.DB, error) {
	if c.MySQLSecret == "" {
		return sqltx.Open(c.MySQLDSN)
	}
	secret := secrets.open(c.MySQLSecret)
	return sqltx.Open(c.MySQLDSN, mysql.BeforeConnect(func(ctx context.Context, login *mysql.Config) error {
		text, err := secret.text(ctx)
		if err != nil {
			return err
		}
		var who struct{ Username, Password string }
		if json.Unmarshal([]byte(text), &who) != nil || who.Username == "" {
			return errSecretForm
		}
		login.User, login.Passwd = who.Username, who.Password
		return nil
	}))
}
