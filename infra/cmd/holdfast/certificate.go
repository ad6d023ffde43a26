package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"holdfast/infra/operator"
	"holdfast/shared/reconcile/certificate"
)

// operatorFlags say which system is asked, and by whom.
type operatorFlags struct {
	DataDir string `default:".holdfast" help:"Data folder of the running local stack that is asked." type:"path"`
	API     string `help:"URL of another system's API, instead of a local stack." placeholder:"URL"`
	Token   string `help:"Bearer token of an operator, for --api." env:"HOLDFAST_OPERATOR_TOKEN"`
	JSON    bool   `help:"Print the answer as it came."`
}

func (f operatorFlags) client(ctx context.Context) (*operator.Client, error) {
	if f.API == "" {
		return operator.OfStack(ctx, f.DataDir)
	}
	if f.Token == "" {
		return nil, errors.New("--api needs --token, or HOLDFAST_OPERATOR_TOKEN")
	}
	return operator.New(f.API, f.Token), nil
}

// certificateCommand prints an activity's certificate.
type certificateCommand struct {
	Activity string        `arg:"" help:"Id of the activity."`
	Latest   bool          `help:"The one that was made last, instead of a new one."`
	Patience time.Duration `default:"10m" help:"How long to wait for one that is made in the background."`
	operatorFlags
}

// Run implements the command. The status is 1 when the verdict is FAIL.
func (c *certificateCommand) Run(ctx context.Context) error {
	client, err := c.client(ctx)
	if err != nil {
		return err
	}
	got, body, err := client.Certificate(ctx, c.Activity, c.Latest, c.Patience)
	if err != nil {
		return err
	}
	if c.JSON {
		_, err = fmt.Println(string(body))
	} else {
		err = operator.PrintCertificate(os.Stdout, got)
	}
	if err == nil && got.Verdict != certificate.Pass {
		return exitStatus(1)
	}
	return err
}
