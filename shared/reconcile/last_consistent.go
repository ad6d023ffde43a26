package reconcile

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"holdfast/shared/stock"
)

// look is what an activity looks like from outside: while all of it is unchanged, so is what a full reconcile would find.
type look struct {
	epoch   int64
	run     string
	seq     int64
	orders  int64
	changed *time.Time
	buckets []stock.BucketRow
	figures [sha256.Size]byte
}

// look reads what MySQL has to say to it: a few entries of an index, and the buckets.
func (p *pass) look(ctx context.Context) (*look, error) {
	l := &look{}
	var newest sql.NullTime
	err := p.r.db.QueryRowContext(ctx, `SELECT MAX(updated_at), COUNT(*) FROM trade_order WHERE activity_id = ?`, p.a.ID).
		Scan(&newest, &l.orders)
	if err != nil {
		return nil, fmt.Errorf("looking at orders: %w", err)
	}
	if newest.Valid {
		l.changed = &newest.Time
	}
	l.buckets, err = stock.Buckets(ctx, p.r.db, p.a.ID)
	return l, err
}

// add adds what Redis has to say, from the snapshot of the pass.
func (l *look) add(p *pass) {
	l.epoch, l.run, l.seq = p.shot.Epoch, p.run, p.shot.Seq
	h := sha256.New()
	for _, t := range slices.Sorted(maps.Keys(p.shot.Types)) {
		fmt.Fprintln(h, t, p.shot.Types[t].Left, p.shot.Types[t].Buckets)
	}
	fmt.Fprintln(h, l.buckets)
	h.Sum(l.figures[:0])
}

// unmoved says whether the activity looks as it did when it was last found consistent, and was proven whole under this run of the server.
func (p *pass) unmoved(ctx context.Context, l *look) (bool, error) {
	var before look
	var changed sql.NullTime
	var figures []byte
	err := p.r.db.QueryRowContext(ctx, `SELECT epoch, run, seq, orders, changed_at, figures FROM last_consistent WHERE activity_id = ?`,
		p.a.ID).Scan(&before.epoch, &before.run, &before.seq, &before.orders, &changed, &figures)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading the last look: %w", err)
	}
	same := before.epoch == l.epoch && before.run == l.run && before.seq == l.seq && before.orders == l.orders &&
		changed.Valid == (l.changed != nil) && bytes.Equal(figures, l.figures[:]) && p.shot.Run == p.run
	return same && (l.changed == nil || l.changed.Equal(changed.Time)), nil
}

// remember keeps what the activity looked like before a run that found it consistent.
func (p *pass) remember(ctx context.Context, l *look) error {
	_, err := p.r.db.ExecContext(ctx, `INSERT INTO last_consistent (activity_id, epoch, run, seq, orders, changed_at, figures, at)
 VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON DUPLICATE KEY UPDATE epoch = VALUES(epoch), run = VALUES(run), seq = VALUES(seq),
 orders = VALUES(orders), changed_at = VALUES(changed_at), figures = VALUES(figures), at = VALUES(at)`,
		p.a.ID, l.epoch, l.run, l.seq, l.orders, l.changed, l.figures[:], p.rows.at)
	if err != nil {
		return fmt.Errorf("keeping the look: %w", err)
	}
	return nil
}
