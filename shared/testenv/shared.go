package testenv

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"holdfast/infra/local/server"
)

// startLimit bounds every start of a server; tests of many packages may start theirs at the same time.
const startLimit = 2 * time.Minute

// scratch is the folder of all servers of this test process. It is never released: it vanishes with the process.
var scratch = sync.OnceValues(func() (string, error) {
	dir, _, err := server.Scratch()
	return dir, err
})

// shared starts one server for the whole test process, in the sub-folder.
func shared[T any](folder string, start func(ctx context.Context, dir string) (T, error)) func() (T, error) {
	return sync.OnceValues(func() (T, error) {
		dir, err := scratch()
		if err != nil {
			var none T
			return none, err
		}
		ctx, cancel := context.WithTimeout(context.Background(), startLimit)
		defer cancel()
		return start(ctx, filepath.Join(dir, folder))
	})
}

// ownDir is a new folder for a server of one test.
func ownDir(t testing.TB) string {
	t.Helper()
	dir, release, err := server.Scratch()
	if err != nil {
		t.Fatalf("testenv: %v", err)
	}
	t.Cleanup(release)
	return dir
}

func startContext(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), startLimit)
	t.Cleanup(cancel)
	return ctx
}
