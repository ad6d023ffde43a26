package trace

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"testing"
	"time"

	"github.com/aws/aws-xray-sdk-go/v2/header"
)

var errCall = errors.New("the call failed")

// TestMain stands in for the daemon's address, which a process reads once.
func TestMain(m *testing.M) {
	conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		panic(err)
	}
	received = conn
	if err := os.Setenv("AWS_XRAY_DAEMON_ADDRESS", conn.LocalAddr().String()); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

var received *net.UDPConn

// sampled is a context as the runtime client makes it.
func sampled(text string) context.Context {
	return context.WithValue(context.Background(), "x-amzn-trace-id", text) //nolint:staticcheck // the runtime client's own key
}

func TestACallOfASampledInvocationBecomesASubsegment(t *testing.T) {
	ctx := sampled("Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1;Lineage=a:0")
	if err := Call(ctx, "Redis", func(context.Context) error { return errCall }); !errors.Is(err, errCall) {
		t.Fatalf("the call's error became %v", err)
	}
	if err := received.SetReadDeadline(time.Now().Add(5 * time.Second)); err != nil {
		t.Fatal(err)
	}
	datagram := make([]byte, 4096)
	n, err := received.Read(datagram)
	if err != nil {
		t.Fatal(err)
	}
	document, isFramed := bytes.CutPrefix(datagram[:n], []byte(preamble))
	if !isFramed {
		t.Fatalf("the daemon got %q", datagram[:n])
	}
	var s subsegment
	if err := json.Unmarshal(document, &s); err != nil {
		t.Fatal(err)
	}
	if s.Name != "Redis" || s.TraceID != "1-5759e988-bd862e3fe1be46a994272793" || s.ParentID != "53995c3f42cd8ad8" || len(s.ID) != 16 ||
		s.Type != "subsegment" || !s.Fault || s.End < s.Start || s.Start < 1e9 {
		t.Errorf("the daemon got %+v", s)
	}
}

func TestWithoutASampledInvocationACallIsOnlyCalled(t *testing.T) {
	for _, text := range []string{"", "Root=1-a-b;Parent=c;Sampled=0", "Root=1-a-b;Sampled=1", "Sampled=1", "nonsense"} {
		if traceable(header.FromString(text)) {
			t.Errorf("%q counts as sampled", text)
		}
	}
	called := false
	if err := Call(context.Background(), "MySQL", func(context.Context) error { called = true; return nil }); err != nil || !called {
		t.Errorf("called %v, %v", called, err)
	}
}
