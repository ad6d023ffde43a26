package api

import (
	"encoding/json"
	"log/slog"
	"testing"

	"holdfast/shared/edge"
)

func TestTheContractIsServedWithAnEntityTag(t *testing.T) {
	h := NewGetOpenapi(edge.Deps{Log: slog.New(slog.DiscardHandler)})
	ask := func(tag string) envelope {
		t.Helper()
		event := `{"version":"2.0","rawPath":"/v1/openapi.json","headers":{"if-none-match":` + tag + `},"requestContext":{"http":{"method":"GET"}}}`
		reply, err := h.Invoke(t.Context(), []byte(event))
		if err != nil {
			t.Fatal(err)
		}
		var e envelope
		if err := json.Unmarshal(reply, &e); err != nil {
			t.Fatal(err)
		}
		return e
	}
	first := ask(`""`)
	var doc map[string]any
	if err := json.Unmarshal([]byte(first.Body), &doc); err != nil || doc["openapi"] != "3.1.0" || first.StatusCode != 200 {
		t.Fatalf("%d %v %v", first.StatusCode, doc["openapi"], err)
	}
	quoted, _ := json.Marshal(first.Headers["ETag"])
	if again := ask(string(quoted)); again.StatusCode != 304 || again.Body != "" || again.Headers["ETag"] != first.Headers["ETag"] {
		t.Errorf("with the tag: %d, %d bytes", again.StatusCode, len(again.Body))
	}
}
