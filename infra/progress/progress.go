// Package progress shows a person how far long work has come.
package progress

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
)

// Bar is a bar over total steps of what is done; it writes to out only. Its caller ends it by Finish.
func Bar(out io.Writer, total int, what string) *progressbar.ProgressBar {
	return progressbar.NewOptions(total, progressbar.OptionSetWriter(out), progressbar.OptionSetDescription(fmt.Sprintf("%-28s", what)),
		progressbar.OptionShowCount(), progressbar.OptionSetWidth(30), progressbar.OptionThrottle(200*time.Millisecond),
		progressbar.OptionOnCompletion(func() { _, _ = fmt.Fprintln(out) }))
}
