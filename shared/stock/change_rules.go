package stock

import (
	"context"
	"fmt"

	"holdfast/lua"
	"holdfast/shared/sale"
)

// ChangeRules applies the rules if their version is higher than the one in Redis; applied says whether it was. Calls may come in
// any order and twice. It works while loading.
func (s *Store) ChangeRules(ctx context.Context, activityID string, r sale.Rules) (applied bool, err error) {
	status, known := statusLetters[r.Status]
	if !known {
		return false, fmt.Errorf("stock: no rules for a sale that is %s", r.Status)
	}
	reply, err := s.run(ctx, lua.ChangeRules, []string{keysOf(activityID).rules()},
		[]any{r.Version, status, r.OpensAt.UnixMilli(), r.ClosesAt.UnixMilli(), r.Limit})
	a, err := tuple(lua.ChangeRules, reply, err)
	if err != nil {
		return false, err
	}
	switch a.word() {
	case "APPLIED":
		return true, nil
	case "OLDER":
		return false, nil
	}
	return false, badReply(lua.ChangeRules, reply)
}
