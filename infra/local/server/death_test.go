package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// envParent makes the test binary play the parent in TestServersDieWithAKilledParent.
const envParent = "HOLDFAST_TEST_PLAYS_PARENT"

func TestMain(m *testing.M) {
	if os.Getenv(envParent) != "" {
		if err := playParent(); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// playParent starts one of each, prints "scratch folder, process ids" and waits to be killed. Collections and many
// ending goroutines in between show whether something holds on to threads, locks and pipes.
func playParent() error {
	dir, _, err := Scratch()
	if err != nil {
		return err
	}
	cache, err := Redis(context.Background(), RedisOptions{Dir: filepath.Join(dir, "redis")})
	if err != nil {
		return err
	}
	db, err := MariaDB(context.Background(), MariaDBOptions{Dir: filepath.Join(dir, "mariadb")})
	if err != nil {
		return err
	}
	for range 50 {
		ended := make(chan bool)
		go func() {
			runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
			close(ended)
		}()
		<-ended
	}
	runtime.GC()
	runtime.GC()
	_, release, err := Scratch() // sweeps, and must spare ours
	if err != nil {
		return err
	}
	release()
	time.Sleep(300 * time.Millisecond)
	if _, err := os.Stat(dir); err != nil || !cache.Running() || !db.Running() {
		return fmt.Errorf("something did not live: folder %v, redis %v, mariadb %v", err, cache.Running(), db.Running())
	}
	fmt.Println(dir, cache.PID(), db.PID())
	select {}
}

func TestServersDieWithAKilledParentAndTheirFolderVanishes(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	parent := exec.CommandContext(t.Context(), self)
	parent.Env = append(os.Environ(), envParent+"=1")
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	fields := strings.Fields(line)
	if err != nil || len(fields) != 3 {
		t.Fatalf("the parent said %q, %v", line, err)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()
	for _, f := range fields[1:] {
		pid, err := strconv.Atoi(f)
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, "the server with process id "+f+" ends", func() bool { return !processRuns(pid) })
	}
	eventually(t, "the folder "+fields[0]+" vanishes", func() bool {
		_, err := os.Stat(fields[0])
		return errors.Is(err, fs.ErrNotExist)
	})
}

// processRuns leaves out the dead that nobody has waited for yet, where the system shows them.
func processRuns(pid int) bool {
	if !processLives(pid) {
		return false
	}
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err != nil || !strings.Contains(string(status), ") Z ")
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it never came that %s", what)
		}
	}
}
