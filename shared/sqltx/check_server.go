package sqltx

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ErrServerSettings is returned by CheckServer; its text says which parameter to set to what.
var ErrServerSettings = errors.New("sqltx: the database server is not set up for this")

const showSettings = `SHOW VARIABLES WHERE Variable_name IN ` +
	`('tx_isolation', 'transaction_isolation', 'sql_mode', 'autocommit', 'wait_timeout', 'character_set_connection')`

// CheckServer holds the server's parameters against what the code relies on, as a fresh connection sees them: isolation READ COMMITTED,
// strict mode, autocommit, utf8mb4, and a wait_timeout above the life of a pooled connection. They are the server's own, since a SET per
// connection would pin sessions of a proxy. The server's time zone does not matter: instants are bound as UTC. It returns
// ErrServerSettings with every parameter that is wrong, or the errors of the driver.
func CheckServer(ctx context.Context, q Querier) error {
	rows, err := q.QueryContext(ctx, showSettings)
	if err != nil {
		return fmt.Errorf("reading the settings of the database: %w", err)
	}
	defer rows.Close()
	settings := make(map[string]string)
	for rows.Next() {
		var name, value string
		if err := rows.Scan(&name, &value); err != nil {
			return fmt.Errorf("reading the settings of the database: %w", err)
		}
		settings[strings.ToLower(name)] = strings.ToUpper(value)
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("reading the settings of the database: %w", err)
	}
	if wrong := wrongSettings(settings); len(wrong) > 0 {
		return fmt.Errorf("%w: in the server's parameters (on RDS: the parameter group) %s", ErrServerSettings, strings.Join(wrong, "; "))
	}
	return nil
}

func wrongSettings(s map[string]string) (wrong []string) {
	isolation := s["transaction_isolation"] // MySQL 8, and MariaDB from 11.1 on; before that the name was tx_isolation
	if isolation == "" {
		isolation = s["tx_isolation"]
	}
	if isolation != "READ-COMMITTED" {
		wrong = append(wrong, fmt.Sprintf("set transaction-isolation (tx_isolation on RDS for MariaDB) to READ-COMMITTED, it is %s", isolation))
	}
	if !strings.Contains(s["sql_mode"], "STRICT_TRANS_TABLES") && !strings.Contains(s["sql_mode"], "STRICT_ALL_TABLES") {
		wrong = append(wrong, "add STRICT_TRANS_TABLES to sql_mode, else values that do not fit are cut silently")
	}
	if s["autocommit"] != "ON" {
		wrong = append(wrong, "set autocommit to ON")
	}
	if s["character_set_connection"] != "UTF8MB4" {
		wrong = append(wrong, "let clients choose their character set (no skip-character-set-client-handshake): it must be utf8mb4")
	}
	if seconds, err := strconv.Atoi(s["wait_timeout"]); err != nil || time.Duration(seconds)*time.Second <= MaxLifetime {
		wrong = append(wrong, fmt.Sprintf("set wait_timeout above %d seconds, it is %s", int(MaxLifetime.Seconds()), s["wait_timeout"]))
	}
	return wrong
}
