package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"holdfast/infra/operator"
)

// explainCommand tells what happened to an order or a user.
type explainCommand struct {
	Order explainOrderCommand `cmd:"" help:"What happened to an order, and what happens next."`
	User  explainUserCommand  `cmd:"" help:"What happened to a user in a sale, also to one who got nothing."`
}

// explainOrderCommand tells of an order.
type explainOrderCommand struct {
	ID string `arg:"" help:"Id of the order."`
	operatorFlags
}

// Run implements the command.
func (c *explainOrderCommand) Run(ctx context.Context) error {
	client, err := c.client(ctx)
	if err != nil {
		return err
	}
	story, body, err := client.ExplainOrder(ctx, c.ID)
	return c.tell(story, body, err)
}

// explainUserCommand tells of a user.
type explainUserCommand struct {
	Activity string `arg:"" help:"Id of the activity."`
	User     string `arg:"" help:"Id of the user: the claim in their token."`
	operatorFlags
}

// Run implements the command.
func (c *explainUserCommand) Run(ctx context.Context) error {
	client, err := c.client(ctx)
	if err != nil {
		return err
	}
	story, body, err := client.ExplainUser(ctx, c.Activity, c.User)
	return c.tell(story, body, err)
}

func (f operatorFlags) tell(story *operator.Story, body json.RawMessage, err error) error {
	if err != nil {
		return err
	}
	if f.JSON {
		_, err = fmt.Println(string(body))
		return err
	}
	return operator.PrintStory(os.Stdout, story)
}
