// Package audit keeps what operators did: one row per write, added in the transaction of the write itself, so that neither can be
// without the other. Rows are never changed.
package audit
