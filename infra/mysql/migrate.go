package mysql

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var files embed.FS

// Migrations are the embedded files, each named <version>_<name>.sql.
func Migrations() fs.FS {
	sub, err := fs.Sub(files, "migrations")
	if err != nil { // The folder is part of the binary; its name above is the only one there is.
		panic(err)
	}
	return sub
}

// Migrate brings the database to the newest version. Every statement can be run again, so a migration that broke off half-way is
// finished by the next call. While another migrator works on the same database it waits, as long as ctx allows. It returns the
// first error of the server, or of ctx.
func Migrate(ctx context.Context, db *sql.DB) error {
	p, err := provider(ctx, db)
	if err != nil {
		return err
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("migrating up: %w", err)
	}
	return nil
}

// Down takes every migration back, and with them all data. It is for tests and for throwing a stack away.
func Down(ctx context.Context, db *sql.DB) error {
	p, err := provider(ctx, db)
	if err != nil {
		return err
	}
	if _, err := p.DownTo(ctx, 0); err != nil {
		return fmt.Errorf("migrating down: %w", err)
	}
	return nil
}

// Version gives the version that the database has and the newest there is; equal means up to date. A database that was never
// migrated has version 0.
func Version(ctx context.Context, db *sql.DB) (current, newest int64, err error) {
	p, err := provider(ctx, db)
	if err != nil {
		return 0, 0, err
	}
	current, newest, err = p.GetVersions(ctx)
	if err != nil {
		return 0, 0, fmt.Errorf("reading the version of the schema: %w", err)
	}
	return current, newest, nil
}

func provider(ctx context.Context, db *sql.DB) (*goose.Provider, error) {
	if err := prepareVersions(ctx, db); err != nil {
		return nil, err
	}
	p, err := goose.NewProvider(goose.DialectMySQL, db, Migrations(),
		goose.WithTableName(versionTable), goose.WithSessionLocker(sessionLock{}), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return nil, fmt.Errorf("reading the migrations: %w", err)
	}
	return p, nil
}
