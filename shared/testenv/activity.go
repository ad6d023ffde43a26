package testenv

import (
	"crypto/rand"
	"strings"
	"testing"
)

// ActivityID returns a new legal activity id (^[A-Za-z0-9_-]{1,64}$) that starts with the test's name, for whoever reads
// the keys. No two calls return the same, in whatever process.
func ActivityID(t testing.TB) string {
	const most, random = 64, 12
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-':
			return r
		}
		return '_'
	}, t.Name())
	name = name[:min(len(name), most-random-1)]
	return name + "-" + rand.Text()[:random]
}
