package drill

import (
	"fmt"
	"io"
	"net"
	"testing"
	"time"
)

// echo serves a listener that sends back what it gets.
func echo(t *testing.T) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.Copy(c, c)
			}()
		}
	}()
	return listener.Addr().String()
}

// call sends a word and expects it back within half a second.
func call(address string) error {
	c, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(500 * time.Millisecond)); err != nil {
		return err
	}
	if _, err := io.WriteString(c, "ping"); err != nil {
		return err
	}
	answer := make([]byte, 4)
	if _, err := io.ReadFull(c, answer); err != nil {
		return err
	}
	if string(answer) != "ping" {
		return fmt.Errorf("answer %q", answer)
	}
	return nil
}
