package server

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/go-sql-driver/mysql"
)

// Database is the schema of the DSN; it exists, empty, from the first start on.
const Database = "holdfast"

// mariaUser may do everything in every database, so that tests can make their own.
const mariaUser = "holdfast"

// MariaDBOptions says where and how a mariadbd runs.
type MariaDBOptions struct {
	Dir     string   // its own folder; made and filled when missing
	Port    int      // 0 picks a free one
	Durable bool     // true: every COMMIT is flushed to disk; false: a crash of the server may lose the last second
	Args    []string // more settings, for example "--innodb-lock-wait-timeout=2"; they win over ours
}

// MariaDBProcess is a running mariadbd.
type MariaDBProcess struct {
	*Process
	// DSN is "user:password@tcp(127.0.0.1:port)/holdfast", the form in which the driver go-sql-driver/mysql takes it. The
	// password is random and stays the same over the life of the folder.
	DSN string
	// AdminDSN is that of root, over the unix socket and without a database. Unlike DSN's user, root gets in while the
	// server is full.
	AdminDSN string
}

// MariaDB starts a mariadbd on 127.0.0.1, filling its folder first when it is empty, and returns once a query works.
// The error is ErrPortTaken when the asked port belongs to another program.
func MariaDB(ctx context.Context, o MariaDBOptions) (*MariaDBProcess, error) {
	program, err := find("mariadbd")
	if err != nil {
		return nil, err
	}
	dir, err := makeDir(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("mariadbd: %w", err)
	}
	data := filepath.Join(dir, "data")
	if err := installData(ctx, dir, data); err != nil {
		return nil, err
	}
	password, err := writeInit(dir)
	if err != nil {
		return nil, fmt.Errorf("mariadbd: %w", err)
	}
	f := mariaFiles{
		dir: dir, data: data, socket: socketPath(dir),
		log: filepath.Join(dir, "mariadb.log"), init: filepath.Join(dir, initName),
	}
	p, err := launch(ctx, spec{
		name: "mariadbd", program: program, dir: dir, logFile: f.log,
		args:  func(port int) []string { return mariaArgs(o, f, port) },
		ready: func(ctx context.Context, port, _ int) error { return mariaReady(ctx, mariaDSN(password, port)) },
	}, o.Port)
	if err != nil {
		return nil, err
	}
	return &MariaDBProcess{
		Process:  p,
		DSN:      mariaDSN(password, p.Port),
		AdminDSN: "root:" + password + "@unix(" + f.socket + ")/",
	}, nil
}

func mariaDSN(password string, port int) string {
	return mariaUser + ":" + password + "@tcp(127.0.0.1:" + strconv.Itoa(port) + ")/" + Database
}

// mariaFiles are the paths of one server's files.
type mariaFiles struct{ dir, data, socket, log, init string }

// mariaArgs holds the parameters that the code relies on: READ COMMITTED, UTC, strict SQL, utf8mb4. No session ever sets them.
func mariaArgs(o MariaDBOptions, f mariaFiles, port int) []string {
	args := []string{
		"--no-defaults",
		"--datadir=" + f.data, "--socket=" + f.socket, "--pid-file=" + filepath.Join(f.dir, "mariadb.pid"),
		"--tmpdir=" + filepath.Join(f.dir, "tmp"), "--log-error=" + f.log, "--init-file=" + f.init,
		"--bind-address=127.0.0.1", "--port=" + strconv.Itoa(port), "--skip-name-resolve",
		"--transaction-isolation=READ-COMMITTED", "--default-time-zone=+00:00",
		"--character-set-server=utf8mb4", "--collation-server=utf8mb4_general_ci",
		// The default of MySQL 8, so that what runs here runs there.
		"--sql-mode=" + sqlMode,
		"--max-connections=500", "--skip-log-bin", "--performance-schema=OFF", "--local-infile=OFF",
		"--innodb-buffer-pool-size=256M", innodbLog, "--key-buffer-size=1M", "--aria-pagecache-buffer-size=8M",
	}
	if o.Durable {
		args = append(args, "--innodb-flush-log-at-trx-commit=1")
	} else {
		args = append(args, "--innodb-flush-log-at-trx-commit=0", "--innodb-doublewrite=OFF", "--sync-frm=OFF")
	}
	args = append(args, asCurrentUser()...)
	return append(args, o.Args...)
}

const (
	sqlMode   = "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION"
	innodbLog = "--innodb-log-file-size=64M"
)

// mariaReady runs a real query. It can only reach our own server: no other knows the password.
func mariaReady(ctx context.Context, dsn string) error {
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		return err
	}
	cfg.Timeout, cfg.ReadTimeout, cfg.WriteTimeout = time.Second, 2*time.Second, 2*time.Second
	cfg.Logger = quiet{}
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return err
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	var tables int
	return db.QueryRowContext(ctx, "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = ?", Database).Scan(&tables)
}

// quiet drops what the driver would print about a server that is still starting.
type quiet struct{}

func (quiet) Print(...any) {}
