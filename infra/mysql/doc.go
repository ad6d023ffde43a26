// Package mysql holds the schema as goose migrations, up and down, and runs them.
//
// The migrations are embedded. A deployment runs them through the function migrate-database before it serves traffic, the local
// stack and the tests at their start. A second migrator waits until the first is done. Statements run unchanged on MariaDB 10.11
// and on MySQL 8; a test parses every one of them, here and in the Go sources, with a parser of MySQL 8.
package mysql
