package api

import "strings"

// Access says whom a route is for.
type Access int

// Public routes need no token, User routes the token of any user, Operator routes a token whose operator claim allows the
// method: operator.read for GET, operator for everything.
const (
	Public Access = iota
	User
	Operator
)

// String is the access in words, as the OpenAPI file and the tests write it.
func (a Access) String() string { return [...]string{"public", "user", "operator"}[a] }

// Route is one call of the contract.
type Route struct {
	Method    string // in capitals
	Path      string // with parameters in braces, as API Gateway writes them: /v1/orders/{orderId}
	Function  string // the folder under functions/api that answers it
	Operation string // the name of the call: operationId of OpenAPI, and the operation within operate-sales
	Access    Access
}

// Routes is every call that the functions answer. The front of the local stack mounts exactly these, the template is paired
// with them by a test, the OpenAPI file as well, and operate-sales finds its operation here.
var Routes = []Route{
	{"GET", "/v1/activities", "list-activities", "listActivities", Public},
	{"GET", "/v1/activities/{activityId}", "get-activity", "getActivity", Public},
	{"GET", "/v1/activities/{activityId}/me", "my-activity", "myActivity", User},
	{"POST", "/v1/activities/{activityId}/reservations", "reserve-ticket", "reserveTicket", User},
	{"PUT", "/v1/activities/{activityId}/waitlist/me", "my-waitlist", "joinWaitlist", User},
	{"GET", "/v1/activities/{activityId}/waitlist/me", "my-waitlist", "myWaitlist", User},
	{"DELETE", "/v1/activities/{activityId}/waitlist/me", "my-waitlist", "leaveWaitlist", User},
	{"GET", "/v1/orders", "list-orders", "listOrders", User},
	{"GET", "/v1/orders/{orderId}", "get-order", "getOrder", User},
	{"POST", "/v1/orders/{orderId}/cancellation", "cancel-order", "cancelOrder", User},
	{"POST", "/v1/orders/{orderId}/payment", "pay-order", "payOrder", User},
	{"POST", "/v1/orders/{orderId}/confirmation", "confirm-deposit", "confirmDeposit", User},
	{"POST", "/v1/payments/notifications", "notify-payment", "notifyPayment", Public},
	{"GET", "/v1/notices", "list-notices", "listNotices", User},
	{"GET", "/v1/wallet", "get-wallet", "getWallet", User},
	{"GET", "/v1/wallet/entries", "list-wallet-entries", "listWalletEntries", User},
	{"GET", "/v1/health", "health", "health", Public},
	{"GET", "/v1/openapi.json", "get-openapi", "getOpenapi", Public},

	{"POST", "/ops/v1/activities", "operate-sales", "createActivity", Operator},
	{"GET", "/ops/v1/activities", "operate-sales", "operatorListActivities", Operator},
	{"GET", "/ops/v1/activities/{activityId}", "operate-sales", "operatorGetActivity", Operator},
	{"PATCH", "/ops/v1/activities/{activityId}", "operate-sales", "changeActivity", Operator},
	{"POST", "/ops/v1/activities/{activityId}/publication", "operate-sales", "publishActivity", Operator},
	{"POST", "/ops/v1/activities/{activityId}/suspension", "operate-sales", "suspendActivity", Operator},
	{"POST", "/ops/v1/activities/{activityId}/resumption", "operate-sales", "resumeActivity", Operator},
	{"POST", "/ops/v1/activities/{activityId}/closure", "operate-sales", "closeActivity", Operator},
	{"POST", "/ops/v1/activities/{activityId}/stock-adjustments", "operate-sales", "adjustStock", Operator},
	{"GET", "/ops/v1/activities/{activityId}/stock", "operate-sales", "readStock", Operator},
	{"GET", "/ops/v1/activities/{activityId}/waitlist", "operate-sales", "listWaitlist", Operator},
	{"GET", "/ops/v1/activities/{activityId}/certificate", "operate-sales", "readCertificate", Operator},
	{"GET", "/ops/v1/activities/{activityId}/timeline", "operate-sales", "tellBuyer", Operator},
	{"GET", "/ops/v1/activities/{activityId}/settlement", "operate-sales", "readSettlement", Operator},
	{"POST", "/ops/v1/exports", "operate-sales", "startExport", Operator},
	{"GET", "/ops/v1/orders", "operate-sales", "operatorListOrders", Operator},
	{"GET", "/ops/v1/orders/{orderId}", "operate-sales", "operatorGetOrder", Operator},
	{"GET", "/ops/v1/orders/{orderId}/timeline", "operate-sales", "tellOrder", Operator},
	{"POST", "/ops/v1/orders/{orderId}/payment", "operate-sales", "markOrderPaid", Operator},
	{"POST", "/ops/v1/orders/{orderId}/cancellation", "operate-sales", "operatorCancelOrder", Operator},
	{"POST", "/ops/v1/orders/{orderId}/refunds", "operate-sales", "refundOrder", Operator},
	{"POST", "/ops/v1/activities/{activityId}/cancellation", "operate-sales", "callActivityOff", Operator},
	{"POST", "/ops/v1/activities/{activityId}/deadline-extensions", "operate-sales", "extendDeadlines", Operator},
	{"GET", "/ops/v1/jobs/{jobId}", "operate-sales", "getJob", Operator},
	{"GET", "/ops/v1/dead-letters", "operate-sales", "listDeadLetters", Operator},
	{"POST", "/ops/v1/dead-letters/redrive", "operate-sales", "redriveDeadLetters", Operator},
	{"POST", "/ops/v1/reconciliations", "operate-sales", "startReconciliation", Operator},
	{"GET", "/ops/v1/reconciliations/{reconciliationId}", "operate-sales", "readReconciliation", Operator},
	{"GET", "/ops/v1/differences", "operate-sales", "listDifferences", Operator},
	{"POST", "/ops/v1/differences/{differenceId}/resolution", "operate-sales", "resolveDifference", Operator},
	{"GET", "/ops/v1/alerts", "operate-sales", "listAlerts", Operator},
	{"GET", "/ops/v1/deposits", "operate-sales", "listDeposits", Operator},
	{"POST", "/ops/v1/deposits/{orderId}/extension", "operate-sales", "extendDeposit", Operator},
	{"POST", "/ops/v1/deposits/{orderId}/waiver", "operate-sales", "waiveDeposit", Operator},
	{"GET", "/ops/v1/wallets/{userId}", "operate-sales", "readWallets", Operator},
	{"POST", "/ops/v1/wallets/{userId}/top-ups", "operate-sales", "topUpWallet", Operator},
	{"POST", "/ops/v1/wallets/{userId}/withdrawals", "operate-sales", "withdrawFromWallet", Operator},
	{"GET", "/ops/v1/audit-log", "operate-sales", "readAuditLog", Operator},
}

