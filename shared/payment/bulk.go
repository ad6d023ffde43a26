package payment

import (
	"database/sql"
	"encoding/json"
	"fmt"

	"holdfast/shared/sale"
)

// pageSize keeps a list of ids, written twice, within a statement.
const pageSize = 100

func idArgs(list []sale.OrderID) []any {
	args := make([]any, len(list))
	for i := range list {
		args[i] = list[i][:]
	}
	return args
}

// changed checks that a change of a locked row moved it.
func changed(result sql.Result, err error) error {
	if err != nil {
		return fmt.Errorf("payment: %w", err)
	}
	n, err := result.RowsAffected()
	if err != nil {
		return fmt.Errorf("payment: rows affected: %w", err)
	}
	if n != 1 {
		return ErrChanged
	}
	return nil
}

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func idOrNull(id *sale.OrderID) any {
	if id == nil {
		return nil
	}
	return id[:]
}

// actionText is an action as its column keeps it; nil for none.
func actionText(a *Action) (any, error) {
	if a == nil {
		return nil, nil
	}
	text, err := json.Marshal(a)
	if err != nil {
		return nil, fmt.Errorf("payment: write an action: %w", err)
	}
	return string(text), nil
}
