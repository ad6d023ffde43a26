// Package lua holds the scripts that run inside Redis. Each moves stock, or reads it, in one step that nobody else can interrupt:
// it checks everything, then writes, and its writes cannot fail. README.md lists them; exactly one method of package stock runs
// each of them. The header of a script is its contract, and lua_test.go holds it against the script's text and its caller.
package lua