// FindRoute gives the route of a request and the values of its path's parameters. When no route has this path, found is
// false and methods empty; when routes have the path but not the method, methods lists what they take. The path is decoded, as the gateway
// hands it on, so a user id with slashes is several segments of it.
func FindRoute(method, path string) (route Route, params map[string]string, methods []string, found bool) {
	for _, r := range Routes {
		values, ok := matchPath(r.Path, path)
		if !ok {
			continue
		}
		if r.Method == method {
			return r, values, nil, true
		}
		methods = append(methods, r.Method)
	}
	if methods != nil {
		return Route{}, nil, methods, false
	}
	for _, r := range Routes {
		before, after, named := strings.Cut(r.Path, userSegment)
		if rest, begins := strings.CutPrefix(path, before); r.Method == method && named && begins {
			if user, ends := strings.CutSuffix(rest, after); ends && user != "" {
				return r, map[string]string{"userId": user}, nil, true
			}
		}
	}
	return Route{}, nil, nil, false
}

// userSegment is the parameter that may hold slashes: user ids are what the issuer of tokens says they are.
const userSegment = "{userId}"

// matchPath compares a path with a pattern, segment by segment. No pattern of the table has a literal where another has a
// parameter with the same number of segments, so the order of the table decides nothing.
func matchPath(pattern, path string) (map[string]string, bool) {
	want, have := strings.Split(pattern, "/"), strings.Split(path, "/")
	if len(want) != len(have) {
		return nil, false
	}
	values := make(map[string]string, 2)
	for i, segment := range want {
		if name, isParam := strings.CutPrefix(segment, "{"); isParam {
			if have[i] == "" {
				return nil, false
			}
			values[strings.TrimSuffix(name, "}")] = have[i]
		} else if segment != have[i] {
			return nil, false
		}
	}
	return values, true
}
