package edge

import (
	"errors"
	"strings"

	"github.com/go-sql-driver/mysql"
)

// Loggable writes an error for the log. The database's own sentences quote values, such as the user id of a duplicate key, so
// only their number and state stay.
func Loggable(err error) string {
	text := err.Error()
	var refusal *mysql.MySQLError
	if errors.As(err, &refusal) && refusal.Message != "" {
		text = strings.ReplaceAll(text, refusal.Message, "(message withheld)")
	}
	return text
}
