package testenv

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"holdfast/infra/mysql"
)

// model is a migrated database, read once, from which copies are made: replaying what the migrations resulted in is
// several times faster than running them.
type model struct {
	tables []string // CREATE TABLE statements
	rows   []insert // what the migrations put in
}

type insert struct {
	query string
	args  []any
}

// makeModel migrates a database of its own, reads it and drops it again.
func (s *mysqlServer) makeModel(ctx context.Context) (m *model, err error) {
	name := newDatabaseName("model")
	if _, err := s.admin.ExecContext(ctx, "CREATE DATABASE "+name); err != nil {
		return nil, err
	}
	defer func() {
		_, dropErr := s.admin.ExecContext(ctx, "DROP DATABASE "+name)
		err = errors.Join(err, dropErr)
	}()
	db, err := s.openDatabase(name)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	if err := mysql.Migrate(ctx, db); err != nil {
		return nil, err
	}
	return readModel(ctx, db)
}

// readModel reads the tables and rows of a database. It refuses one with views, triggers or routines rather than leave
// them out.
func readModel(ctx context.Context, db *sql.DB) (*model, error) {
	var others int
	err := db.QueryRowContext(ctx, `SELECT
		(SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_type <> 'BASE TABLE')
		+ (SELECT COUNT(*) FROM information_schema.triggers WHERE trigger_schema = DATABASE())
		+ (SELECT COUNT(*) FROM information_schema.routines WHERE routine_schema = DATABASE())`).Scan(&others)
	if err != nil {
		return nil, err
	}
	if others > 0 {
		return nil, errors.New("the schema has views, triggers or routines, which model.go cannot copy yet")
	}
	names, err := column(ctx, db, "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() ORDER BY table_name")
	if err != nil {
		return nil, err
	}
	m := &model{}
	for _, name := range names {
		var create string
		if err := db.QueryRowContext(ctx, "SHOW CREATE TABLE `"+name+"`").Scan(&name, &create); err != nil {
			return nil, err
		}
		m.tables = append(m.tables, create)
		rows, err := readRows(ctx, db, name)
		if err != nil {
			return nil, err
		}
		m.rows = append(m.rows, rows...)
	}
	return m, nil
}

func column(ctx context.Context, db *sql.DB, query string) ([]string, error) {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var values []string
	for rows.Next() {
		var v string
		if err := rows.Scan(&v); err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	return values, rows.Err()
}

// readRows returns one INSERT per row of the table.
func readRows(ctx context.Context, db *sql.DB, table string) ([]insert, error) {
	rows, err := db.QueryContext(ctx, "SELECT * FROM `"+table+"`")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	query := "INSERT INTO `" + table + "` (`" + strings.Join(names, "`, `") + "`) VALUES (?" + strings.Repeat(", ?", len(names)-1) + ")"
	var inserts []insert
	for rows.Next() {
		values, targets := make([]any, len(names)), make([]any, len(names))
		for i := range values {
			targets[i] = &values[i]
		}
		if err := rows.Scan(targets...); err != nil {
			return nil, err
		}
		inserts = append(inserts, insert{query, values})
	}
	return inserts, rows.Err()
}

// copyTo makes the model's tables and rows in the database, which is empty.
func (m *model) copyTo(ctx context.Context, admin *sql.DB, database string) (err error) {
	conn, err := admin.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	// Tables may refer to tables that come after them. One text is one round trip.
	script := "USE " + database + "; SET foreign_key_checks = 0; " + strings.Join(m.tables, "; ")
	if _, err := conn.ExecContext(ctx, script); err != nil {
		return err
	}
	for _, r := range m.rows {
		if _, err := conn.ExecContext(ctx, r.query, r.args...); err != nil {
			return fmt.Errorf("%s: %w", r.query, err)
		}
	}
	_, err = conn.ExecContext(ctx, "SET foreign_key_checks = 1")
	return err
}
