package deploy

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/aws/aws-lambda-go/cfn"
	"github.com/aws/aws-lambda-go/lambda"

	"holdfast/shared/sqltx"
)

// Schema is what the handler does to a database; package infra/mysql has both, and only main packages may join the two.
type Schema struct {
	Migrate func(context.Context, *sql.DB) error
	Version func(context.Context, *sql.DB) (current, newest int64, err error)
}

// physicalID names the custom resource for good: another id would make CloudFormation delete the old one after an update.
const physicalID = "holdfast-schema"

// answerTime is kept of the function's time to answer CloudFormation: without an answer a stack hangs for an hour.
const answerTime = 5 * time.Second

// pause is how long to wait between two looks for a server that is not there yet: a new proxy takes some minutes to find its target.
const pause = 2 * time.Second

// maxReason bounds the text that CloudFormation is told: its whole answer may have 4096 bytes.
const maxReason = 1024

// NewMigrateDatabase builds the custom resource that checks the server's settings and runs the migrations, on Create and on Update. On
// Delete it does nothing: data outlives a stack. A failure is answered as FAILED with its reason, and the deployment rolls back. An
// event without ResponseURL, as somebody by hand sends it, is answered directly with the version of the schema, or with the error.
func NewMigrateDatabase(db *sql.DB, schema Schema) lambda.Handler {
	m := migration{db, schema}
	answered := cfn.LambdaWrap(m.run)
	return lambda.NewHandler(func(ctx context.Context, event cfn.Event) (any, error) {
		if event.ResponseURL == "" {
			_, data, err := m.run(ctx, event)
			return data, err
		}
		return answered(ctx, event)
	})
}

type migration struct {
	db     *sql.DB
	schema Schema
}

func (m migration) run(ctx context.Context, event cfn.Event) (string, map[string]any, error) {
	if event.RequestType == cfn.RequestDelete {
		return physicalID, nil, nil
	}
	if deadline, limited := ctx.Deadline(); limited {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline.Add(-answerTime))
		defer cancel()
	}
	version, err := m.migrate(ctx)
	if err != nil {
		return physicalID, nil, short(err)
	}
	return physicalID, map[string]any{"Version": fmt.Sprint(version)}, nil
}

func (m migration) migrate(ctx context.Context) (int64, error) {
	if err := m.await(ctx); err != nil {
		return 0, err
	}
	if err := m.schema.Migrate(ctx, m.db); err != nil {
		return 0, err
	}
	current, newest, err := m.schema.Version(ctx, m.db)
	if err != nil {
		return 0, err
	}
	// A database that is ahead was migrated by a newer version of the code, of which this is the rollback.
	if current < newest {
		return 0, fmt.Errorf("the schema has version %d after migrating, expected %d", current, newest)
	}
	return current, nil
}

// await checks the server's settings, and as long as there is no server and time is left, looks again.
func (m migration) await(ctx context.Context) error {
	for {
		err := sqltx.CheckServer(ctx, m.db)
		if err == nil || !sqltx.Unavailable(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the database could not be reached in time: %w", err)
		case <-time.After(pause):
		}
	}
}

// short cuts an error's text to what CloudFormation takes.
func short(err error) error {
	if text := err.Error(); len(text) > maxReason {
		return fmt.Errorf("%s (cut off here)", text[:maxReason])
	}
	return err
}
