// Package fault is the closed list of what can be refused or go wrong, by the codes that clients see.
//
// A fault has a code, a sentence for developers, and the members that its code adds to the answer. It knows no HTTP and no
// AWS: the edge turns codes into status numbers by one table, and a test walks every constant of this package to see that
// none is missing there. Whether asking again makes sense is a property of the code, not of the carrier, so it stands here.
package fault
