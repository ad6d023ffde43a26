//go:build !linux

package server

import (
	"strconv"
	"syscall"
)

// dieWithParent can do nothing on systems without a parent-death signal; killAfterUs takes its place.
func dieWithParent(*syscall.SysProcAttr) {}

// killAfterUs has a shell kill the process once we are gone; dismiss sends the shell away.
func killAfterUs(pid int) (dismiss func(), err error) {
	return afterDeath(`kill -9 "$1"`, strconv.Itoa(pid))
}
