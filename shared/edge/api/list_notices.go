package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/aws/aws-lambda-go/lambda"

	"holdfast/shared/edge"
	"holdfast/shared/notice"
	"holdfast/shared/sale"
)

// noticeView is a notice as its reader sees it.
type noticeView struct {
	NoticeID   string          `json:"noticeId"`
	Kind       string          `json:"kind"`
	OrderID    string          `json:"orderId,omitempty"`
	ActivityID string          `json:"activityId"`
	At         string          `json:"at"`
	Data       json.RawMessage `json:"data"`
}

// NewListNotices builds GET /v1/notices: what the caller was told, newest first, whether it has been sent yet or not. It takes DB,
// Claims and Log.
func NewListNotices(d edge.Deps) lambda.Handler {
	return serve(d, "list-notices", readBudget, func(ctx context.Context, r *Request) (*Response, error) {
		user, err := r.userID(d.Claims)
		if err != nil {
			return nil, err
		}
		q := r.Query()
		cursor, limit := q.Text("cursor"), q.Limit()
		if err := q.Finish(); err != nil {
			return nil, err
		}
		list, next, err := notice.List(ctx, d.DB, user, cursor, limit)
		if errors.Is(err, notice.ErrBadCursor) {
			return nil, badCursor(q)
		}
		if err != nil {
			return nil, err
		}
		views := make([]noticeView, len(list))
		for i := range list {
			n := &list[i]
			views[i] = noticeView{NoticeID: n.Name(), Kind: string(n.Kind), ActivityID: n.ActivityID, At: stamp(n.CreatedAt), Data: n.Data}
			if n.OrderID != (sale.OrderID{}) {
				views[i].OrderID = n.OrderID.String()
			}
		}
		return JSON(http.StatusOK, page[noticeView]{views, next})
	})
}
