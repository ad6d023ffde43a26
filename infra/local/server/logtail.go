package server

import (
	"io"
	"os"
	"strings"
)

// fileSize is 0 for a file that does not exist.
func fileSize(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// logTail returns the last lines of what was written after the offset, at most 20 lines of the last 16 KiB.
func logTail(path string, from int64) string {
	f, err := os.Open(path)
	if err != nil {
		return "(no log: " + err.Error() + ")"
	}
	defer f.Close()
	from = max(from, fileSize(path)-16<<10)
	if _, err := f.Seek(from, io.SeekStart); err != nil {
		return "(unreadable log: " + err.Error() + ")"
	}
	text, err := io.ReadAll(f)
	if err != nil {
		return "(unreadable log: " + err.Error() + ")"
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-20):], "\n")
}
