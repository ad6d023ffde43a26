package drill

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"

	"holdfast/infra/local/server"
)

// wire is a connection between the functions and one server that can be cut and garbled. Its address stays the same.
type wire struct {
	name  string
	proxy *toxiproxy.Proxy
}

// wires makes proxies; they share what toxiproxy wants to have around.
var wires = toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())

// openWire listens on a port outside of those that outgoing connections get, so that it is still ours after a cut.
func openWire(name, upstream string) (*wire, error) {
	port, err := server.FreePort()
	if err != nil {
		return nil, err
	}
	w := &wire{name: name, proxy: toxiproxy.NewProxy(wires, name, net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), upstream)}
	return w, w.proxy.Start()
}

// addr is what clients are told.
func (w *wire) addr() string { return w.proxy.Listen }

// cut ends every connection and refuses new ones, as a machine does on which nothing listens.
func (w *wire) cut() { w.proxy.Stop() }

// reset ends every connection; new ones can be made at once.
func (w *wire) reset() error {
	w.proxy.Stop()
	return w.proxy.Start()
}

// swallow lets nothing through that runs in a direction, on a share of the connections, without ending them: towards the server
// ("upstream") calls vanish, towards the client ("downstream") answers.
func (w *wire) swallow(direction string, share float64) error {
	toxic := fmt.Sprintf(`{"name":%q,"type":"timeout","stream":%q,"toxicity":%g,"attributes":{"timeout":0}}`, direction, direction, share)
	if _, err := w.proxy.Toxics.AddToxicJson(strings.NewReader(toxic)); err != nil {
		return fmt.Errorf("wire %s: %w", w.name, err)
	}
	return nil
}

// mend undoes whatever was done. Connections that suffered are ended.
func (w *wire) mend(ctx context.Context) error {
	w.proxy.Stop()
	w.proxy.Toxics.ResetToxics(ctx)
	return w.proxy.Start()
}
