package reconcile

import (
	"context"
	"errors"
	"reflect"
)

// InTimeLeft runs a step of a pass in the time that ctx has left. A deadline that passes before the step or within it is no failure,
// since the next pass goes on; whatever else went wrong in the step is.
func InTimeLeft(ctx context.Context, step func() error) error {
	err := ctx.Err()
	if err == nil {
		if err = step(); ctx.Err() == nil {
			return err
		}
	}
	return withoutTimeUp(err)
}

// joined is the type of what errors.Join gives.
var joined = reflect.TypeOf(errors.Join(context.DeadlineExceeded))

// withoutTimeUp is what is left of an error without those of its parts that only say that a deadline has passed. Parts are what errors.Join
// has put together; an error that names several causes is one part.
func withoutTimeUp(err error) error {
	switch e := err.(type) { //nolint:errorlint // the tree is walked here, part by part
	case nil:
		return nil
	case interface{ Unwrap() []error }:
		if reflect.TypeOf(err) != joined {
			break
		}
		var left []error
		for _, part := range e.Unwrap() {
			left = append(left, withoutTimeUp(part))
		}
		return errors.Join(left...)
	case interface{ Unwrap() error }:
		if withoutTimeUp(e.Unwrap()) == nil {
			return nil
		}
		return err
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}
