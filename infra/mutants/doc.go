// Package mutants plants defects and demands that the tests notice each of them.
//
// A mutant is one small, believable mistake: a text of one file, which occurs there exactly once, in place of which another text
// stands. The mutated file is handed to the compiler by `go test -overlay`, embedded scripts as well as Go, so that the tree itself
// is never touched and nothing has to be put back. A mutant names the tests that must go red. They first run without any defect,
// where each must exist and pass: a test that is red anyway, or gone, would prove nothing.
//
// What becomes of a mutant:
//
//	killed     a named test failed
//	survived   all of them passed: something can break unseen, and a test is missing
//	stale      the text that it replaces is not in its file exactly once: the code went on, and the mutant did not
//	broken     it does not compile, or its tests could not run
//
// A run is sound only when every mutant was killed.
//
//	mutant.go    what a mutant is, and how its file is made
//	gotest.go    one run of go test, and what it says
//	run.go       all mutants, a few at a time
//	servers.go   the Redis and the MariaDB that all of them share
//	list*.go     the defects, by the part that they are in
package mutants
