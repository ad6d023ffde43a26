package stock

import "context"

// LogPage is one page of a scan of the log.
type LogPage struct {
	Movements []Movement
	Next      uint64 // cursor of the next page; 0 when the scan is complete
}

// Log scans the log from a cursor, 0 to start, about count movements at a time, in no order. A movement that is in the log
// during the whole scan is seen at least once, perhaps twice; one written meanwhile may be seen or not, so fold up to the seq of
// a snapshot that was read before. It returns ErrBadEntry for a field that cannot be read. It does not look whether the set is
// loaded: compare snapshots from before and after.
func (s *Store) Log(ctx context.Context, activityID string, cursor uint64, count int64) (LogPage, error) {
	if err := spent(ctx); err != nil {
		return LogPage{}, err
	}
	fields, next, err := s.rdb.HScan(ctx, keysOf(activityID).log(), cursor, "", count).Result()
	if err != nil {
		return LogPage{}, classify(err)
	}
	page := LogPage{Next: next, Movements: make([]Movement, 0, len(fields)/2)}
	for i := 0; i+1 < len(fields); i += 2 {
		if fields[i] == "#" {
			continue
		}
		m, err := parseMovement(fields[i], fields[i+1])
		if err != nil {
			return LogPage{}, err
		}
		page.Movements = append(page.Movements, m)
	}
	return page, nil
}
