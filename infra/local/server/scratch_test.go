package server

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func scratchDir(t *testing.T) string {
	t.Helper()
	dir, release, err := Scratch()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	return dir
}

func TestSweepRemovesFoldersOfTheDeadOnly(t *testing.T) {
	t.Parallel()
	alive := scratchDir(t)
	dead := filepath.Join(filepath.Dir(alive), "dead-"+filepath.Base(alive))
	if err := os.MkdirAll(filepath.Join(dead, "data"), 0o700); err != nil {
		t.Fatal(err)
	}
	scratchDir(t)
	if _, err := os.Stat(dead); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder without an owner is still there: %v", err)
	}
	if _, err := os.Stat(alive); err != nil {
		t.Errorf("a living folder was swept: %v", err)
	}
}
