package deploy_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/cfn"

	"holdfast/infra/mysql"
	"holdfast/shared/edge/deploy"
	"holdfast/shared/testenv"
)

var schema = deploy.Schema{Migrate: mysql.Migrate, Version: mysql.Version}

// cloudFormation answers the handler and keeps what it was told.
func cloudFormation(t *testing.T) (url string, told func() cfn.Response) {
	t.Helper()
	answers := make(chan cfn.Response, 1)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var answer cfn.Response
		if err := json.Unmarshal(body, &answer); err != nil || len(body) > 4096 || r.Method != http.MethodPut {
			t.Errorf("%s %d bytes: %v", r.Method, len(body), err)
		}
		answers <- answer
	}))
	t.Cleanup(s.Close)
	return s.URL, func() cfn.Response {
		select {
		case a := <-answers:
			return a
		case <-time.After(10 * time.Second):
			t.Fatal("CloudFormation was told nothing")
			return cfn.Response{}
		}
	}
}

func invoke(t *testing.T, db *sql.DB, s deploy.Schema, kind, url string) (string, error) {
	t.Helper()
	event, err := json.Marshal(map[string]any{"RequestType": kind, "RequestId": "r", "ResponseURL": url, "LogicalResourceId": "DatabaseMigration",
		"StackId": "s", "ResourceType": "Custom::DatabaseMigration", "ResourceProperties": map[string]any{"CodeVersion": "1"}})
	if err != nil {
		t.Fatal(err)
	}
	out, err := deploy.NewMigrateDatabase(db, s).Invoke(t.Context(), event)
	return string(out), err
}

func tables(t *testing.T, db *sql.DB) (n int) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE()`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestCreateAndUpdateMigrateAndDeleteKeepsTheData(t *testing.T) {
	t.Parallel()
	db := testenv.EmptyMySQL(t)
	url, told := cloudFormation(t)
	for _, kind := range []string{"Create", "Update", "Delete"} {
		if _, err := invoke(t, db, schema, kind, url); err != nil {
			t.Fatal(err)
		}
		answer := told()
		if answer.Status != cfn.StatusSuccess || answer.PhysicalResourceID != "holdfast-schema" || answer.RequestID != "r" {
			t.Errorf("%s: %+v", kind, answer)
		}
		if kind != "Delete" && answer.Data["Version"] == "" {
			t.Errorf("%s: no version in %+v", kind, answer)
		}
		if tables(t, db) < 10 {
			t.Errorf("after %s there are %d tables", kind, tables(t, db))
		}
	}
}

func TestEventByHandIsAnsweredDirectly(t *testing.T) {
	t.Parallel()
	out, err := invoke(t, testenv.EmptyMySQL(t), schema, "Create", "")
	if err != nil || !strings.Contains(out, `"Version":"`) {
		t.Errorf("%s: %v", out, err)
	}
}

func TestFailureIsToldAsFailedWithAShortReason(t *testing.T) {
	t.Parallel()
	url, told := cloudFormation(t)
	broken := deploy.Schema{Version: mysql.Version, Migrate: func(context.Context, *sql.DB) error {
		return errors.New("the statement failed: " + strings.Repeat("x", 10_000))
	}}
	if _, err := invoke(t, testenv.EmptyMySQL(t), broken, "Create", url); err != nil {
		t.Errorf("the invocation itself failed, which would be tried again: %v", err)
	}
	if answer := told(); answer.Status != cfn.StatusFailed || !strings.HasPrefix(answer.Reason, "the statement failed") {
		t.Errorf("%+v", answer)
	}
}

func TestServerWithWrongSettingsFailsTheDeployment(t *testing.T) {
	t.Parallel()
	server := testenv.OwnMariaDB(t, "--transaction-isolation=REPEATABLE-READ")
	url, told := cloudFormation(t)
	if _, err := invoke(t, testenv.OpenMySQL(t, server.DSN), schema, "Create", url); err != nil {
		t.Fatal(err)
	}
	if answer := told(); answer.Status != cfn.StatusFailed || !strings.Contains(answer.Reason, "READ-COMMITTED") {
		t.Errorf("%+v", answer)
	}
}

func TestSlowMigrationIsToldBeforeTheFunctionEnds(t *testing.T) {
	t.Parallel()
	url, told := cloudFormation(t)
	endless := deploy.Schema{Version: mysql.Version, Migrate: func(ctx context.Context, _ *sql.DB) error {
		<-ctx.Done()
		return ctx.Err()
	}}
	ctx, cancel := context.WithTimeout(t.Context(), 6*time.Second) // Five of them are kept for the answer.
	defer cancel()
	event := `{"RequestType":"Update","RequestId":"r","ResponseURL":"` + url + `","LogicalResourceId":"l","StackId":"s","PhysicalResourceId":"holdfast-schema"}`
	if _, err := deploy.NewMigrateDatabase(testenv.EmptyMySQL(t), endless).Invoke(ctx, []byte(event)); err != nil {
		t.Fatal(err)
	}
	if answer := told(); answer.Status != cfn.StatusFailed || ctx.Err() != nil {
		t.Errorf("%+v, %v", answer, ctx.Err())
	}
}

func TestAServerThatIsNotThereYetIsWaitedFor(t *testing.T) {
	t.Parallel()
	server := testenv.OwnMariaDB(t)
	proxy, through := testenv.ProxyMySQL(t, server.DSN)
	proxy.Down()
	timer := time.AfterFunc(3*time.Second, proxy.Up)
	defer timer.Stop()
	url, told := cloudFormation(t)
	if _, err := invoke(t, testenv.OpenMySQL(t, through), schema, "Create", url); err != nil {
		t.Fatal(err)
	}
	if answer := told(); answer.Status != cfn.StatusSuccess {
		t.Errorf("%+v", answer)
	}
}
