package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/pressly/goose/v3/database"
)

// versionTable is where goose writes down which migrations have run.
const versionTable = "goose_db_version"

// prepareVersions makes goose's table, with the row of version 0 without which goose refuses to work, under the lock of migrators.
// Goose would make both by itself, but looks for pending migrations before it asks for the lock: a second migrator could meet the table
// without the row, and so would everyone after a crash between the two.
func prepareVersions(ctx context.Context, db *sql.DB) (err error) {
	store, err := database.NewStore(database.DialectMySQL, versionTable)
	if err != nil {
		return fmt.Errorf("preparing the table of versions: %w", err)
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("preparing the table of versions: %w", err)
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	var lock sessionLock
	if err := lock.SessionLock(ctx, conn); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.SessionUnlock(context.WithoutCancel(ctx), conn)) }()
	return makeVersions(ctx, conn, store)
}

func makeVersions(ctx context.Context, conn *sql.Conn, store database.Store) error {
	const there = `SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = ?`
	var tables int
	if err := conn.QueryRowContext(ctx, there, versionTable).Scan(&tables); err != nil {
		return fmt.Errorf("looking for the table of versions: %w", err)
	}
	if tables == 0 {
		if err := store.CreateVersionTable(ctx, conn); err != nil {
			return fmt.Errorf("making the table of versions: %w", err)
		}
	}
	_, err := store.GetLatestVersion(ctx, conn)
	if errors.Is(err, database.ErrVersionNotFound) {
		err = store.Insert(ctx, conn, database.InsertRequest{Version: 0})
	}
	if err != nil {
		return fmt.Errorf("preparing the table of versions: %w", err)
	}
	return nil
}
