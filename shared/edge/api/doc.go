// Package api answers HTTP: one file per call of the contract, and beside them what all of them share.
//
//	request.go   API Gateway events of payload version 2.0 and 1.0 become one Request
//	validate.go  strict reading of bodies and query parameters; every violation is reported at once
//	respond.go   answers, entity tags, and the step from a handler to a lambda.Handler
//	errors.go    the one table from fault code to HTTP status, title and number
//
// A handler decodes, calls the domain, encodes, and holds no business rule. It returns an error rather than a problem: the one
// place that turns errors into answers is serve.
package api
