package edge_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"holdfast/shared/edge"
)

func TestWhatTheDatabaseQuotesNeverReachesTheLog(t *testing.T) {
	t.Parallel()
	refusal := &mysql.MySQLError{Number: 1062, SQLState: [5]byte{'2', '3', '0', '0', '0'}, Message: "Duplicate entry 'user-7' for key 'PRIMARY'"}
	other := &mysql.MySQLError{Number: 1406, Message: "Data too long for 'user-8'"}
	for name, err := range map[string]error{
		"alone":   refusal,
		"wrapped": fmt.Errorf("claiming: %w", refusal),
		"joined":  errors.Join(errors.New("first"), fmt.Errorf("%w: %w", errors.New("second"), refusal), other),
	} {
		var b strings.Builder
		edge.NewLog(&b).Warn("failed", "error", err, "function", "f")
		if strings.Contains(b.String(), "user-") || !strings.Contains(b.String(), "1062") || !strings.Contains(b.String(), `"function":"f"`) {
			t.Errorf("%s: %s", name, b.String())
		}
	}
	if text := edge.Loggable(errors.New("plain")); text != "plain" {
		t.Errorf("a plain error became %q", text)
	}
}
