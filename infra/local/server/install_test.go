package server

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestEnsureInstalledSaysNothingWhereAllIsThere(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := EnsureInstalled(t.Context(), &out); err != nil || out.Len() != 0 {
		t.Fatalf("%v, output %q", err, out.String())
	}
}

func TestEachMissingProgramNamesItsPackageOnce(t *testing.T) {
	t.Parallel()
	without := func(absent ...string) func(string) (string, error) {
		return func(name string) (string, error) {
			if slices.Contains(absent, name) {
				return "", ErrNotInstalled
			}
			return "/usr/bin/" + name, nil
		}
	}
	for _, c := range []struct{ absent, want []string }{
		{nil, nil},
		{[]string{"redis-server"}, []string{"redis-server"}},
		{[]string{"mariadbd"}, []string{"mariadb-server"}},
		{[]string{"mariadbd", "mariadb-install-db"}, []string{"mariadb-server"}},
		{[]string{"redis-server", "mariadbd", "mariadb-install-db"}, []string{"redis-server", "mariadb-server"}},
	} {
		if got := missing(without(c.absent...)); !slices.Equal(got, c.want) {
			t.Errorf("without %v: packages %v, want %v", c.absent, got, c.want)
		}
	}
}

func TestMissingProgramIsReportedWithWhatToDo(t *testing.T) {
	t.Parallel()
	_, err := find("no-such-server")
	if !errors.Is(err, ErrNotInstalled) {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{"no-such-server", "apt-get install", "brew install redis mariadb", "dnf install", "--redis", "--mysql"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the message lacks %q:\n%v", want, err)
		}
	}
}
