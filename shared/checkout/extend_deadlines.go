package checkout

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"holdfast/shared/audit"
	"holdfast/shared/catalog"
	"holdfast/shared/deposit"
	"holdfast/shared/notice"
	"holdfast/shared/order"
	"holdfast/shared/payment"
	"holdfast/shared/sale"
	"holdfast/shared/waitlist"
)

// ExtendWhat says which deadlines an extension moves.
type ExtendWhat string

// The deadlines there are.
const (
	ExtendPayments ExtendWhat = "PAYMENT" // of UNPAID orders that are to be paid
	ExtendDeposits ExtendWhat = "DEPOSIT" // of deposits that are FROZEN
)

// Refusals of extensions. None of them changed anything.
var (
	ErrExtensionExists  = errors.New("checkout: the extension exists and asked for something else")
	ErrExtensionRunning = errors.New("checkout: another extension of the sale is under way")
)

// Extension moves deadlines of a sale, each once.
type Extension struct {
	ID     string // the operator's name for it, unique in the sale
	By     time.Duration
	What   ExtendWhat
	Reason string
}

// extension is an Extension as the job keeps it.
type extension struct {
	ID        string     `json:"extensionId"`
	BySeconds int64      `json:"bySeconds"`
	What      ExtendWhat `json:"what"`
	Reason    string     `json:"reason"`
}

