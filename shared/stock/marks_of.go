package stock

import "context"

// MarksOf reads the marks of some users at one moment; users without one are absent. It does not look whether the set is loaded. It
// returns ErrBadReply for a mark that cannot be read.
func (s *Store) MarksOf(ctx context.Context, activityID string, users []string) (map[string]Mark, error) {
	marks := make(map[string]Mark, len(users))
	if len(users) == 0 {
		return marks, nil
	}
	if err := spent(ctx); err != nil {
		return nil, err
	}
	fields := make([]string, len(users))
	for i, user := range users {
		fields[i] = userField(user)
	}
	values, err := s.rdb.HMGet(ctx, keysOf(activityID).buyers(), fields...).Result()
	if err != nil {
		return nil, classify(err)
	}
	for i, user := range users {
		value, has := values[i].(string)
		if !has {
			continue
		}
		if marks[user], err = parseMark(fields[i], value); err != nil {
			return nil, err
		}
	}
	return marks, nil
}
