package api

import (
	"strings"
	"testing"
)

// conflicts finds patterns that could match the same path of the same method, and operations named twice.
func conflicts(routes []Route) []string {
	var found []string
	operations := make(map[string]bool)
	for i, a := range routes {
		if operations[a.Operation] {
			found = append(found, a.Operation+" names two calls")
		}
		operations[a.Operation] = true
		for _, b := range routes[:i] {
			if a.Method == b.Method && overlap(a.Path, b.Path) {
				found = append(found, a.Method+" "+a.Path+" and "+b.Path+" can match the same path")
			}
		}
	}
	return found
}

func overlap(a, b string) bool {
	x, y := strings.Split(a, "/"), strings.Split(b, "/")
	if len(x) != len(y) {
		return false
	}
	for i := range x {
		if x[i] != y[i] && !strings.HasPrefix(x[i], "{") && !strings.HasPrefix(y[i], "{") {
			return false
		}
	}
	return true
}

func TestEveryPathHasOneRoute(t *testing.T) {
	if found := conflicts(Routes); len(found) > 0 {
		t.Fatal(strings.Join(found, "\n"))
	}
}

func TestAPlantedSecondRouteIsFound(t *testing.T) {
	planted := append([]Route{{"GET", "/v1/activities/{other}", "elsewhere", "getActivity", Public}}, Routes...)
	if found := conflicts(planted); len(found) != 2 {
		t.Fatalf("want the planted path and the planted name, got %q", found)
	}
}

func TestAccessFollowsThePath(t *testing.T) {
	for _, r := range Routes {
		isOps := strings.HasPrefix(r.Path, "/ops/v1/")
		if isOps != (r.Access == Operator) {
			t.Errorf("%s %s is for %s", r.Method, r.Path, r.Access)
		}
		if isOps != (r.Function == "operate-sales") {
			t.Errorf("%s %s is answered by %s", r.Method, r.Path, r.Function)
		}
	}
}

func TestFindRouteGivesParametersOrTheMethodsThereAre(t *testing.T) {
	route, params, _, found := FindRoute("POST", "/ops/v1/activities/a-1/publication")
	if !found || route.Operation != "publishActivity" || params["activityId"] != "a-1" {
		t.Errorf("publication: %v %v %v", route, params, found)
	}
	if _, _, methods, found := FindRoute("DELETE", "/ops/v1/activities/a-1"); found || strings.Join(methods, " ") != "GET PATCH" {
		t.Errorf("DELETE of an activity: %v %v", methods, found)
	}
	for _, path := range []string{"/ops/v1/activities/", "/ops/v1/activities/a/b/c", "/ops/v1", "", "/v1/orders/"} {
		if route, _, methods, found := FindRoute("GET", path); found || methods != nil {
			t.Errorf("%q found %v %v", path, route, methods)
		}
	}
}

// The gateway decodes a path before it hands it on, so the slashes of a user id are slashes of the path.
func TestFindRouteTakesAUserIDWithSlashesForOneParameter(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{"a/b": "a/b", "/": "/", "..": "..", "a/top-ups/b": "a/top-ups/b", "a//": "a//"} {
		for suffix, c := range map[string]struct{ method, operation string }{
			"": {"GET", "readWallets"}, "/top-ups": {"POST", "topUpWallet"}, "/withdrawals": {"POST", "withdrawFromWallet"},
		} {
			route, params, _, found := FindRoute(c.method, "/ops/v1/wallets/"+path+suffix)
			if !found || route.Operation != c.operation || params["userId"] != want {
				t.Errorf("%s %s%s: %v %q %v", c.method, path, suffix, route.Operation, params["userId"], found)
			}
		}
	}
	for method, path := range map[string]string{"GET": "/ops/v1/wallets/", "POST": "/ops/v1/wallets//top-ups", "PUT": "/ops/v1/wallets/a/b"} {
		if route, params, methods, found := FindRoute(method, path); found {
			t.Errorf("%s %s: %v %v %v", method, path, route, params, methods)
		}
	}
	if _, _, methods, found := FindRoute("GET", "/ops/v1/wallets/u1/top-ups"); found || strings.Join(methods, " ") != "POST" {
		t.Errorf("a call by another method: %v %v", found, methods)
	}
}
