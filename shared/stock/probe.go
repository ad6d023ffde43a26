package stock

import (
	"context"
	"time"

	"holdfast/lua"
)

// Probe runs a script that is refused whenever scripts that write would be: Redis full, read-only, loading, unable to save.
func (s *Store) Probe(ctx context.Context) error {
	reply, err := s.run(ctx, lua.Probe, []string{}, []any{})
	_, err = tuple(lua.Probe, reply, err)
	return err
}

// Now is the clock of Redis with the offset: the one that decides about a sale's window.
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	if err := spent(ctx); err != nil {
		return time.Time{}, err
	}
	now, err := s.rdb.Time(ctx).Result()
	if err != nil {
		return time.Time{}, classify(err)
	}
	return now.Add(s.offset()).UTC(), nil
}
