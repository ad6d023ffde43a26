package api

import (
	"slices"
	"strings"
	"testing"
	"time"

	_ "time/tzdata"
)

func TestCreationMakesADraftOnceAndRefusesAnotherBody(t *testing.T) {
	t.Parallel()
	w := newOpsWorld(t, "")
	body := w.draft(map[string]any{"opensAt": "2030-01-31T20:00:00.5+08:00", "closesAt": "2030-01-31T14:00:00Z", "mode": "TEST",
		"lang": "zh-CN", "timeZone": "Asia/Shanghai", "metadata": map[string]any{"n": 616581622363398143}, "refundRule": map[string]any{"from": "OPENS_AT", "steps": []any{map[string]any{"before": "PT48H", "ratio": "1"}}}})
	made := w.must(201, "POST", "/ops/v1/activities", body)
	for name, want := range map[string]any{"status": "DRAFT", "mode": "TEST", "opensAt": "2030-01-31T12:00:00.500Z",
		"closesAt": "2030-01-31T14:00:00.000Z", "currency": "CNY", "payWindowSeconds": 900.0, "revision": 1.0, "epoch": 0.0} {
		if made.body[name] != want {
			t.Errorf("%s is %v, want %v", name, made.body[name], want)
		}
	}
	if made.header["ETag"] != `"1"` || made.body["phase"] != nil || strings.Contains(made.text, "salt") {
		t.Errorf("answer %v %s", made.header, made.text)
	}
	if !strings.Contains(made.text, "616581622363398143") {
		t.Errorf("a long number in metadata was rounded: %s", made.text)
	}
	reordered := strings.Replace(body, `"2030-01-31T14:00:00Z"`, `"2030-01-31T22:00:00+08:00"`, 1)
	if again := w.call("POST", "/ops/v1/activities", reordered); again.status != 200 || again.body["revision"] != 1.0 {
		t.Errorf("the same again: %d %s", again.status, again.text)
	}
	if other := w.call("POST", "/ops/v1/activities", w.draft(nil)); other.status != 409 || other.code() != "ACTIVITY_EXISTS" {
		t.Errorf("another body: %d %s", other.status, other.text)
	}
	if w.rows("activity") != 1 || w.rows("stock_bucket") != 3 || !slices.Equal(w.audits(w.id), []string{"activity.create"}) {
		t.Errorf("rows: %d activities, %d buckets, audit %q", w.rows("activity"), w.rows("stock_bucket"), w.audits(w.id))
	}
}

