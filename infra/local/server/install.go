package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// searched are folders of server programs that are often not in a user's PATH.
var searched = []string{
	"/usr/sbin", "/usr/local/sbin", "/usr/libexec", "/usr/bin", "/usr/local/bin",
	"/opt/homebrew/bin", "/opt/homebrew/opt/mariadb/bin", "/usr/local/opt/mariadb/bin",
}

// programs are what must be there, with the Debian package that brings each.
var programs = []struct{ name, debian string }{
	{"redis-server", "redis-server"},
	{"mariadbd", "mariadb-server"},
	{"mariadb-install-db", "mariadb-server"},
}

// ErrNotInstalled says that a server program is missing on this machine.
var ErrNotInstalled = errors.New("not installed")

// find returns the absolute path of a program, from PATH or the folders that servers live in.
func find(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return filepath.Abs(path)
	}
	for _, dir := range searched {
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s is %w: %s", name, ErrNotInstalled, advice)
}

const advice = `install Redis 7 and MariaDB 10.11 or later:
  Debian, Ubuntu  apt-get install redis-server mariadb-server
  macOS           brew install redis mariadb
  Fedora, RHEL    dnf install redis mariadb-server
or attach to servers that run already: --redis ADDR --mysql DSN`

// EnsureInstalled makes sure that redis-server and mariadbd are on this machine. Where apt-get exists and we may use it
// (as root, or by a sudo that asks no password) missing ones are installed, with apt's output going to out. A service
// that apt starts on its own is neither used nor stopped. Otherwise the error, an ErrNotInstalled, says what to install.
func EnsureInstalled(ctx context.Context, out io.Writer) error {
	packages := missing(find)
	if len(packages) == 0 {
		return nil
	}
	prefix, ok := aptPrefix(ctx)
	if !ok {
		return fmt.Errorf("%s: %w and cannot be installed from here: %s", strings.Join(packages, ", "), ErrNotInstalled, advice)
	}
	fmt.Fprintf(out, "Installing %s with apt-get.\n", strings.Join(packages, " and "))
	install := append([]string{"apt-get", "install", "-y", "--no-install-recommends"}, packages...)
	if apt(ctx, out, prefix, install) != nil {
		// The package lists may be old or empty, as in a fresh container.
		if err := apt(ctx, out, prefix, []string{"apt-get", "update"}); err != nil {
			return fmt.Errorf("apt-get update: %w; %s", err, advice)
		}
		if err := apt(ctx, out, prefix, install); err != nil {
			return fmt.Errorf("apt-get install: %w; %s", err, advice)
		}
	}
	if packages = missing(find); len(packages) > 0 {
		return fmt.Errorf("%s: still %w after apt-get install: %s", strings.Join(packages, ", "), ErrNotInstalled, advice)
	}
	return nil
}

// missing returns the Debian packages of the programs that are not found, each once.
func missing(find func(string) (string, error)) []string {
	var packages []string
	for _, p := range programs {
		if _, err := find(p.name); err == nil {
			continue
		}
		if len(packages) == 0 || packages[len(packages)-1] != p.debian {
			packages = append(packages, p.debian)
		}
	}
	return packages
}

// aptPrefix returns what stands before apt-get, nothing for root, and whether we can use it at all.
func aptPrefix(ctx context.Context) (prefix []string, ok bool) {
	if runtime.GOOS != "linux" {
		return nil, false
	}
	if _, err := exec.LookPath("apt-get"); err != nil {
		return nil, false
	}
	if os.Geteuid() == 0 {
		return nil, true
	}
	sudo := []string{"sudo", "-n"}
	return sudo, exec.CommandContext(ctx, sudo[0], sudo[1], "true").Run() == nil
}

func apt(ctx context.Context, out io.Writer, prefix, args []string) error {
	// Set by env, since sudo drops the environment.
	line := append(append(prefix[:len(prefix):len(prefix)], "env", "DEBIAN_FRONTEND=noninteractive"), args...)
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	cmd.Stdout, cmd.Stderr = out, out
	return cmd.Run()
}
