package api

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"holdfast/shared/edge"
	"holdfast/shared/fault"
)

// operateBudget leaves a publication its ten seconds of waiting for an empty queue, and stays under the gateway's 29 seconds.
const operateBudget = 25 * time.Second

// opsPrefix is where the operators' paths begin; what stands before it is a stage or the mapping of a domain name.
const opsPrefix = "/ops/v1/"

// operate answers the operators' calls.
type operate struct {
	edge.Deps
	facts  *facts
	orders *orders
	calls  map[string]operation // by the operation's name in Routes

	certifyBudget time.Duration // how long a certificate may take within a request
}

// operation answers one of the operators' calls; by says who asks.
type operation func(ctx context.Context, r *Request, by caller) (*Response, error)

// caller is the operator behind a request.
type caller struct {
	id        string // the verified claim
	requestID string
}

// NewOperateSales builds every call of /ops/v1: one function, since operators are few and its parts share all they need. It takes
// DB, Stock, Catalog, Checkout, Reconcile, Returns, Claims and Log. The operator claim is checked before anything else, whatever the
// gateway has checked already.
func NewOperateSales(d edge.Deps) lambda.Handler {
	return serve(d, "operate-sales", operateBudget, newOperate(d).answer)
}

func newOperate(d edge.Deps) *operate {
	o := &operate{Deps: d, facts: newFacts(d), certifyBudget: certifyBudget}
	o.orders = &orders{d: d, facts: o.facts}
	o.calls = map[string]operation{
		"createActivity":         o.once(o.createActivity),
		"operatorListActivities": o.listActivities,
		"operatorGetActivity":    o.getActivity,
		"changeActivity":         o.changeActivity,
		"publishActivity":        o.once(o.publishActivity),
		"suspendActivity":        o.once(o.suspendActivity),
		"resumeActivity":         o.once(o.resumeActivity),
		"closeActivity":          o.once(o.closeActivity),
		"adjustStock":            o.once(o.adjustStock),
		"readStock":              o.readStock,
		"listWaitlist":           o.listWaitlist,
		"operatorListOrders":     o.listOrders,
		"operatorGetOrder":       o.getOrder,
		"markOrderPaid":          o.once(o.markOrderPaid),
		"operatorCancelOrder":    o.once(o.cancelOrder),
		"refundOrder":            o.once(o.refundOrder),
		"callActivityOff":        o.once(o.callActivityOff),
		"extendDeadlines":        o.once(o.extendDeadlines),
		"readCertificate":        o.readCertificate,
		"tellOrder":              o.tellOrder,
		"tellBuyer":              o.tellBuyer,
		"getJob":                 o.getJob,
		"listDeadLetters":        o.listDeadLetters,
		"redriveDeadLetters":     o.once(o.redriveDeadLetters),
		"startReconciliation":    o.once(o.startReconciliation),
		"readReconciliation":     o.readReconciliation,
		"listDifferences":        o.listDifferences,
		"resolveDifference":      o.once(o.resolveDifference),
		"readSettlement":         o.readSettlement,
		"startExport":            o.once(o.startExport),
		"listAlerts":             o.listAlerts,
		"readWallets":            o.readWallets,
		"topUpWallet":            o.once(o.topUpWallet),
		"withdrawFromWallet":     o.once(o.withdrawFromWallet),
		"listDeposits":           o.listDeposits,
		"extendDeposit":          o.once(o.extendDeposit),
		"waiveDeposit":           o.once(o.waiveDeposit),
		"readAuditLog":           o.readAuditLog,
	}
	return o
}

// answer finds the operation of a request by its method and path: the gateway may send all of /ops/v1 here by one route.
func (o *operate) answer(ctx context.Context, r *Request) (*Response, error) {
	id, err := r.operator(o.Claims)
	if err != nil {
		return nil, err
	}
	route, params, methods, found := FindRoute(r.Method, opsPath(r))
	switch call := o.calls[route.Operation]; {
	case found && call != nil:
		r.params = params
		return call(ctx, r, caller{id: id, requestID: r.ID})
	case len(methods) > 0:
		response := problem(fault.New(fault.MethodNotAllowed, "This path takes %s.", strings.Join(methods, ", ")), r)
		response.Header["Allow"] = strings.Join(methods, ", ")
		return response, nil
	}
	return nil, fault.New(fault.RouteNotFound, "There is no such call.")
}

// opsPath is the request's path from opsPrefix on.
func opsPath(r *Request) string {
	if at := strings.Index(r.Path, opsPrefix); at > 0 {
		return r.Path[at:]
	}
	return r.Path
}

// noBody refuses a body with members, for calls that take none: an empty object or nothing at all is fine.
func noBody(r *Request) error {
	f, err := r.optionalFields()
	if err != nil {
		return err
	}
	return f.Finish()
}

// pathActivity gives the activity id of the path. One that no activity can have is not looked up.
func pathActivity(r *Request) (string, error) {
	id := r.Param("activityId")
	if !isID(id) {
		return "", fault.New(fault.ActivityNotFound, "There is no such activity.")
	}
	return id, nil
}

// statusOr gives the status of an answer that made something, or of one that found it made.
func statusOr(made bool) int {
	if made {
		return http.StatusCreated
	}
	return http.StatusOK
}
