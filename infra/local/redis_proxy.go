package local

import (
	"bufio"
	"io"
	"net"
	"strings"
	"sync"
	"time"
)

// refusedInWords is what a Redis says that will not run a command now; whoever hears it knows that nothing happened.
const refusedInWords = "-LOADING the local stack refuses this call\r\n"

// redisProxy stands between processes and Redis and makes script calls fail as the faults say, as redisFaults does inside this
// process. It reads command by command: one goes to Redis, and its answer comes back, before the next is looked at.
type redisProxy struct {
	faults   *redisFaults
	listener net.Listener

	mu       sync.Mutex
	upstream string
	open     map[net.Conn]bool
	closed   bool
}

// startRedisProxy listens on a free port.
func startRedisProxy(upstream string, faults *redisFaults) (*redisProxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &redisProxy{faults: faults, listener: listener, upstream: upstream, open: make(map[net.Conn]bool)}
	go p.accept()
	return p, nil
}

// Addr is where processes find Redis.
func (p *redisProxy) Addr() string { return p.listener.Addr().String() }

// Move leads new connections to another server and cuts those to the one before.
func (p *redisProxy) Move(upstream string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.upstream = upstream
	for c := range p.open {
		_ = c.Close()
	}
}

// Close ends the proxy and its connections.
func (p *redisProxy) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	_ = p.listener.Close()
	for c := range p.open {
		_ = c.Close()
	}
}

func (p *redisProxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		go p.serve(client)
	}
}

// track notes an open connection, so that it can be cut; false when the proxy has ended.
func (p *redisProxy) track(c net.Conn) (untrack func(), ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, false
	}
	p.open[c] = true
	return func() {
		p.mu.Lock()
		delete(p.open, c)
		p.mu.Unlock()
	}, true
}

func (p *redisProxy) serve(client net.Conn) {
	defer client.Close()
	untrackClient, ok := p.track(client)
	if !ok {
		return
	}
	defer untrackClient()
	p.mu.Lock()
	upstream := p.upstream
	p.mu.Unlock()
	server, err := net.DialTimeout("tcp", upstream, time.Second)
	if err != nil {
		return
	}
	defer server.Close()
	untrackServer, ok := p.track(server)
	if !ok {
		return
	}
	defer untrackServer()
	if p.movedFrom(upstream) {
		return
	}
	fromClient, fromServer := bufio.NewReaderSize(client, 64<<10), bufio.NewReaderSize(server, 64<<10)
	toClient := bufio.NewWriterSize(client, 64<<10)
	for {
		raw, verb, first, err := readCommand(fromClient)
		if err != nil || !p.pass(raw, p.faultOf(verb, first), client, server, fromServer, toClient) {
			return
		}
		if fromClient.Buffered() > 0 {
			continue // the rest of a pipeline is answered with it
		}
		if toClient.Flush() != nil {
			return
		}
	}
}

// movedFrom says whether Redis is elsewhere by now.
func (p *redisProxy) movedFrom(upstream string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.upstream != upstream
}

// pass takes one command through, as its fault says; false ends the connection.
func (p *redisProxy) pass(raw []byte, fault string, client, server net.Conn, fromServer *bufio.Reader, toClient *bufio.Writer) bool {
	switch fault {
	case modeRefuse:
		_, err := toClient.WriteString(refusedInWords)
		return err == nil
	case modeHang:
		_ = toClient.Flush()
		_, _ = client.Read(make([]byte, 1)) // until the client gives up
		return false
	case modeLoseAnswer:
		if _, err := server.Write(raw); err == nil {
			_ = copyValue(bufio.NewWriter(io.Discard), fromServer) // it has taken effect
		}
		_ = toClient.Flush()
		return false
	}
	if _, err := server.Write(raw); err != nil {
		return false
	}
	return copyValue(toClient, fromServer) == nil
}

// faultOf asks for the fault of a command; "" lets it through.
func (p *redisProxy) faultOf(verb, first string) string {
	if !strings.EqualFold(verb, "evalsha") {
		return ""
	}
	name := p.faults.names[first]
	if name == "" {
		return ""
	}
	return string(p.faults.faults.Next("redis." + name))
}
