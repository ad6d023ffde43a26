package server

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
)

// scratchRoom is how many bytes a folder in memory must have free before it is preferred to the disk.
const scratchRoom = 2 << 30

// Scratch makes an empty folder for the data of servers that need not outlive this process: in memory (/dev/shm) where
// there is room, else in the temporary folder. release removes it. A process that ends without calling release leaves a
// shell behind that does; should that fail too, the next call of Scratch on this machine sweeps the folder away, which it
// recognises by a lock that died with its owner.
func Scratch() (dir string, release func(), err error) {
	base := filepath.Join(scratchBase(), "holdfast-"+strconv.Itoa(os.Getuid()))
	if err := os.MkdirAll(base, 0o700); err != nil {
		return "", nil, fmt.Errorf("scratch folder: %w", err)
	}
	// Making and sweeping folders exclude each other, so that none is swept between its making and its locking.
	gate, err := lockFile(filepath.Join(base, "lock"), syscall.LOCK_EX)
	if err != nil {
		return "", nil, fmt.Errorf("scratch folder: %w", err)
	}
	defer gate.Close()
	sweep(base)
	dir, err = os.MkdirTemp(base, "")
	if err != nil {
		return "", nil, fmt.Errorf("scratch folder: %w", err)
	}
	lock, err := lockFile(filepath.Join(dir, "lock"), syscall.LOCK_EX|syscall.LOCK_NB)
	if err != nil {
		return "", nil, fmt.Errorf("scratch folder: %w", err)
	}
	// The servers below die in the same moment as we do; the second gives them the time to.
	dismiss, err := afterDeath(`sleep 1; rm -rf -- "$1"`, dir)
	if err != nil {
		_ = lock.Close()
		return "", nil, fmt.Errorf("scratch folder: %w", err)
	}
	held.Store(lock, nil)
	return dir, sync.OnceFunc(func() {
		_ = os.RemoveAll(dir)
		_ = lock.Close()
		held.Delete(lock)
		dismiss()
	}), nil
}

func scratchBase() string {
	const memory = "/dev/shm"
	var fs syscall.Statfs_t
	if syscall.Statfs(memory, &fs) == nil && uint64(fs.Bavail)*uint64(fs.Bsize) >= scratchRoom {
		return memory
	}
	return os.TempDir()
}

// sweep removes the folders whose owners are dead: nobody holds their lock.
func sweep(base string) {
	entries, err := os.ReadDir(base)
	if err != nil {
		return
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		dir := filepath.Join(base, e.Name())
		lock, err := lockFile(filepath.Join(dir, "lock"), syscall.LOCK_EX|syscall.LOCK_NB)
		if err != nil {
			continue
		}
		_ = os.RemoveAll(dir)
		_ = lock.Close()
	}
}

// lockFile opens the file, making it when needed, and takes an flock that ends with the file's Close or our death.
func lockFile(path string, how int) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), how); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return f, nil
}
