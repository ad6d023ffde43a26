package order

import (
	"database/sql"
	"fmt"

	"holdfast/shared/sqltx"
)

// pages cuts a list so that each part stays within a statement when one element takes this many bytes there.
func pages[T any](list []T, bytesEach int) [][]T {
	const words = 1024 // what the longest statement has besides its list
	var out [][]T
	most := max(1, (sqltx.MaxStatement-words)/bytesEach)
	for len(list) > most {
		out, list = append(out, list[:most]), list[most:]
	}
	if len(list) > 0 {
		out = append(out, list)
	}
	return out
}

// expectChanged checks that a change of locked rows moved all of them.
func expectChanged(result sql.Result, want int) error {
	got, err := result.RowsAffected()
	if err != nil {
		return fmt.Errorf("order: rows affected: %w", err)
	}
	if got != int64(want) {
		return fmt.Errorf("%w: %d of %d rows changed", ErrChanged, got, want)
	}
	return nil
}
