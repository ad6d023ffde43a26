package api

import (
	_ "embed"
	"regexp"
	"strings"
	"sync"
)

// languageTag is the outer form of BCP 47: subtags of up to eight letters and digits, the first one of letters. Whether a
// registry lists them is not asked: new languages need no new version of this service.
var languageTag = regexp.MustCompile(`^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8}){0,4}$`)

// timeZones lists the names of the IANA database, one a line. A function has no database of its own to ask, and a whole one
// would add half a megabyte to it; names are all that is needed, since zones are for display only.
//
//go:embed time_zones.txt
var timeZones string

var knownTimeZones = sync.OnceValue(func() map[string]bool {
	names := strings.Fields(timeZones)
	known := make(map[string]bool, len(names))
	for _, name := range names {
		known[name] = true
	}
	return known
})

// isTimeZone says whether a text names a zone, in the database's own spelling.
func isTimeZone(s string) bool { return knownTimeZones()[s] }
