package api

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"testing"

	"holdfast/shared/edge"
	"holdfast/shared/fault"
)

// sub is the deployment's claims unless a test says otherwise.
var sub = edge.Claims{UserID: "sub", Operator: "scope"}

// forms writes one request in every form in which a gateway may hand it over.
func forms(method, path, body string, claims map[string]any, params map[string]string) map[string]string {
	encoded := base64.StdEncoding.EncodeToString([]byte(body))
	text := func(v any) string {
		b, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		return string(b)
	}
	type object = map[string]any
	two := func(body string, base64 bool) string {
		return text(object{"version": "2.0", "rawPath": path, "rawQueryString": "limit=5&cursor=a%2Cb", "isBase64Encoded": base64,
			"headers": object{"idempotency-key": "k1", "content-type": "application/json"}, "body": body, "pathParameters": params,
			"requestContext": object{"requestId": "gw-1", "http": object{"method": method, "path": path},
				"authorizer": object{"jwt": object{"claims": claims}}}})
	}
	one := func(body string, base64 bool, authorizer object, extra object) string {
		e := object{"httpMethod": method, "path": path, "isBase64Encoded": base64, "body": body, "pathParameters": params,
			"requestContext": object{"requestId": "gw-1", "authorizer": authorizer}}
		for name, value := range extra {
			e[name] = value
		}
		return text(e)
	}
	single := object{"headers": object{"Idempotency-Key": "k1", "CONTENT-TYPE": "application/json"},
		"queryStringParameters": object{"limit": "5", "cursor": "a,b"}}
	many := object{"headers": nil, "queryStringParameters": nil,
		"multiValueHeaders":               object{"IDEMPOTENCY-KEY": []string{"k1"}, "Content-type": []string{"application/json"}},
		"multiValueQueryStringParameters": object{"limit": []string{"5"}, "cursor": []string{"a,b"}}}
	return map[string]string{
		"2.0":                          two(body, false),
		"2.0 base64":                   two(encoded, true),
		"1.0 of a REST API":            one(body, false, object{"claims": claims}, single),
		"1.0 of an HTTP API":           one(body, false, object{"jwt": object{"claims": claims}}, object{"version": "1.0", "headers": single["headers"], "queryStringParameters": single["queryStringParameters"]}),
		"1.0 base64":                   one(encoded, true, object{"claims": claims}, single),
		"1.0 with several-values only": one(body, false, object{"claims": claims}, many),
	}
}

func TestEveryFormOfAnEventReadsAsTheSameRequest(t *testing.T) {
	t.Parallel()
	const body = `{"ticketType":"标准","quantity":2}`
	claims := map[string]any{"sub": "u1", "scope": "a operator.read"}
	for name, payload := range forms("POST", "/v1/activities/a-1/reservations", body, claims, map[string]string{"activityId": "a-1"}) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := decode([]byte(payload))
			if err != nil {
				t.Fatal(err)
			}
			if r.Method != "POST" || r.Path != "/v1/activities/a-1/reservations" || string(r.Body) != body || r.ID != "gw-1" {
				t.Errorf("read %s %s %q id %s", r.Method, r.Path, r.Body, r.ID)
			}
			if got := r.Header("idempotency-KEY"); got != "k1" {
				t.Errorf("the key is %q", got)
			}
			if r.Param("activityId") != "a-1" {
				t.Errorf("the path's parameter is %q", r.Param("activityId"))
			}
			q := r.Query()
			if q.Limit() != 5 || q.Text("cursor") != "a,b" || q.Finish() != nil {
				t.Errorf("the query is %v", r.query)
			}
			if user, err := r.userID(sub); user != "u1" || err != nil {
				t.Errorf("the user is %q, %v", user, err)
			}
			if _, err := r.Fields(); err != nil {
				t.Errorf("the body: %v", err)
			}
		})
	}
}

func TestWhatIsNoEventIsAnError(t *testing.T) {
	t.Parallel()
	for name, payload := range map[string]string{
		"no JSON": `{`, "a list": `[]`, "another event": `{"Records":[]}`, "broken base64": `{"version":"2.0","body":"%","isBase64Encoded":true,"requestContext":{"http":{"method":"GET"}}}`,
	} {
		if r, err := decode([]byte(payload)); err == nil {
			t.Errorf("%s: read as %+v", name, r)
		}
	}
}