func TestCreationRefusesEachBrokenRule(t *testing.T) {
	t.Parallel()
	w := newOpsWorld(t, "")
	ticket := func(changes map[string]any) []any { return []any{ticketBody(changes)} }
	price := func(amount any, currency string) []any {
		return ticket(map[string]any{"price": map[string]any{"amount": amount, "currency": currency}})
	}
	long := strings.Repeat("x", 4<<10)
	many := make([]any, 65)
	for i := range many {
		many[i] = ticketBody(map[string]any{"ticketType": "T" + strings.Repeat("x", i%9) + string(rune('a'+i/9))})
	}
	for _, c := range []struct {
		name    string
		changes map[string]any
		status  int
		first   string // pointer and code
	}{
		{"no id", map[string]any{"activityId": nil}, 400, "/activityId REQUIRED"},
		{"an empty id", map[string]any{"activityId": ""}, 422, "/activityId BAD_FORMAT"},
		{"an id with a brace", map[string]any{"activityId": "a{b}c"}, 422, "/activityId BAD_FORMAT"},
		{"an id with a space at its end", map[string]any{"activityId": "a "}, 422, "/activityId BAD_FORMAT"},
		{"an id of 65", map[string]any{"activityId": strings.Repeat("a", 65)}, 422, "/activityId BAD_FORMAT"},
		{"a number for an id", map[string]any{"activityId": 616581622363398143}, 400, "/activityId WRONG_TYPE"},
		{"an unknown field", map[string]any{"status": "PUBLISHED"}, 400, "/status UNKNOWN_FIELD"},
		{"an unknown field inside", map[string]any{"ticketTypes": ticket(map[string]any{"sold": 1})}, 400, "/ticketTypes/0/sold UNKNOWN_FIELD"},
		{"null", map[string]any{"metadata": jsonNull}, 400, "/metadata WRONG_TYPE"},
		{"an unknown kind", map[string]any{"kind": "LOTTERY"}, 422, "/kind NOT_ALLOWED"},
		{"deposit seats without terms", map[string]any{"kind": "DEPOSIT"}, 422, "/deposit REQUIRED"},
		{"a deposit that is a text", map[string]any{"deposit": "1"}, 400, "/deposit WRONG_TYPE"},
		{"an unknown mode", map[string]any{"mode": "live"}, 422, "/mode NOT_ALLOWED"},
		{"an empty title", map[string]any{"title": ""}, 422, "/title BAD_LENGTH"},
		{"a title of 201", map[string]any{"title": strings.Repeat("é", 201)}, 422, "/title BAD_LENGTH"},
		{"a title with outer space", map[string]any{"title": " x"}, 422, "/title OUTER_SPACE"},
		{"a language that is none", map[string]any{"lang": "zh_CN"}, 422, "/lang BAD_FORMAT"},
		{"an offset for a zone", map[string]any{"timeZone": "+08:00"}, 422, "/timeZone BAD_FORMAT"},
		{"a zone nobody knows", map[string]any{"timeZone": "Asia/Nowhere"}, 422, "/timeZone BAD_FORMAT"},
		{"a zone in other letters", map[string]any{"timeZone": "asia/shanghai"}, 422, "/timeZone BAD_FORMAT"},
		{"metadata that is a list", map[string]any{"metadata": []any{}}, 400, "/metadata WRONG_TYPE"},
		{"metadata beyond 4 KiB", map[string]any{"metadata": map[string]any{"x": long}}, 422, "/metadata BAD_LENGTH"},
		{"a refund rule without steps", map[string]any{"refundRule": map[string]any{"from": "OPENS_AT", "steps": []any{}}}, 422, "/refundRule BAD_RULE"},
		{"a refund rule of its own kind", map[string]any{"refundRule": map[string]any{"a": 1}}, 422, "/refundRule BAD_RULE"},
		{"a refund rule that is a text", map[string]any{"refundRule": "all"}, 400, "/refundRule WRONG_TYPE"},
		{"a time without zone", map[string]any{"opensAt": "2030-01-31T10:00:00"}, 422, "/opensAt BAD_TIME"},
		{"a day for a time", map[string]any{"opensAt": "2030-01-31"}, 422, "/opensAt BAD_TIME"},
		{"seconds for a time", map[string]any{"opensAt": 1896000000}, 400, "/opensAt WRONG_TYPE"},
		{"a window backwards", map[string]any{"opensAt": "2030-01-31T10:00:00Z", "closesAt": "2030-01-31T10:00:00Z"}, 422, "/closesAt OUT_OF_RANGE"},
		{"a limit of 0", map[string]any{"perUserLimit": 0}, 422, "/perUserLimit OUT_OF_RANGE"},
		{"a limit of 1.5", map[string]any{"perUserLimit": 1.5}, 400, "/perUserLimit WRONG_TYPE"},
		{"a limit in quotes", map[string]any{"perUserLimit": "2"}, 400, "/perUserLimit WRONG_TYPE"},
		{"a limit beyond all", map[string]any{"perUserLimit": 2147483648}, 422, "/perUserLimit OUT_OF_RANGE"},
		{"vouchers by two", map[string]any{"kind": "VOUCHER"}, 422, "/perUserLimit OUT_OF_RANGE"},
		{"vouchers of two types", map[string]any{"kind": "VOUCHER", "perUserLimit": 1,
			"ticketTypes": []any{ticketBody(nil), ticketBody(map[string]any{"ticketType": "B"})}}, 422, "/ticketTypes BAD_LENGTH"},
		{"no time to pay", map[string]any{"payWindowSeconds": 0}, 422, "/payWindowSeconds OUT_OF_RANGE"},
		{"two months to pay", map[string]any{"payWindowSeconds": 60 * 24 * 3600}, 422, "/payWindowSeconds OUT_OF_RANGE"},
		{"an unknown currency", map[string]any{"currency": "ABC"}, 422, "/currency BAD_CURRENCY"},
		{"a currency of three digits", map[string]any{"currency": "KWD"}, 422, "/currency BAD_CURRENCY"},
		{"sale tokens", map[string]any{"saleTokenRequired": true}, 422, "/saleTokenRequired NOT_SUPPORTED"},
		{"no types", map[string]any{"ticketTypes": []any{}}, 422, "/ticketTypes BAD_LENGTH"},
		{"65 types", map[string]any{"ticketTypes": many}, 422, "/ticketTypes BAD_LENGTH"},
		{"a type that is a text", map[string]any{"ticketTypes": []any{"T"}}, 400, "/ticketTypes/0 WRONG_TYPE"},
		{"the same type twice", map[string]any{"ticketTypes": []any{ticketBody(nil), ticketBody(nil)}}, 422, "/ticketTypes/1/ticketType DUPLICATE"},
		{"a type id with a slash", map[string]any{"ticketTypes": ticket(map[string]any{"ticketType": "a/b"})}, 422, "/ticketTypes/0/ticketType BAD_FORMAT"},
		{"capacity 0", map[string]any{"ticketTypes": ticket(map[string]any{"capacity": 0})}, 422, "/ticketTypes/0/capacity OUT_OF_RANGE"},
		{"65 buckets", map[string]any{"ticketTypes": ticket(map[string]any{"buckets": 65, "capacity": 100})}, 422, "/ticketTypes/0/buckets OUT_OF_RANGE"},
		{"more buckets than units", map[string]any{"ticketTypes": ticket(map[string]any{"buckets": 3, "capacity": 2})}, 422, "/ticketTypes/0/buckets OUT_OF_RANGE"},
		{"a price below zero", map[string]any{"ticketTypes": price("-1.00", "CNY")}, 422, "/ticketTypes/0/price OUT_OF_RANGE"},
		{"a price as a number", map[string]any{"ticketTypes": price(12.5, "CNY")}, 400, "/ticketTypes/0/price/amount WRONG_TYPE"},
		{"a price of one digit", map[string]any{"ticketTypes": price("12.5", "CNY")}, 422, "/ticketTypes/0/price BAD_AMOUNT"},
		{"a price with an exponent", map[string]any{"ticketTypes": price("1e3", "CNY")}, 422, "/ticketTypes/0/price BAD_AMOUNT"},
		{"yen with cents", map[string]any{"currency": "JPY", "ticketTypes": price("1250.00", "JPY")}, 422, "/ticketTypes/0/price BAD_AMOUNT"},
		{"a price in another currency", map[string]any{"ticketTypes": price("12.50", "USD")}, 422, "/ticketTypes/0/price/currency OTHER_CURRENCY"},
		{"an order beyond the column", map[string]any{"ticketTypes": price("9999999999999999.00", "CNY")}, 422, "/ticketTypes/0/price OUT_OF_RANGE"},
	} {
		got := w.call("POST", "/ops/v1/activities", w.draft(c.changes))
		if got.status != c.status || got.code() != "VALIDATION_FAILED" || !slices.Equal(got.pointers(), []string{c.first}) {
			t.Errorf("%s: %d %q, want %d %q", c.name, got.status, got.pointers(), c.status, c.first)
		}
	}
	if w.rows("activity") != 0 || w.rows("audit_log") != 0 {
		t.Errorf("%d activities, %d audit rows", w.rows("activity"), w.rows("audit_log"))
	}
}

