// Package alert notes what a person should look at: one row per kind and subject, counted when it is raised again, and shown to
// operators until one of them takes note. An alert only tells; whatever it speaks of is left as it is.
package alert
