// Package layout holds no code, only tests of how the tree is laid out: which package may import which, which folder pairs with
// which resource of the template, and how large a Lambda's main may be. Each rule has a planted violation that must be found,
// so that a rule which no longer sees anything goes red too.
package layout
