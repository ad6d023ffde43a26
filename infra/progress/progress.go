// Package progress shows a person how far long work has come.
package progress

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// Bar is a bar over total steps of what is done, drawn on a terminal; on anything else that is a line which says what is begun. Its caller
// ends it by Finish.
func Bar(out io.Writer, total int, what string) *progressbar.ProgressBar {
	if file, ok := out.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		return progressbar.NewOptions(total, progressbar.OptionSetWriter(out), progressbar.OptionSetDescription(fmt.Sprintf("%-28s", what)),
			progressbar.OptionShowCount(), progressbar.OptionSetWidth(30), progressbar.OptionThrottle(200*time.Millisecond),
			progressbar.OptionOnCompletion(func() { _, _ = fmt.Fprintln(out) }))
	}
	_, _ = fmt.Fprintf(out, "%s (%d) …\n", what, total)
	return progressbar.NewOptions(total, progressbar.OptionSetWriter(io.Discard))
}
