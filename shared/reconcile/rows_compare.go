package reconcile

import (
	"context"
	"database/sql"
	"strconv"

	"holdfast/shared/catalog"
	"holdfast/shared/stock"
)

// compareBuckets holds the buckets against the live orders and the adjustments that were applied.
func (r *rows) compareBuckets(ctx context.Context, tx *sql.Tx) error {
	found, err := stock.Buckets(ctx, tx, r.p.a.ID)
	if err != nil {
		return err
	}
	adjusted, err := appliedUnits(ctx, tx, r.p.a.ID)
	if err != nil {
		return err
	}
	units := r.addUp()
	for _, b := range found {
		key := bucketKey{b.TicketType, b.Bucket}
		u := units[key]
		if u == nil {
			u = new(orderUnits)
		}
		delete(units, key)
		off := [3]int{b.Frozen - u.frozen, b.Sold - u.sold, b.Adjusted - adjusted[key]}
		if off != [3]int{} {
			r.mismatch = append(r.mismatch, finding{kind: BucketDiffers, subject: bucketSubject(key), says: off, evidence: map[string]any{
				"mysql": map[string]any{"frozen": b.Frozen, "sold": b.Sold, "adjusted": b.Adjusted, "frozenOfOrders": u.frozen,
					"soldOfOrders": u.sold, "adjustedByAdjustments": adjusted[key]}}})
		}
	}
	for key, u := range units { // buckets that live orders name and that there are not
		r.mismatch = append(r.mismatch, finding{kind: BucketDiffers, subject: bucketSubject(key), says: [2]int{u.frozen, u.sold},
			evidence: map[string]any{"mysql": map[string]any{"frozenOfOrders": u.frozen, "soldOfOrders": u.sold, "exists": false}}})
	}
	return nil
}

func bucketSubject(k bucketKey) string { return k.ticketType + ":" + strconv.Itoa(k.bucket) }

// appliedUnits adds up the applied adjustments bucket by bucket.
func appliedUnits(ctx context.Context, tx *sql.Tx, activityID string) (map[bucketKey]int, error) {
	sum := make(map[bucketKey]int)
	for after := ""; ; {
		found, err := catalog.AppliedAdjustments(ctx, tx, activityID, after, rowPage)
		if err != nil || len(found) == 0 {
			return sum, err
		}
		for _, a := range found {
			for _, share := range a.Split {
				sum[bucketKey{a.TicketType, share.Bucket}] += share.Delta
			}
		}
		after = found[len(found)-1].ID
	}
}

const selectLimitLines = `SELECT user_id, quantity FROM purchase_limit WHERE activity_id = ? AND user_id > ? ORDER BY user_id LIMIT ?`

// limitLine is what one user holds by purchase_limit.
type limitLine struct {
	user string
	held int
}

// compareLimits holds what users hold by purchase_limit against their live orders.
func (r *rows) compareLimits(ctx context.Context, tx *sql.Tx) error {
	after, pages := "", 0
	read := func(ctx context.Context) (page []limitLine, more bool, err error) {
		if page, err = readLimits(ctx, tx, r.p.a.ID, after); err != nil || len(page) < rowPage {
			return page, false, err
		}
		after = page[len(page)-1].user
		return page, true, nil
	}
	err := eachPage(ctx, r.p.r.ahead(), read, func(page []limitLine) error {
		for i := range page {
			r.compareLimit(&page[i])
		}
		pages++
		return r.p.alive(ctx, pages)
	})
	if err != nil {
		return err
	}
	for i := range r.p.log.buyers {
		if b := &r.p.log.buyers[i]; !b.counted && b.rows != 0 {
			r.limitDiffers(b.id, 0, int(b.rows))
		}
	}
	return nil
}

func readLimits(ctx context.Context, tx *sql.Tx, activityID, after string) ([]limitLine, error) {
	found, err := tx.QueryContext(ctx, selectLimitLines, activityID, after, rowPage)
	if err != nil {
		return nil, err
	}
	defer found.Close()
	page := make([]limitLine, 0, rowPage)
	var user, quantity sql.RawBytes
	for found.Next() {
		if err := found.Scan(&user, &quantity); err != nil {
			return nil, err
		}
		held, err := strconv.Atoi(string(quantity))
		if err != nil {
			return nil, err
		}
		page = append(page, limitLine{string(user), held})
	}
	return page, found.Err()
}

func (r *rows) compareLimit(l *limitLine) {
	x := r.p.log
	ofOrders := 0
	if at, known := x.buyerOf[l.user]; known {
		x.buyers[at].counted = true
		ofOrders = int(x.buyers[at].rows)
	}
	if l.held != ofOrders {
		r.limitDiffers(l.user, l.held, ofOrders)
	}
}

func (r *rows) limitDiffers(user string, held, ofOrders int) {
	r.mismatch = append(r.mismatch, finding{kind: LimitDiffers, subject: user, says: held - ofOrders,
		evidence: map[string]any{"mysql": map[string]any{"held": held, "ofOrders": ofOrders}}})
}
