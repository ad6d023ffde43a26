package local_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// A user id is 1 to 128 printable ASCII characters, whatever paths make of them.
func TestWalletOfEveryUserIsReached(t *testing.T) {
	stack := up(t)
	api := stack.Addresses.API
	operator := mint(t, api, "ops-1", "operator")
	for i, user := range []string{"u1", "a/b", "/", "//", "a/", "/a", "a//b", "a/top-ups/b", ".", "..", "../..", "./a", "a/../b",
		"../../../local/clock", "../x/top-ups/y", "a%b", "a%2Fb", "a?b", "a#b", "a b", "auth0|x", "a+b", `"'`, `a\b`, "a;b", "a=b&c", "{userId}",
		strings.Repeat("x/", 63) + "xx"} {
		at := api + "/ops/v1/wallets/" + url.PathEscape(user)
		status, _, text := ask(t, "POST", at+"/top-ups", operator, fmt.Sprintf(`{"reference":"r%d","amount":{"amount":"3.00","currency":"CNY"}}`, i))
		if status != http.StatusCreated {
			t.Errorf("a top-up of %q: %d %s", user, status, text)
			continue
		}
		status, _, text = ask(t, "GET", at, operator, "")
		var wallets struct {
			UserID  string
			Wallets []any
		}
		if err := json.Unmarshal([]byte(text), &wallets); err != nil || status != http.StatusOK || wallets.UserID != user || len(wallets.Wallets) != 1 {
			t.Errorf("the wallets of %q: %d %s", user, status, text)
		}
		status, _, text = ask(t, "GET", api+"/v1/wallet?currency=CNY", mint(t, api, user), "")
		if status != http.StatusOK || !strings.Contains(text, `"3.00"`) {
			t.Errorf("the own wallet of %q: %d %s", user, status, text)
		}
	}
	for path, want := range map[string]int{"/ops/v1/wallets/": 404, "/ops/v1/wallets": 404, "/ops/v1/wallets/u1/top-ups": 405, "/ops/v1/nothing": 404,
		"/v1//activities": 404, "/v1/../v1/health": 404, "/local/clock": 200, "/local/nothing": 404} {
		if status, _, text := ask(t, "GET", api+path, operator, ""); status != want {
			t.Errorf("GET %s: %d %s", path, status, text)
		}
	}
}
