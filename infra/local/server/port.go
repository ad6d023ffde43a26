package server

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// Ports are taken from below the ranges from which Linux (32768) and macOS (49152) pick the local ports of outgoing
// connections: a server that is down for a moment must find its port free when it comes back.
const firstPort, lastPort = 15000, 31999

// FreePort returns a port of 127.0.0.1 on which nothing listens. Another process may take it before the caller does.
func FreePort() (int, error) {
	for range 200 {
		port := firstPort + rand.IntN(lastPort-firstPort+1)
		if portFree(port) {
			return port, nil
		}
	}
	return 0, errors.New("found no free port on 127.0.0.1 between " + strconv.Itoa(firstPort) + " and " + strconv.Itoa(lastPort))
}

func portFree(port int) bool {
	l, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return false
	}
	return l.Close() == nil
}
