package api

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"net/http"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"holdfast/shared/edge"
)

// openAPI is the contract of every call in Routes, OpenAPI 3.1. It is the source of truth: tests pair it with the routes, with
// the table of problem codes and with the structures that are read and written.
//
//go:embed openapi.json
var openAPI []byte

// NewGetOpenapi builds GET /v1/openapi.json: the contract itself, with an entity tag. It touches no store.
func NewGetOpenapi(d edge.Deps) lambda.Handler {
	sum := sha256.Sum256(openAPI)
	tag := `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`
	return serve(d, "get-openapi", time.Second, func(_ context.Context, r *Request) (*Response, error) {
		response := &Response{Status: http.StatusOK, Header: map[string]string{"Content-Type": "application/json"}, Body: openAPI}
		if r.hasTag(tag) {
			response = &Response{Status: http.StatusNotModified, Header: map[string]string{}}
		}
		response.Header["ETag"], response.Header["Cache-Control"] = tag, "public, max-age=300"
		return response, nil
	})
}
