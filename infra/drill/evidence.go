package drill

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"holdfast/shared/sqltx"
)

// Certificate is what the stack itself certifies of a sale.
type Certificate struct {
	ActivityID string `json:"activityId"`
	Verdict    string `json:"verdict"`
	InFlight   int    `json:"inFlight"`
	Hash       string `json:"hash"`
}

// Pass says whether the certificate claims that all is well, and nothing is on its way.
func (c Certificate) Pass() bool { return c.Verdict == "PASS" && c.InFlight == 0 }

// certify closes each sale, so that nothing moves, and asks the stack for its certificate.
func (w *world) certify(ctx context.Context, sales []string) ([]Certificate, error) {
	token, err := w.operator(ctx)
	if err != nil {
		return nil, err
	}
	var list []Certificate
	for _, id := range sales {
		path := "/ops/v1/activities/" + id
		if err := w.ask(ctx, http.MethodPost, path+"/closure", token, map[string]any{}, nil); err != nil {
			return nil, err
		}
		c := Certificate{ActivityID: id}
		if err := w.ask(ctx, http.MethodGet, path+"/certificate", token, nil, &c); err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return list, nil
}

// operator is a token that may do everything.
func (w *world) operator(ctx context.Context) (string, error) {
	var minted struct{ Token string }
	err := w.ask(ctx, http.MethodPost, "/local/tokens", "", map[string]any{"sub": "drill", "scopes": []string{"operator"}}, &minted)
	return minted.Token, err
}

// ask calls the stack's API. It is patient with a function whose connections have just been cut.
func (w *world) ask(ctx context.Context, method, path, token string, body, into any) (err error) {
	for range 5 {
		if err = w.askOnce(ctx, method, path, token, body, into); err == nil {
			return nil
		}
		pause(ctx, time.Second)
	}
	return err
}

func (w *world) askOnce(ctx context.Context, method, path, token string, body, into any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	var reader io.Reader
	if body != nil {
		reader = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, w.stack.Addresses.API+path, reader)
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK && response.StatusCode != http.StatusAccepted {
		return fmt.Errorf("%s %s answered %d: %s", method, path, response.StatusCode, answer)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(answer, into)
}

// lateAfter is from when on an order counts as late: without faults it comes within two seconds.
const lateAfter = 5 * time.Second

// count counts what else tells of the drill.
func (w *world) count(ctx context.Context, result *Result) error {
	return w.inDatabase(ctx, func(db *sqltx.DB) error {
		if err := db.QueryRowContext(ctx, `SELECT COUNT(*) FROM difference WHERE status = 'OPEN'`).Scan(&result.Differences); err != nil {
			return err
		}
		if err := db.QueryRowContext(ctx, `SELECT COUNT(*) FROM dead_letter`).Scan(&result.DeadLetters); err != nil {
			return err
		}
		return db.QueryRowContext(ctx, `SELECT COUNT(*) FROM trade_order o WHERE o.created_at > o.reserved_at + INTERVAL ? SECOND
 AND NOT EXISTS (SELECT 1 FROM repair r WHERE r.order_id = o.id)`, int(lateAfter/time.Second)).Scan(&result.Late)
	})
}
