package testenv

import (
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// link is one connection through the proxy.
type link struct {
	proxy            *TCPProxy
	client, upstream net.Conn
	asked            atomic.Bool // the client sent something since the last answer
	doomed           atomic.Bool // the next answer is swallowed and the link cut
	once             sync.Once
	done             chan struct{}
}

func (l *link) cut() {
	l.once.Do(func() {
		close(l.done)
		_ = l.client.Close()
		_ = l.upstream.Close()
	})
}

// requests copies from client to server.
func (l *link) requests() {
	defer l.cut()
	buf := make([]byte, 64<<10)
	for {
		n, err := l.client.Read(buf)
		if n > 0 {
			r := l.proxy.current()
			if r.cutBefore != nil && r.cutBefore(buf[:n]) {
				l.proxy.countCut()
				return
			}
			if r.cutAfter != nil && r.cutAfter(buf[:n]) {
				// The cut waits for the answer: only then has the server surely taken the chunk.
				l.doomed.Store(true)
			}
			l.asked.Store(true)
			if _, err := l.upstream.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// answers copies from server to client.
func (l *link) answers() {
	defer l.cut()
	buf := make([]byte, 64<<10)
	for {
		n, err := l.upstream.Read(buf)
		if n > 0 {
			isAnswer := l.asked.Swap(false)
			if l.doomed.Load() || isAnswer && l.proxy.countAnswer() {
				l.proxy.countCut()
				return
			}
			if !l.hold() {
				return
			}
			if _, err := l.client.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// hold waits out the delay, looking up now and then whether it was changed; false when the link was cut meanwhile.
func (l *link) hold() bool {
	since := time.Now()
	for {
		left := l.proxy.current().delay - time.Since(since)
		if left <= 0 {
			return true
		}
		select {
		case <-l.done:
			return false
		case <-time.After(min(left, 10*time.Millisecond)):
		}
	}
}
