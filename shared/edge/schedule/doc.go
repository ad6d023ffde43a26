// Package schedule is woken by a clock: an event comes in, one bounded pass of a job runs, its summary goes out as JSON. A pass may
// be repeated and may run beside itself, since schedules fire at least once.
package schedule