// ExtendDeadlines has the deadlines of a sale moved, by a job: of the orders that there are now, each once, with a notice to its buyer.
// The same id again answers the same job. It returns the job's id; as faults catalog.ErrNotFound, and catalog.ErrIllegalTransition for a
// draft and for a sale that was called off; ErrExtensionExists; ErrExtensionRunning; and the errors of the database, after which the call
// may be repeated.
func (c *Checkout) ExtendDeadlines(ctx context.Context, activityID string, in Extension, entry audit.Entry) (jobID string, err error) {
	jobID = bulkJobID(JobExtend, activityID, in.ID)
	want := extension{in.ID, int64(in.By / time.Second), in.What, in.Reason}
	parameters, err := json.Marshal(want)
	if err != nil {
		return "", fmt.Errorf("checkout: write a job: %w", err)
	}
	err = c.repeatable(ctx, func(ctx context.Context, tx *sql.Tx) error {
		known, err := lockBulkJob(ctx, tx, jobID)
		if err == nil {
			return sameExtension(known, want)
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		a, err := c.lockActivity(ctx, tx, activityID)
		if err != nil {
			return err
		}
		if a.Status == sale.Draft || a.CancelledAt != nil {
			return fmt.Errorf("%w: it has no deadlines that could be moved", catalog.ErrIllegalTransition)
		}
		now, err := c.db.Now(ctx, tx)
		if err != nil {
			return err
		}
		total, err := order.CountUnpaid(ctx, tx, a.Number)
		if err != nil {
			return err
		}
		j := bulkJob{id: jobID, kind: JobExtend, activityID: activityID, parameters: parameters, at: progress{Status: order.Unpaid}}
		added, err := addBulkJob(ctx, tx, j, total, entry.Operator, now)
		if err != nil {
			return err
		}
		if !added { // by somebody else, at this very moment
			if known, err = lockBulkJob(ctx, tx, jobID); err != nil {
				return err
			}
			return sameExtension(known, want)
		}
		entry.At = now
		return audit.Add(ctx, tx, entry)
	})
	if errors.Is(err, errJobBeside) {
		err = ErrExtensionRunning
	}
	return jobID, err
}

func sameExtension(j *bulkJob, want extension) error {
	var have extension
	if err := json.Unmarshal(j.parameters, &have); err != nil {
		return fmt.Errorf("checkout: read job %s: %w", j.id, err)
	}
	if have != want {
		return ErrExtensionExists
	}
	return nil
}

// extending gives what the job of an extension does.
func (c *Checkout) extending(j *bulkJob) (*bulkWork, error) {
	var want extension
	if err := json.Unmarshal(j.parameters, &want); err != nil {
		return nil, fmt.Errorf("checkout: read job %s: %w", j.id, err)
	}
	return &bulkWork{
		page: func(ctx context.Context, tx *sql.Tx, a *sale.Activity, j *bulkJob, ids []sale.OrderID) (int64, func(context.Context), error) {
			return c.extendPage(ctx, tx, a, j, want, ids)
		},
		end: func(context.Context, *sql.Tx, *sale.Activity, *bulkJob, time.Time) (bulkEnd, error) {
			return bulkEnded, nil
		},
	}, nil
}

// extendPage moves the deadlines of orders.
func (c *Checkout) extendPage(ctx context.Context, tx *sql.Tx, a *sale.Activity, j *bulkJob, want extension, ids []sale.OrderID) (n int64,
	follow func(context.Context), err error) {
	orders, err := order.LockMany(ctx, tx, ids)
	if err != nil {
		return 0, nil, err
	}
	var deposits map[sale.OrderID]deposit.Record
	if want.What == ExtendDeposits {
		if deposits, err = deposit.LockMany(ctx, tx, ids); err != nil {
			return 0, nil, err
		}
	}
	now, err := c.db.Now(ctx, tx)
	if err != nil {
		return 0, nil, err
	}
	var postponed []order.Order
	for _, id := range ids {
		o := orders[id]
		if o.CreatedAt.After(j.createdAt) {
			continue // it was made after the extension was asked for, with a deadline of its own
		}
		moved := false
		if want.What == ExtendPayments {
			if moved, err = extendPayment(ctx, tx, &o, want.by(), now); moved {
				postponed = append(postponed, o)
			}
		} else if d, held := deposits[id]; held {
			moved, err = extendSeat(ctx, tx, a, &d, want.by(), now)
		}
		if err != nil {
			return 0, nil, err
		}
		if moved {
			j.at.Extended++
		} else {
			j.at.Skipped++
		}
		n++
	}
	j.at.After = &ids[len(ids)-1]
	return n, func(ctx context.Context) {
		c.showChanged(ctx, postponed...)
		c.ring(ctx)
	}, nil
}

func (e extension) by() time.Duration { return time.Duration(e.BySeconds) * time.Second }

// extendPayment gives a locked order a later deadline, with everything that ends with it; false when it has none any more, or the new one
// would have passed already.
func extendPayment(ctx context.Context, tx *sql.Tx, o *order.Order, by time.Duration, now time.Time) (bool, error) {
	if o.Status != order.Unpaid || o.PayDeadline == nil {
		return false, nil
	}
	deadline := o.PayDeadline.Add(by)
	if !deadline.After(now) {
		return false, nil
	}
	if err := order.Postpone(ctx, tx, o, deadline, now); err != nil {
		return false, err
	}
	if err := payment.Postpone(ctx, tx, o.ID, deadline, now); err != nil {
		return false, err
	}
	if err := extendOffer(ctx, tx, o, deadline, now); err != nil {
		return false, err
	}
	told := orderNotice(notice.DeadlineExtended, o)
	told.Subject = o.ID.String() + "@" + deadline.UTC().Format(time.RFC3339)
	return true, notice.Add(ctx, tx, []notice.Notice{told}, now)
}

// extendOffer gives the offer that a locked order is a later end, and the notice that tells of it, unless that is out: it is worth telling
// as long as the offer stands. An order that was offered to nobody changes nothing.
func extendOffer(ctx context.Context, tx *sql.Tx, o *order.Order, deadline, now time.Time) error {
	if o.Source != order.FromOffer {
		return nil
	}
	e, err := waitlist.Postpone(ctx, tx, o.ID, deadline, now)
	if errors.Is(err, waitlist.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return notice.Postpone(ctx, tx, offerSubject(e.ID, e.Attempt), notice.WaitlistOffer, deadline, now)
}

// extendSeat gives a locked deposit a later deadline; false when it is FROZEN no more, or the new one would have passed already.
func extendSeat(ctx context.Context, tx *sql.Tx, a *sale.Activity, d *deposit.Record, by time.Duration, now time.Time) (bool, error) {
	err := extendFrozen(ctx, tx, a, d, d.ConfirmDeadline.Add(by), now)
	if errors.Is(err, ErrDepositNotFrozen) || errors.Is(err, ErrDeadlineNotLater) {
		return false, nil
	}
	return err == nil, err
}
