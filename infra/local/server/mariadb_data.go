package server

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// initName is the file of statements that the server runs before it lets anyone in.
const initName = "init.sql"

// socketLimit is the longest unix socket path that Linux (107) and macOS (103) both take.
const socketLimit = 103

// installData fills the data folder unless it is there. It is filled under another name first, so that an interrupted
// installation is never taken for a whole one.
func installData(ctx context.Context, dir, data string) error {
	if err := os.MkdirAll(filepath.Join(dir, "tmp"), 0o700); err != nil {
		return fmt.Errorf("mariadbd: %w", err)
	}
	if _, err := os.Stat(data); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	program, err := find("mariadb-install-db")
	if err != nil {
		return err
	}
	fresh := data + ".new"
	if err := os.RemoveAll(fresh); err != nil {
		return fmt.Errorf("mariadb-install-db: %w", err)
	}
	args := []string{
		"--no-defaults", "--datadir=" + fresh, "--tmpdir=" + filepath.Join(dir, "tmp"),
		"--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve", innodbLog,
	}
	cmd := exec.CommandContext(ctx, program, append(args, asCurrentUser()...)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("mariadb-install-db: %w; it said:\n%s", errors.Join(ctx.Err(), err), out)
	}
	if err := os.Rename(fresh, data); err != nil {
		return fmt.Errorf("mariadb-install-db: %w", err)
	}
	return nil
}

// asCurrentUser is needed by root only, as whom MariaDB refuses to run unless told to.
func asCurrentUser() []string {
	if os.Geteuid() == 0 {
		return []string{"--user=root"}
	}
	return nil
}

// writeInit writes the init file and returns the password that it sets, which is made once per folder. The statements
// may run at every start. Only root over the socket and our own user can log in.
func writeInit(dir string) (password string, err error) {
	path := filepath.Join(dir, "password")
	kept, err := os.ReadFile(path)
	switch {
	case err == nil:
		password = strings.TrimSpace(string(kept))
	case errors.Is(err, fs.ErrNotExist):
		password = rand.Text()
		if err := os.WriteFile(path, []byte(password+"\n"), 0o600); err != nil {
			return "", err
		}
	default:
		return "", err
	}
	// The server reads one statement per line.
	statements := strings.Join([]string{
		"FLUSH PRIVILEGES;",
		"DELETE FROM mysql.global_priv WHERE NOT (User = 'root' AND Host = 'localhost') AND User NOT IN ('mariadb.sys', '" + mariaUser + "');",
		"FLUSH PRIVILEGES;",
		"ALTER USER 'root'@'localhost' IDENTIFIED BY '" + password + "';",
		"CREATE USER IF NOT EXISTS '" + mariaUser + "'@'127.0.0.1';",
		"ALTER USER '" + mariaUser + "'@'127.0.0.1' IDENTIFIED BY '" + password + "';",
		"GRANT ALL PRIVILEGES ON *.* TO '" + mariaUser + "'@'127.0.0.1';",
		// Without this right, SET GLOBAL read_only by root makes the server read-only for us, as a replica is.
		"REVOKE READ_ONLY ADMIN ON *.* FROM '" + mariaUser + "'@'127.0.0.1';",
		"CREATE DATABASE IF NOT EXISTS " + Database + ";",
	}, "\n") + "\n"
	return password, os.WriteFile(filepath.Join(dir, initName), []byte(statements), 0o600)
}

// socketPath stays within the limit: in the server's folder where that is short, else in the temporary folder under a
// name that is the same at every start.
func socketPath(dir string) string {
	path := filepath.Join(dir, "s.sock")
	if len(path) <= socketLimit {
		return path
	}
	sum := sha256.Sum256([]byte(dir))
	return filepath.Join(os.TempDir(), "holdfast-"+hex.EncodeToString(sum[:8])+".sock")
}
