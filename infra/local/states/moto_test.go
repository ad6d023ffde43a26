package states_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	motoserver "holdfast/infra/local/moto"
)

// moto is the one moto server of this test run, and the functions that it finds behind Lambda's API.
var moto struct {
	once     sync.Once
	endpoint string
	err      error
	stop     func()

	mu      sync.Mutex
	scripts map[string]*script // by the ending of the names of their functions
}

func TestMain(m *testing.M) {
	code := m.Run()
	if moto.stop != nil {
		moto.stop()
	}
	os.Exit(code)
}

// motoEndpoint starts moto's server on first use, installing it when it is missing; without it the test fails. The script's functions
// are those whose names end so.
func motoEndpoint(t *testing.T, ending string, s *script) string {
	t.Helper()
	moto.once.Do(func() {
		moto.scripts = map[string]*script{}
		moto.endpoint, moto.err = startMoto()
	})
	if moto.err != nil {
		t.Fatalf("moto_server is needed: %v", moto.err)
	}
	moto.mu.Lock()
	moto.scripts[ending] = s
	moto.mu.Unlock()
	return moto.endpoint
}

// lambdaAPI runs the functions of all scripts: moto's interpreter calls it for every task.
func lambdaAPI(w http.ResponseWriter, r *http.Request) {
	path, _ := url.PathUnescape(r.URL.EscapedPath())
	arn, isInvocation := strings.CutSuffix(strings.TrimPrefix(path, "/2015-03-31/functions/"), "/invocations")
	name := arn[strings.LastIndexByte(arn, ':')+1:]
	at := strings.LastIndexByte(name, '_')
	moto.mu.Lock()
	var s *script
	if at >= 0 {
		s = moto.scripts[name[at:]]
	}
	moto.mu.Unlock()
	payload, err := io.ReadAll(r.Body)
	if !isInvocation || s == nil || err != nil {
		http.Error(w, "no such function", http.StatusNotFound)
		return
	}
	answered(w, s.next(name[:at], payload))
}

// startMoto starts moto with its interpreter switched on. It looks for Lambda at MOTO_PORT.
func startMoto() (string, error) {
	router := httptest.NewServer(http.HandlerFunc(lambdaAPI))
	_, port, _ := strings.Cut(strings.TrimPrefix(router.URL, "http://"), ":")
	endpoint, stop, err := motoserver.Start("MOTO_PORT=" + port)
	if err != nil {
		router.Close()
		return "", err
	}
	moto.stop = func() {
		stop()
		router.Close()
	}
	answer, err := http.Post(endpoint+"/moto-api/config", "application/json", strings.NewReader(`{"stepfunctions":{"execute_state_machine":true}}`))
	if err != nil {
		return "", err
	}
	return endpoint, answer.Body.Close()
}
