package testenv

import (
	"net"
	"strconv"
	"sync"
	"testing"
	"time"

	"holdfast/infra/local/server"
)

// TCPProxy stands between a client and a server and makes the network fail on demand. It fails in both protocols alike: an
// answer is what the server sends after a chunk from the client. Every setting takes effect at once, on open connections
// too, and may be changed from any goroutine.
type TCPProxy struct {
	// Addr is what the client connects to; it stays the same over Down and Up.
	Addr string

	t        testing.TB
	upstream string
	mu       sync.Mutex
	listener net.Listener
	links    map[*link]bool
	rules    rules
	answers  int
	cuts     int
}

type rules struct {
	dropEvery int
	delay     time.Duration
	cutAfter  func([]byte) bool
	cutBefore func([]byte) bool
}

// Proxy starts a proxy in front of the server at the address ("127.0.0.1:port"). It ends with the test.
func Proxy(t testing.TB, upstreamAddr string) *TCPProxy {
	t.Helper()
	p := &TCPProxy{t: t, upstream: upstreamAddr, links: map[*link]bool{}}
	// A port outside the range of outgoing connections, so that it is still ours after Down.
	for range 20 {
		port, err := server.FreePort()
		if err != nil {
			t.Fatalf("testenv: proxy: %v", err)
		}
		p.Addr = "127.0.0.1:" + strconv.Itoa(port)
		if p.listen() == nil {
			t.Cleanup(p.Down)
			return p
		}
	}
	t.Fatal("testenv: proxy: found no free port")
	return nil
}

// Down cuts every connection and refuses new ones, as a server that is not running does.
func (p *TCPProxy) Down() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener != nil {
		_ = p.listener.Close()
		p.listener = nil
	}
	for l := range p.links {
		l.cut()
	}
}

// Up ends Down.
func (p *TCPProxy) Up() {
	p.t.Helper()
	if err := p.listen(); err != nil {
		p.t.Fatalf("testenv: proxy: %v", err)
	}
}

// Point sends new connections to the server at another address, and cuts those to the one before: what a client sees of a failover.
func (p *TCPProxy) Point(upstreamAddr string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.upstream = upstreamAddr
	for l := range p.links {
		l.cut()
	}
}

// DropReplies swallows every n-th answer and cuts its connection: the server did what was asked, the client does not hear
// of it. The count starts anew; 1 swallows every answer, 0 none.
func (p *TCPProxy) DropReplies(everyNth int) {
	p.set(func(r *rules) { r.dropEvery = everyNth })
}

// Delay holds every answer back for this long; an hour makes a server that hangs. 0 ends it, for held answers too.
func (p *TCPProxy) Delay(d time.Duration) {
	p.set(func(r *rules) { r.delay = d })
}

// CutAfter cuts the connection when a chunk from the client matches, after the server has received and answered it: the
// fate of a COMMIT that happened without the client knowing. nil ends it.
func (p *TCPProxy) CutAfter(matches func(chunk []byte) bool) {
	p.set(func(r *rules) { r.cutAfter = matches })
}

// CutBefore cuts the connection when a chunk from the client matches, and the server never receives it: the fate of a
// COMMIT that did not happen. nil ends it.
func (p *TCPProxy) CutBefore(matches func(chunk []byte) bool) {
	p.set(func(r *rules) { r.cutBefore = matches })
}

// Cuts is how many connections DropReplies, CutAfter and CutBefore have cut: a test asserts that its fault did happen.
func (p *TCPProxy) Cuts() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cuts
}

func (p *TCPProxy) set(change func(*rules)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(&p.rules)
	p.answers = 0
}

func (p *TCPProxy) current() rules {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.rules
}

func (p *TCPProxy) listen() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener != nil {
		return nil
	}
	l, err := net.Listen("tcp4", p.Addr)
	if err != nil {
		return err
	}
	p.listener = l
	go p.accept(l)
	return nil
}

func (p *TCPProxy) accept(l net.Listener) {
	for {
		client, err := l.Accept()
		if err != nil {
			return
		}
		go p.serve(client)
	}
}

func (p *TCPProxy) serve(client net.Conn) {
	p.mu.Lock()
	address := p.upstream
	p.mu.Unlock()
	upstream, err := net.DialTimeout("tcp4", address, 5*time.Second)
	if err != nil {
		_ = client.Close()
		return
	}
	l := &link{proxy: p, client: client, upstream: upstream, done: make(chan struct{})}
	p.mu.Lock()
	down := p.listener == nil || p.upstream != address
	p.links[l] = true
	p.mu.Unlock()
	if down {
		l.cut()
	}
	go l.requests()
	l.answers()
	p.mu.Lock()
	delete(p.links, l)
	p.mu.Unlock()
}

// countAnswer says whether this answer is one to swallow.
func (p *TCPProxy) countAnswer() (drop bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answers++
	return p.rules.dropEvery > 0 && p.answers%p.rules.dropEvery == 0
}

func (p *TCPProxy) countCut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cuts++
}