func TestOnlyAUsableVerifiedClaimIsAUser(t *testing.T) {
	t.Parallel()
	long := make([]byte, 129)
	for i := range long {
		long[i] = 'a'
	}
	for name, c := range map[string]struct {
		claims map[string]any
		want   string
	}{
		"no authorizer":           {nil, ""},
		"no such claim":           {map[string]any{"username": "u1"}, ""},
		"empty":                   {map[string]any{"sub": ""}, ""},
		"a space":                 {map[string]any{"sub": " "}, ""},
		"a space before":          {map[string]any{"sub": " u1"}, ""},
		"a space behind":          {map[string]any{"sub": "u1 "}, ""},
		"a control character":     {map[string]any{"sub": "u\n1"}, ""},
		"beyond ASCII":            {map[string]any{"sub": "ü1"}, ""},
		"too long":                {map[string]any{"sub": string(long)}, ""},
		"a number":                {map[string]any{"sub": json.Number("0")}, ""},
		"a list":                  {map[string]any{"sub": []any{"u1"}}, ""},
		"null":                    {map[string]any{"sub": nil}, ""},
		"one character":           {map[string]any{"sub": "#"}, "#"},
		"as long as can be":       {map[string]any{"sub": string(long[:128])}, string(long[:128])},
		"with a space in between": {map[string]any{"sub": "auth0|a b"}, "auth0|a b"},
	} {
		user, err := (&Request{claims: c.claims}).userID(sub)
		if user != c.want || (c.want == "") != (fault.Of(err) == fault.Unauthenticated) {
			t.Errorf("%s: user %q, %v", name, user, err)
		}
	}
}

func TestTheConfiguredClaimNamesTheUser(t *testing.T) {
	t.Parallel()
	r := &Request{claims: map[string]any{"sub": "u1", "cognito:username": "u2"}}
	if user, err := r.userID(edge.Claims{UserID: "cognito:username"}); user != "u2" || err != nil {
		t.Errorf("user %q, %v", user, err)
	}
}

func TestOperatorClaimsInEveryFormAllowWhatTheySay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		claim  any
		method string
		code   fault.Code
	}{
		{"operator", http.MethodPost, ""},
		{"openid operator profile", http.MethodPost, ""},
		{[]any{"x", "operator"}, http.MethodDelete, ""},
		{"[x operator]", http.MethodPost, ""},
		{"x,operator", http.MethodPost, ""},
		{`["operator"]`, http.MethodPost, ""},
		{"operator.read", http.MethodGet, ""},
		{"operator.read", http.MethodPost, fault.Forbidden},
		{"operators", http.MethodGet, fault.Forbidden},
		{"not-operator", http.MethodGet, fault.Forbidden},
		{"Operator", http.MethodGet, fault.Forbidden},
		{"operator.reader", http.MethodGet, fault.Forbidden},
		{true, http.MethodGet, fault.Forbidden},
		{nil, http.MethodGet, fault.Forbidden},
	} {
		r := &Request{Method: c.method, claims: map[string]any{"sub": "op", "scope": c.claim}}
		if _, err := r.operator(sub); err != nil && fault.Of(err) != c.code || err == nil && c.code != "" {
			t.Errorf("%v %s: %v, want %q", c.claim, c.method, err, c.code)
		}
	}
	if _, err := (&Request{Method: http.MethodGet, claims: map[string]any{"scope": "operator"}}).operator(sub); fault.Of(err) != fault.Unauthenticated {
		t.Errorf("an operator without a name: %v", err)
	}
}

func TestKeysAreOneTo255PrintableCharacters(t *testing.T) {
	t.Parallel()
	long := make([]byte, 256)
	for i := range long {
		long[i] = 'k'
	}
	for key, want := range map[string]fault.Code{
		"": fault.IdempotencyKeyMissing, "k": "", "a b": "", string(long[:255]): "", string(long): fault.ValidationFailed,
		"k\u00fc": fault.ValidationFailed, "k\x01": fault.ValidationFailed,
	} {
		r := &Request{headers: map[string]string{"idempotency-key": key}}
		if _, err := r.idempotencyKey(); fault.Of(err) != want {
			t.Errorf("%q: %v, want %q", key, err, want)
		}
	}
}

func TestOnlyACleanRequestIDOfAClientIsEchoed(t *testing.T) {
	t.Parallel()
	for sent, want := range map[string]string{"abc-1": "abc-1", "": "gw", "a b": "gw", "a\nb": "gw", "<x>": "gw", "é": "gw"} {
		payload, _ := json.Marshal(map[string]any{"version": "2.0", "headers": map[string]string{"X-Request-ID": sent},
			"requestContext": map[string]any{"requestId": "gw", "http": map[string]string{"method": "GET"}}})
		r, err := decode(payload)
		if err != nil || r.ID != want {
			t.Errorf("%q: id %q, %v", sent, r.ID, err)
		}
	}
}
