package api

import (
	"net/http"
	"strings"

	"holdfast/shared/edge"
	"holdfast/shared/fault"
)

// What an operator claim may hold: everything of /ops/v1, or its GETs.
const (
	operatorAll  = "operator"
	operatorRead = "operator.read"
)

// userID is the caller by the verified claim, never by anything in path or body. It returns Unauthenticated when the gateway
// verified no token, or when the claim is no text of 1..128 printable ASCII characters without outer spaces.
func (r *Request) userID(names edge.Claims) (string, error) {
	id, isText := r.claims[names.UserID].(string)
	if !isText || len(id) > 128 || !isPrintable(id) {
		return "", fault.New(fault.Unauthenticated, "The request carries no verified token with a usable user id.")
	}
	return id, nil
}

// operator is the caller of /ops/v1 by the verified claims. It returns Unauthenticated as userID does, and Forbidden when the
// operator claim allows neither everything nor, for a GET, reading.
func (r *Request) operator(names edge.Claims) (string, error) {
	id, err := r.userID(names)
	if err != nil {
		return "", err
	}
	for _, scope := range listOf(r.claims[names.Operator]) {
		if scope == operatorAll || scope == operatorRead && r.Method == http.MethodGet {
			return id, nil
		}
	}
	return "", fault.New(fault.Forbidden, "The token does not allow this call.")
}

// listOf reads a claim that is a list, or a text of several words. HTTP APIs write a list as "[a b]", REST APIs as "a,b" or
// as JSON.
func listOf(claim any) []string {
	switch v := claim.(type) {
	case string:
		return strings.FieldsFunc(v, func(r rune) bool { return strings.ContainsRune(" ,[]\"", r) })
	case []any:
		words := make([]string, 0, len(v))
		for _, item := range v {
			if s, isText := item.(string); isText {
				words = append(words, s)
			}
		}
		return words
	}
	return nil
}
