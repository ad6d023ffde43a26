package local_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/infra/local"
)

// up starts a stack for one test.
func up(t *testing.T) *local.Stack {
	t.Helper()
	stack, err := local.Up(t.Context(), local.Options{DataDir: t.TempDir(), Out: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stack.Close)
	return stack
}

// ask sends a request and returns status, header and body.
func ask(t *testing.T, method, url, token, body string) (int, http.Header, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Idempotency-Key", "key-"+t.Name())
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, response.Header, string(text)
}

// mint asks the stack for a token.
func mint(t *testing.T, api, subject string, scopes ...string) string {
	t.Helper()
	wish, _ := json.Marshal(map[string]any{"sub": subject, "scopes": scopes})
	status, _, body := ask(t, "POST", api+"/local/tokens", "", string(wish))
	var answer struct {
		Token string `json:"token"`
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil || status != http.StatusOK {
		t.Fatalf("token: %d %s", status, body)
	}
	return answer.Token
}

func TestOnlyGenuineTokensGetIn(t *testing.T) {
	stack := up(t)
	api := stack.Addresses.API
	genuine := mint(t, api, "alice")
	parts := strings.Split(genuine, ".")
	encode := base64.RawURLEncoding.EncodeToString

	// The public key as an HMAC secret, in whatever form a server may hold it, is the classic forgery: it must not verify.
	_, _, keySet := ask(t, "GET", api+"/local/.well-known/jwks.json", "", "")
	var keys struct {
		Keys []struct{ N, E string } `json:"keys"`
	}
	if err := json.Unmarshal([]byte(keySet), &keys); err != nil || len(keys.Keys) != 1 {
		t.Fatalf("key set %s: %v", keySet, err)
	}
	modulus, err := base64.RawURLEncoding.DecodeString(keys.Keys[0].N)
	if err != nil || new(big.Int).SetBytes(modulus).BitLen() != 2048 {
		t.Fatalf("modulus: %v", err)
	}
	forged := func(secret []byte) string {
		signed := encode([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + parts[1]
		mac := hmac.New(sha256.New, secret)
		mac.Write([]byte(signed))
		return signed + "." + encode(mac.Sum(nil))
	}
	public := &rsa.PublicKey{N: new(big.Int).SetBytes(modulus), E: 65537}
	pkix, err := x509.MarshalPKIXPublicKey(public)
	if err != nil || keys.Keys[0].E != "AQAB" {
		t.Fatalf("exponent %s: %v", keys.Keys[0].E, err)
	}

	for name, token := range map[string]string{
		"none at all":              "",
		"no token":                 "nonsense",
		"alg none":                 encode([]byte(`{"alg":"none"}`)) + "." + parts[1] + ".",
		"HS256 with the key set":   forged([]byte(keySet)),
		"HS256 with the PEM":       forged(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: pkix})),
		"HS256 with the RSA's PEM": forged(pem.EncodeToMemory(&pem.Block{Type: "RSA PUBLIC KEY", Bytes: x509.MarshalPKCS1PublicKey(public)})),
		"HS256 with the DER":       forged(pkix),
		"other claims":             parts[0] + "." + encode([]byte(`{"sub":"bob","iss":"https://holdfast.local/","aud":"holdfast","exp":99999999999}`)) + "." + parts[2],
		"another stack's":          otherStacksToken(t),
	} {
		if status, _, body := ask(t, "GET", api+"/v1/orders", token, ""); status != http.StatusUnauthorized || !strings.Contains(body, `"message"`) {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
	if status, _, body := ask(t, "GET", api+"/v1/orders", genuine, ""); status != http.StatusOK {
		t.Errorf("genuine token: %d %s", status, body)
	}
	ask(t, "POST", api+"/local/clock", "", `{"advance":"48h"}`)
	if status, _, _ := ask(t, "GET", api+"/v1/orders", genuine, ""); status != http.StatusUnauthorized {
		t.Errorf("an expired token got %d", status)
	}
	if status, _, body := ask(t, "GET", api+"/v1/orders", mint(t, api, "alice"), ""); status != http.StatusOK {
		t.Errorf("a new token after the jump: %d %s", status, body)
	}
}

// otherStacksToken is well formed and signed, by a key that this stack does not have.
func otherStacksToken(t *testing.T) string {
	t.Helper()
	issuer, err := local.NewIssuer(time.Now)
	if err != nil {
		t.Fatal(err)
	}
	token, err := issuer.Mint("alice", nil)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func TestGatewayAnswersUnknownRoutesAndHugeBodiesItself(t *testing.T) {
	stack := up(t)
	if status, _, body := ask(t, "GET", stack.Addresses.API+"/v2/nothing", "", ""); status != http.StatusNotFound || body != `{"message":"Not Found"}`+"\n" {
		t.Errorf("unknown route: %d %q", status, body)
	}
	huge := strings.Repeat("x", 11<<20)
	status, _, _ := ask(t, "POST", stack.Addresses.API+"/v1/activities/a/reservations", mint(t, stack.Addresses.API, "alice"), huge)
	if status != http.StatusRequestEntityTooLarge {
		t.Errorf("11 MiB: %d", status)
	}
}

func TestTwoStacksRunSideBySideAndEndWithoutTrace(t *testing.T) {
	first, second := up(t), up(t)
	if first.Addresses.API == second.Addresses.API || first.Addresses.Redis == second.Addresses.Redis || first.Addresses.MySQL == second.Addresses.MySQL {
		t.Fatalf("the stacks share something: %+v %+v", first.Addresses, second.Addresses)
	}
	for _, stack := range []*local.Stack{first, second} {
		if status, _, body := ask(t, "GET", stack.Addresses.API+"/v1/health", "", ""); status != http.StatusOK {
			t.Errorf("health: %d %s", status, body)
		}
	}
	second.Close()
	request, _ := http.NewRequestWithContext(t.Context(), "GET", second.Addresses.API+"/v1/health", nil)
	if response, err := http.DefaultClient.Do(request); err == nil {
		response.Body.Close()
		t.Error("a closed stack still answers")
	}
	if status, _, _ := ask(t, "GET", first.Addresses.API+"/v1/health", "", ""); status != http.StatusOK {
		t.Errorf("the other stack went down too: %d", status)
	}
}

func TestADataFolderKeepsItsSaleAndItsClock(t *testing.T) {
	dir := t.TempDir()
	start := func() *local.Stack {
		stack, err := local.Up(context.Background(), local.Options{DataDir: dir, Out: io.Discard})
		if err != nil {
			t.Fatal(err)
		}
		return stack
	}
	stack := start()
	operator := mint(t, stack.Addresses.API, "olga", "operator")
	status, _, body := ask(t, "POST", stack.Addresses.API+"/ops/v1/activities", operator, draft("kept", 10))
	if status != http.StatusCreated {
		t.Fatalf("create: %d %s", status, body)
	}
	ask(t, "POST", stack.Addresses.API+"/local/clock", "", `{"advance":"72h"}`)
	text, err := os.ReadFile(filepath.Join(dir, local.AddressFile))
	if err != nil || !bytes.Contains(text, []byte(stack.Addresses.API)) {
		t.Errorf("stack.json: %s %v", text, err)
	}
	stack.Close()
	if _, err := os.Stat(filepath.Join(dir, local.AddressFile)); !os.IsNotExist(err) {
		t.Errorf("stack.json is left behind: %v", err)
	}

	stack = start()
	defer stack.Close()
	operator = mint(t, stack.Addresses.API, "olga", "operator")
	if status, _, body := ask(t, "GET", stack.Addresses.API+"/ops/v1/activities/kept", operator, ""); status != http.StatusOK {
		t.Errorf("the sale is gone: %d %s", status, body)
	}
	var clock struct{ Now time.Time }
	_, _, body = ask(t, "GET", stack.Addresses.API+"/local/clock", "", "")
	if err := json.Unmarshal([]byte(body), &clock); err != nil || time.Until(clock.Now) < 71*time.Hour {
		t.Errorf("the clock fell back: %s %v", body, err)
	}
}

func TestFreshRefusesAFolderThatIsNotAStacks(t *testing.T) {
	dir := t.TempDir()
	precious := filepath.Join(dir, "thesis.txt")
	if err := os.WriteFile(precious, []byte("years of work"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := local.Up(t.Context(), local.Options{DataDir: dir, Fresh: true, Out: io.Discard})
	if err == nil || !strings.Contains(err.Error(), "--data-dir") {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(precious); err != nil {
		t.Error("the file is gone")
	}
}

func TestASecondStackOnAFolderIsRefusedAndHarmsNothing(t *testing.T) {
	dir := t.TempDir()
	stack, err := local.Up(t.Context(), local.Options{DataDir: dir, Out: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	defer stack.Close()
	operator := mint(t, stack.Addresses.API, "olga", "operator")
	if status, _, body := ask(t, "POST", stack.Addresses.API+"/ops/v1/activities", operator, draft("precious", 10)); status != http.StatusCreated {
		t.Fatalf("create: %d %s", status, body)
	}
	for _, fresh := range []bool{false, true} {
		_, err := local.Up(t.Context(), local.Options{DataDir: dir, Fresh: fresh, Out: io.Discard})
		if !errors.Is(err, local.ErrFolderInUse) || !strings.Contains(err.Error(), stack.Addresses.API) || !strings.Contains(err.Error(), "--data-dir") {
			t.Errorf("fresh %v: error %v", fresh, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, local.AddressFile)); err != nil {
		t.Errorf("the running stack lost its stack.json: %v", err)
	}
	if status, _, body := ask(t, "GET", stack.Addresses.API+"/ops/v1/activities/precious", operator, ""); status != http.StatusOK {
		t.Errorf("the running stack lost its sale: %d %s", status, body)
	}
}

func TestFreshEmptiesAFolderOfAnEndedStack(t *testing.T) {
	dir := t.TempDir()
	stack, err := local.Up(t.Context(), local.Options{DataDir: dir, Out: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	operator := mint(t, stack.Addresses.API, "olga", "operator")
	ask(t, "POST", stack.Addresses.API+"/ops/v1/activities", operator, draft("old", 10))
	stack.Close()
	stack, err = local.Up(t.Context(), local.Options{DataDir: dir, Fresh: true, Out: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	defer stack.Close()
	operator = mint(t, stack.Addresses.API, "olga", "operator")
	if status, _, _ := ask(t, "GET", stack.Addresses.API+"/ops/v1/activities/old", operator, ""); status != http.StatusNotFound {
		t.Errorf("the old sale is still there: %d", status)
	}
}

func TestMovingTheClockAnswersTheMovedTime(t *testing.T) {
	api := up(t).Addresses.API
	var clock struct{ Now time.Time }
	_, _, body := ask(t, "POST", api+"/local/clock", "", `{"advance":"2h"}`)
	if err := json.Unmarshal([]byte(body), &clock); err != nil || time.Until(clock.Now) < time.Hour {
		t.Errorf("%s %v", body, err)
	}
}

func TestATakenPortIsNamed(t *testing.T) {
	stack := up(t)
	var port int
	if _, err := fmt.Sscanf(stack.Addresses.API, "http://127.0.0.1:%d", &port); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	_, err := local.Up(t.Context(), local.Options{Port: port, DataDir: t.TempDir(), Out: &said})
	if err == nil || !strings.Contains(err.Error(), "--port") {
		t.Errorf("error %v", err)
	}
	if strings.Contains(said.String(), "starting") {
		t.Errorf("servers were started before the port was looked at: %s", said.String())
	}
}

func TestControlsRefuseMistakesAndSayWhatThereIs(t *testing.T) {
	api := up(t).Addresses.API
	for name, c := range map[string]struct {
		method, path, body string
		status             int
		says               string
	}{
		"token for nobody":   {"POST", "/local/tokens", `{}`, 400, "sub"},
		"token, wrong field": {"POST", "/local/tokens", `{"user":"u"}`, 400, "user"},
		"clock backwards":    {"POST", "/local/clock", `{"advance":"-1h"}`, 400, "forward"},
		"clock nonsense":     {"POST", "/local/clock", `{"advance":"soon"}`, 400, "48h"},
		"pause how":          {"POST", "/local/queues/orders", `{}`, 400, "paused"},
		"unknown point":      {"POST", "/local/faults", `{"point":"moon","mode":"refuse"}`, 400, "GET /local/faults"},
		"unknown mode":       {"POST", "/local/faults", `{"point":"queue.send","mode":"sing"}`, 400, "refuse"},
		"every zero":         {"POST", "/local/faults", `{"point":"queue.send","mode":"drop","every":0}`, 400, "every"},
		"unknown schedule":   {"POST", "/local/schedules/sing", ``, 404, "compensate-orders, expire-orders, reconcile-deposits, reconcile-stock"},
		"unknown function":   {"POST", "/local/events/sing", `{}`, 404, "sing"},
		"event is no JSON":   {"POST", "/local/events/health", `{`, 400, "JSON"},
	} {
		status, _, body := ask(t, c.method, api+c.path, "", c.body)
		if status != c.status || !strings.Contains(body, c.says) {
			t.Errorf("%s: %d %s; want %d with %q", name, status, body, c.status, c.says)
		}
	}
	status, _, body := ask(t, "GET", api+"/local/faults", "", "")
	for _, point := range []string{"queue.send", "redis.reserve", "redis.release", "redis.ack"} {
		if status != 200 || !strings.Contains(body, `"`+point+`"`) {
			t.Errorf("the list of faults lacks %s: %d %s", point, status, body)
		}
	}
}

// draft is a small sale that is open for a long time.
func draft(id string, capacity int) string {
	return fmt.Sprintf(`{"activityId":%q,"kind":"TICKET","title":"A sale","currency":"CNY","opensAt":"2026-01-01T00:00:00Z",
		"closesAt":"2099-01-01T00:00:00Z","perUserLimit":4,"payWindowSeconds":900,"ticketTypes":[{"ticketType":"STANDARD","title":"Seat",
		"price":{"amount":"80.00","currency":"CNY"},"capacity":%d,"buckets":2}]}`, id, capacity)
}
