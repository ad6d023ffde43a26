package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// client speaks to the local stack's HTTP front.
type client struct{ base string }

// call sends JSON and reads JSON; any status but one of 200, 201 and 202 is an error that holds the answer.
func (c client) call(ctx context.Context, method, path, token string, body []byte, into any) error {
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
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
	if response.StatusCode < 200 || response.StatusCode > 202 {
		return fmt.Errorf("%s %s: %s: %s", method, path, response.Status, answer)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(answer, into)
}

func (c client) token(ctx context.Context, subject string, scopes ...string) (string, error) {
	body, err := json.Marshal(map[string]any{"sub": subject, "scopes": scopes})
	if err != nil {
		return "", err
	}
	var answer struct{ Token string }
	err = c.call(ctx, http.MethodPost, "/local/tokens", "", body, &answer)
	return answer.Token, err
}

// publish creates the activity that operate-sales' event would create, and publishes it.
func (c client) publish(ctx context.Context, event, activityID string) error {
	var request struct{ Body string }
	if err := readJSON(event, &request); err != nil {
		return err
	}
	token, err := c.token(ctx, "operator", "operator")
	if err != nil {
		return err
	}
	if err := c.call(ctx, http.MethodPost, "/ops/v1/activities", token, []byte(request.Body), nil); err != nil {
		return err
	}
	return c.call(ctx, http.MethodPost, "/ops/v1/activities/"+url.PathEscape(activityID)+"/publication", token, nil, nil)
}

// held asks how many units the order's user holds, which the API reads from Redis.
func (c client) held(ctx context.Context, order reservation) (int, error) {
	token, err := c.token(ctx, order.UserID)
	if err != nil {
		return 0, err
	}
	var answer struct{ Held int }
	err = c.call(ctx, http.MethodGet, "/v1/activities/"+url.PathEscape(order.ActivityID)+"/me", token, nil, &answer)
	return answer.Held, err
}
