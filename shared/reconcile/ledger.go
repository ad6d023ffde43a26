package reconcile

import (
	"context"

	"holdfast/shared/wallet"
)

// How many movements of accounts one pass rolls up: pages of a size that one transaction takes in its stride, and as many as the next
// pass should not find again after a deadline of many deposits.
const (
	rollUpPage  = 1000
	rollUpPages = 100
)

// rollUp adds what came in for the accounts that are no wallets to their rows, and counts the movements. It ends with a page that is not
// full: what is left then is not committed yet, or another pass has it. What a pass leaves keeps counting where it is.
func (c *Compensate) rollUp(ctx context.Context, sum *CompensateSummary) error {
	for range rollUpPages {
		rows, err := wallet.RollUp(ctx, c.r.db, rollUpPage)
		if err != nil {
			return err
		}
		sum.RolledUp += rows
		if rows < rollUpPage {
			return nil
		}
	}
	return nil
}
