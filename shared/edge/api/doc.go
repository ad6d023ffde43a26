// Package api answers HTTP: one file per call of the contract, and beside them what all of them share.
//
//	routes.go        every call there is
//	serve.go         the step from a handler to a lambda.Handler; errors become answers here and nowhere else
//	request.go       API Gateway events of payload version 2.0 and 1.0 become one Request
//	claims.go        who calls, by the verified claims alone
//	validate.go      strict reading of bodies, query.go of query parameters; every violation is reported at once
//	respond.go       answers and entity tags
//	errors.go        the one table from fault code to HTTP status, title and number
//	budget.go        how long parts of a request may take
//	activities.go    what several calls read together: rows of activities, facts.go their facts, orders.go orders wherever they stand
//	kept_answers.go  what Idempotency-Keys were answered with
//
// A handler decodes, calls the domain, encodes, and holds no business rule.
package api
