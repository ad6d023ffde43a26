package sam

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/infra/local"
	"holdfast/infra/mysql"
	"holdfast/shared/edge/deploy"
	"holdfast/shared/testenv"
)

// replays says what each event file is answered with, in an order in which the later ones find what the earlier ones made. An answer
// is right when all its parts stand in it.
var replays = []struct {
	function string
	answer   []string
}{
	{"operate-sales", []string{`"statusCode":201`, `DRAFT`}},
	{"list-activities", []string{`"statusCode":200`, `spring-gala`}},
	{"get-activity", []string{`"statusCode":200`, `OPEN`}},
	{"create-orders", []string{`{"batchItemFailures":[]}`}},
	{"get-order", []string{`"statusCode":200`, `UNPAID`}},
	{"list-orders", []string{`"statusCode":200`, `UNPAID`}},
	{"reserve-ticket", []string{`"statusCode":202`, `RESERVED`}},
	{"my-activity", []string{`"statusCode":200`, `\"held\":4`}},
	{"confirm-deposit", []string{`"statusCode":409`, `DEPOSIT_NOT_FROZEN`}},
	{"pay-order", []string{`"statusCode":402`, `INSUFFICIENT_BALANCE`}},
	{"notify-payment", []string{`"statusCode":401`}},
	{"get-wallet", []string{`"statusCode":200`}},
	{"list-wallet-entries", []string{`"statusCode":200`, `items`}},
	{"my-waitlist", []string{`"statusCode":409`, `NOT_SOLD_OUT`}},
	{"remind-deposit", []string{`{"status":"DONE","seconds":0}`}},
	{"settle-deposit", []string{`{"status":"DONE","seconds":0}`}},
	{"record-workflow-failure", []string{`{"status":"RECORDED","seconds":0}`}},
	{"cancel-order", []string{`"statusCode":200`, `CANCELLED`}},
	{"list-notices", []string{`"statusCode":200`, `ORDER_CREATED`, `ORDER_CANCELLED`}},
	{"send-notices", []string{`{"batchItemFailures":[]}`}},
	{"record-dead-letters", []string{`{"batchItemFailures":[]}`}},
	{"expire-orders", []string{`"expired":0`}},
	{"compensate-orders", []string{`"pending":`}},
	{"reconcile-deposits", []string{`{`}},
	{"reconcile-stock", []string{`"status":"SUCCEEDED"`, `"differences":0`}},
	{"health", []string{`"statusCode":200`}},
	{"get-openapi", []string{`"statusCode":200`, `openapi`}},
}

// post sends a body to the local stack and returns the answer; another status than 2xx fails the test.
func post(t *testing.T, url, token string, body []byte) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode/100 != 2 {
		t.Fatalf("POST %s: %s %s (%v)", url, response.Status, answer, err)
	}
	return string(bytes.TrimSpace(answer))
}

func event(t *testing.T, function string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(moduleRoot(), "infra", "events", function+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func TestEventsAreAnswered(t *testing.T) {
	stack, err := local.Up(t.Context(), local.Options{DataDir: t.TempDir(), Out: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stack.Close)
	base := stack.Addresses.API
	var token struct{ Token string }
	if err := json.Unmarshal([]byte(post(t, base+"/local/tokens", "", []byte(`{"sub":"operator-1","scopes":["operator"]}`))), &token); err != nil {
		t.Fatal(err)
	}
	for i, replay := range replays {
		answer := post(t, base+"/local/events/"+replay.function, "", event(t, replay.function))
		for _, part := range replay.answer {
			if !strings.Contains(answer, part) {
				t.Errorf("%s: no %s in %s", replay.function, part, answer)
			}
		}
		if i == 0 {
			// The other events happen to a sale that is on.
			post(t, base+"/ops/v1/activities/spring-gala/publication", token.Token, nil)
		}
	}
}

func TestTheEventOfTheDeploymentMigrates(t *testing.T) {
	handler := deploy.NewMigrateDatabase(testenv.EmptyMySQL(t), deploy.Schema{Migrate: mysql.Migrate, Version: mysql.Version})
	answer, err := handler.Invoke(t.Context(), event(t, "migrate-database"))
	if err != nil || !strings.Contains(string(answer), `"Version"`) {
		t.Fatalf("%s %v", answer, err)
	}
}

func TestEveryEventIsReplayed(t *testing.T) {
	replayed := map[string]bool{"migrate-database": true}
	for _, replay := range replays {
		replayed[replay.function] = true
	}
	files, err := filepath.Glob(filepath.Join(moduleRoot(), "infra", "events", "*.json"))
	if err != nil || len(files) != len(replayed) {
		t.Errorf("%d event files, %d replays (%v)", len(files), len(replayed), err)
	}
	for _, file := range files {
		if name := strings.TrimSuffix(filepath.Base(file), ".json"); !replayed[name] {
			t.Errorf("%s is not replayed", name)
		}
	}
}