// jsonNull stands for a null that is sent, where a nil leaves the member out.
var jsonNull = rawNull{}

type rawNull struct{}

func (rawNull) MarshalJSON() ([]byte, error) { return []byte("null"), nil }

func TestAllViolationsOfABodyComeAtOnce(t *testing.T) {
	t.Parallel()
	w := newOpsWorld(t, "")
	got := w.call("POST", "/ops/v1/activities", w.draft(map[string]any{"title": "", "perUserLimit": -1, "currency": "abc", "lang": "!",
		"ticketTypes": []any{ticketBody(map[string]any{"capacity": -1, "title": ""})}}))
	want := []string{"/currency BAD_CURRENCY", "/lang BAD_FORMAT", "/perUserLimit OUT_OF_RANGE", "/ticketTypes/0/capacity OUT_OF_RANGE",
		"/ticketTypes/0/title BAD_LENGTH", "/title BAD_LENGTH"}
	pointers := got.pointers()
	slices.Sort(pointers)
	if got.status != 422 || !slices.Equal(pointers, want) {
		t.Errorf("%d %q", got.status, pointers)
	}
	for name, c := range map[string]struct {
		body, contentType string
		status            int
	}{
		"no body":          {"", "application/json", 400},
		"not JSON":         {"{", "application/json", 400},
		"a list":           {"[]", "application/json", 400},
		"another media":    {"{}", "text/plain", 415},
		"beyond 16 KiB":    {`{"title":"` + strings.Repeat("x", 17<<10) + `"}`, "application/json", 413},
		"the same twice":   {`{"title":"a","title":"b"}`, "application/json", 400},
		"a charset at all": {"{}", "application/json; charset=utf-8", 400},
	} {
		if got := w.call("POST", "/ops/v1/activities", c.body, "Content-Type", c.contentType); got.status != c.status {
			t.Errorf("%s: %d %s, want %d", name, got.status, got.text, c.status)
		}
	}
}

