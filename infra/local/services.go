package local

import (
	"net/http"
	"strings"
)

// exportsBucket is where exports are written.
const exportsBucket = "holdfast-exports"

// services answers what comes to the one endpoint of all AWS services and is not for SQS. Clients tell services apart by host; here the
// form of a request says whose it is.
type services struct {
	byTarget map[string]http.Handler // by the beginning of X-Amz-Target, such as "AWSStepFunctions."
	topics   http.Handler            // takes forms
	objects  http.Handler            // takes everything else
}

func (s *services) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	target := r.Header.Get("X-Amz-Target")
	for prefix, handler := range s.byTarget {
		if strings.HasPrefix(target, prefix) {
			handler.ServeHTTP(w, r)
			return
		}
	}
	switch {
	case target == "" && strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded"):
		s.topics.ServeHTTP(w, r)
	case target == "":
		s.objects.ServeHTTP(w, r)
	default:
		gatewayAnswer(w, http.StatusBadRequest, "no service here takes this request")
	}
}
