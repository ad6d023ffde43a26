package edge

import (
	"errors"
	"io"
	"log/slog"
	"strings"

	"github.com/go-sql-driver/mysql"
)

// NewLog makes the log of a function: one JSON object a line. Errors in it are written as Loggable writes them, whoever logs them.
func NewLog(w io.Writer) *slog.Logger {
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if err, isError := a.Value.Any().(error); isError {
			a.Value = slog.StringValue(Loggable(err))
		}
		return a
	}}))
}

// Loggable writes an error for the log. The database's own sentences quote values, such as the user id of a duplicate key, so
// only their number and state stay.
func Loggable(err error) string {
	text := err.Error()
	for _, one := range refusals(err) {
		if one.Message != "" {
			text = strings.ReplaceAll(text, one.Message, "(message withheld)")
		}
	}
	return text
}

// refusals finds what a database said, in every branch of an error.
func refusals(err error) (found []*mysql.MySQLError) {
	for err != nil {
		if one, isRefusal := err.(*mysql.MySQLError); isRefusal { //nolint:errorlint // the chain is walked here, branch by branch
			return append(found, one)
		}
		if many, branches := err.(interface{ Unwrap() []error }); branches {
			for _, branch := range many.Unwrap() {
				found = append(found, refusals(branch)...)
			}
			return found
		}
		err = errors.Unwrap(err)
	}
	return found
}