func TestADraftChangesWhollyAndAPublishedSaleOnlyWhatHarmsNoBuyer(t *testing.T) {
	t.Parallel()
	w := newOpsWorld(t, "")
	w.must(201, "POST", "/ops/v1/activities", w.draft(map[string]any{"opensAt": stamp(time.Now().Add(time.Hour))}))
	if got := w.call("PATCH", w.at(""), `{"title":"x"}`); got.status != 428 || got.code() != "PRECONDITION_REQUIRED" {
		t.Errorf("without If-Match: %d %s", got.status, got.text)
	}
	for _, tag := range []string{`"2"`, `W/"1"`, `1`, `"01"`, `"1", "2"`, `*`} {
		if got := w.call("PATCH", w.at(""), `{"title":"x"}`, "If-Match", tag); got.status != 412 {
			t.Errorf("If-Match %s: %d %s", tag, got.status, got.text)
		}
	}
	all := changed(map[string]any{"kind": "VOUCHER", "title": "Vouchers", "currency": "JPY", "perUserLimit": 1, "payWindowSeconds": 60,
		"ticketTypes": []any{ticketBody(map[string]any{"price": map[string]any{"amount": "1250", "currency": "JPY"}, "buckets": 2})}}, nil)
	draft := w.must(200, "PATCH", w.at(""), all, "If-Match", `"1"`)
	if draft.header["ETag"] != `"2"` || draft.body["kind"] != "VOUCHER" || w.rows("stock_bucket") != 2 {
		t.Errorf("changed draft %v %s", draft.header, draft.text)
	}
	if got := w.call("PATCH", w.at(""), `{"perUserLimit":3}`, "If-Match", `"2"`); got.status != 422 {
		t.Errorf("a voucher by three: %d %s", got.status, got.text)
	}
	published := w.must(200, "POST", w.at("/publication"), "")
	tag := published.header["ETag"]
	got := w.call("PATCH", w.at(""), `{"kind":"TICKET","mode":"TEST","currency":"USD","payWindowSeconds":61,"lang":"en","activityId":"`+w.id+`"}`, "If-Match", tag)
	if got.status != 422 {
		t.Errorf("a published kind, mode, currency: %d %s", got.status, got.text)
	}
	later := w.must(200, "PATCH", w.at(""), `{"title":"Later","metadata":{"a":1},"opensAt":"`+stamp(time.Now().Add(-time.Minute))+
		`","closesAt":"`+stamp(time.Now().Add(48*time.Hour))+`"}`, "If-Match", tag)
	if later.body["rulesApplied"] != true || later.body["phase"] != "OPEN" {
		t.Errorf("changed sale %s", later.text)
	}
	if s := w.snapshot(); s.RulesVersion != w.activity().RulesVersion {
		t.Errorf("Redis has rules %d, MySQL %d", s.RulesVersion, w.activity().RulesVersion)
	}
	opened := w.call("PATCH", w.at(""), `{"opensAt":"`+stamp(time.Now().Add(time.Hour))+`"}`, "If-Match", later.header["ETag"])
	if opened.status != 422 || !slices.Equal(opened.pointers(), []string{"/opensAt NOT_CHANGEABLE"}) {
		t.Errorf("opening an open sale again: %d %s", opened.status, opened.text)
	}
	if got := w.call("PATCH", w.at(""), `{}`, "If-Match", later.header["ETag"]); got.status != 422 {
		t.Errorf("an empty change: %d %s", got.status, got.text)
	}
	want := []string{"activity.create", "activity.change", "activity.publish", "activity.change"}
	if got := w.audits(w.id); !slices.Equal(got, want) {
		t.Errorf("audit rows %q", got)
	}
}

func TestListsHoldDraftsAndGoByPages(t *testing.T) {
	t.Parallel()
	w := newOpsWorld(t, "")
	for _, suffix := range []string{"-a", "-b", "-c"} {
		w.must(201, "POST", "/ops/v1/activities", w.draft(map[string]any{"activityId": w.id[:40] + suffix}))
	}
	seen := map[string]bool{}
	for path, pages := "/ops/v1/activities?limit=2", 0; path != ""; pages++ {
		got := w.must(200, "GET", path, "")
		for _, item := range got.body["items"].([]any) {
			seen[item.(map[string]any)["activityId"].(string)] = true
		}
		path = ""
		if next, more := got.body["nextCursor"].(string); more && pages < 5 {
			path = "/ops/v1/activities?limit=2&cursor=" + next
		}
	}
	if len(seen) != 3 {
		t.Errorf("seen %v", seen)
	}
	for query, status := range map[string]int{"limit=0": 422, "limit=101": 422, "limit=x": 400, "limit=1&limit=2": 400, "cursor=%21": 422} {
		if got := w.call("GET", "/ops/v1/activities?"+query, ""); got.status != status {
			t.Errorf("%s: %d %s, want %d", query, got.status, got.text, status)
		}
	}
}

func TestTimeZonesAreThoseOfTheDatabase(t *testing.T) {
	for name := range knownTimeZones() {
		if _, err := time.LoadLocation(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"Asia/Shanghai", "America/Argentina/Buenos_Aires", "UTC", "Etc/GMT+5", "Europe/Zurich"} {
		if !isTimeZone(name) {
			t.Errorf("%s is missing", name)
		}
	}
	for _, name := range []string{"", "Local", "asia/shanghai", "Asia/Shanghai ", "CST-8"} {
		if isTimeZone(name) {
			t.Errorf("%q is no zone of the database", name)
		}
	}
}
