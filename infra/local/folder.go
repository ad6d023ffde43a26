package local

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// folderMark is a file by which a data folder is known to be ours. Whoever uses the folder holds its lock.
const folderMark = "HOLDFAST"

const markText = "Data of a local Holdfast stack. It may be deleted while no stack runs.\n"

// ErrFolderInUse is returned when another stack runs on the data folder.
var ErrFolderInUse = errors.New("a stack already runs on this data folder")

// openFolder makes the data folder its caller's alone, until the returned file is closed or the process ends, and empties it if
// asked. It refuses to empty a folder that is not a stack's, and touches nothing of one that another stack uses: ErrFolderInUse.
func openFolder(dir string, fresh bool) (*os.File, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("the data folder: %w", err)
	}
	mark := filepath.Join(dir, folderMark)
	if _, err := os.Stat(mark); fresh && len(entries) > 0 && err != nil {
		return nil, fmt.Errorf("%s holds no stack's data, so --fresh will not empty it: choose another --data-dir", dir)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("the data folder: %w", err)
	}
	lock, err := os.OpenFile(mark, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the data folder: %w", err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = lock.Close()
		return nil, fmt.Errorf("%w%s: end that one (Ctrl-C where it runs), or give another --data-dir and --port", ErrFolderInUse, runningAt(dir))
	}
	if err := clearFolder(dir, fresh, entries); err != nil {
		_ = lock.Close()
		return nil, err
	}
	return lock, os.WriteFile(mark, []byte(markText), 0o600)
}

// clearFolder removes everything but the mark, whose lock is held.
func clearFolder(dir string, fresh bool, entries []os.DirEntry) error {
	if !fresh {
		return nil
	}
	for _, entry := range entries {
		if entry.Name() == folderMark {
			continue
		}
		if err := os.RemoveAll(filepath.Join(dir, entry.Name())); err != nil {
			return fmt.Errorf("empty the data folder: %w", err)
		}
	}
	return nil
}

// runningAt says where the folder's stack serves, if it has written that yet.
func runningAt(dir string) string {
	var at Addresses
	text, err := os.ReadFile(filepath.Join(dir, AddressFile))
	if err != nil || json.Unmarshal(text, &at) != nil {
		return ""
	}
	return ", at " + at.API
}
