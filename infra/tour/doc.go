// Package tour holds no code, only the test that runs the README's tour as a newcomer would, line by line, against a stack.
package tour
