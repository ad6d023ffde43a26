package workflow

import (
	"context"

	"github.com/aws/aws-lambda-go/lambda"

	"holdfast/shared/edge"
	"holdfast/shared/sale"
)

// NewRemindDeposit builds remind-deposit: the buyer of a deposit that is still FROZEN is reminded, once. It answers DONE when nothing is
// left to wait for. It takes Checkout and Log.
func NewRemindDeposit(d edge.Deps) lambda.Handler {
	return &step{Deps: d, name: "remind-deposit", run: func(ctx context.Context, id sale.OrderID, _ event) (outcome, error) {
		result, err := d.Checkout.RemindDeposit(ctx, id)
		return outcome{string(result.Step), result.Seconds}, err
	}}
}
