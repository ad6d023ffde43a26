package trace

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"net"
	"os"
	"sync"
	"time"

	"github.com/aws/aws-xray-sdk-go/v2/header"
)

// preamble stands before every document that the daemon gets.
const preamble = `{"format": "json", "version": 1}` + "\n"

// subsegment is a call as X-Ray's segment documents describe it; times in seconds since 1970.
type subsegment struct {
	Name      string  `json:"name"`
	ID        string  `json:"id"`
	TraceID   string  `json:"trace_id"`
	ParentID  string  `json:"parent_id"`
	Type      string  `json:"type"`
	Namespace string  `json:"namespace"`
	Start     float64 `json:"start_time"`
	End       float64 `json:"end_time"`
	Fault     bool    `json:"fault,omitempty"`
}

// daemon is the connection to the X-Ray daemon, opened at the first traced call; nil where there is none.
var daemon = sync.OnceValue(func() net.Conn {
	address := os.Getenv("AWS_XRAY_DAEMON_ADDRESS")
	if address == "" {
		return nil
	}
	conn, err := net.Dial("udp", address)
	if err != nil {
		return nil
	}
	return conn
})

// Call runs one call to another service, named as it shall stand on the service map ("Redis", "MySQL", "SQS"), and returns its
// error as it is.
func Call(ctx context.Context, service string, call func(ctx context.Context) error) error {
	h := header.FromString(headerOf(ctx))
	if !traceable(h) || daemon() == nil {
		return call(ctx)
	}
	start := time.Now()
	err := call(ctx)
	send(daemon(), h, service, start, time.Now(), err != nil)
	return err
}

// headerOf finds what Lambda said of this invocation. The runtime client puts it into the context under this very string, and in
// its environment for older programs.
func headerOf(ctx context.Context) string {
	if text, ok := ctx.Value("x-amzn-trace-id").(string); ok {
		return text
	}
	return os.Getenv("_X_AMZN_TRACE_ID")
}

// traceable says whether the invocation is sampled and a subsegment can be hung below it.
func traceable(h *header.Header) bool {
	return h.SamplingDecision == header.Sampled && h.TraceID != "" && h.ParentID != ""
}

// send writes the subsegment. A datagram that is lost is a gap in a picture, so nobody waits for it and nobody hears of it.
func send(conn net.Conn, h *header.Header, service string, start, end time.Time, failed bool) {
	var id [8]byte
	_, _ = rand.Read(id[:]) // it never fails
	document, err := json.Marshal(subsegment{Name: service, ID: hex.EncodeToString(id[:]), TraceID: h.TraceID, ParentID: h.ParentID,
		Type: "subsegment", Namespace: "remote", Start: seconds(start), End: seconds(end), Fault: failed})
	if err != nil {
		return
	}
	_, _ = conn.Write(append([]byte(preamble), document...))
}

func seconds(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }
