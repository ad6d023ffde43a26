package sam

import (
	"fmt"
	"sort"
	"strings"
	"testing"

	"holdfast/shared/edge/api"
)

// routes is the whole API: route, function, and whether it is open to callers without a token.
var routes = []string{
	"ANY /ops/v1/{proxy+} OperateSalesFunction token",
	"DELETE /v1/activities/{activityId}/waitlist/me MyWaitlistFunction token",
	"GET /v1/activities ListActivitiesFunction public",
	"GET /v1/activities/{activityId} GetActivityFunction public",
	"GET /v1/activities/{activityId}/me MyActivityFunction token",
	"GET /v1/activities/{activityId}/waitlist/me MyWaitlistFunction token",
	"GET /v1/health HealthFunction public",
	"GET /v1/notices ListNoticesFunction token",
	"GET /v1/openapi.json GetOpenapiFunction public",
	"GET /v1/orders ListOrdersFunction token",
	"GET /v1/orders/{orderId} GetOrderFunction token",
	"GET /v1/wallet GetWalletFunction token",
	"GET /v1/wallet/entries ListWalletEntriesFunction token",
	"POST /v1/activities/{activityId}/reservations ReserveTicketFunction token",
	"POST /v1/orders/{orderId}/cancellation CancelOrderFunction token",
	"POST /v1/orders/{orderId}/confirmation ConfirmDepositFunction token",
	"POST /v1/orders/{orderId}/payment PayOrderFunction token",
	"POST /v1/payments/notifications NotifyPaymentFunction public",
	"PUT /v1/activities/{activityId}/waitlist/me MyWaitlistFunction token",
}

// routesOf reads the routes of the expanded API in the form above.
func routesOf(all templates) []string {
	var found []string
	paths, _ := all.named("HttpApi").property("Body", "paths").(object)
	for path, methods := range paths {
		for method, operation := range methods.(object) {
			if method = strings.ToUpper(method); method == "X-AMAZON-APIGATEWAY-ANY-METHOD" {
				method = "ANY"
			}
			uri, _ := in(operation, "x-amazon-apigateway-integration", "uri", "Fn::Sub").(string)
			_, function, _ := strings.Cut(uri, "${")
			_, function, _ = strings.Cut(function, "functions/${")
			function, _, _ = strings.Cut(function, ".Arn}")
			guard := "unguarded"
			switch text(in(operation, "security")) {
			case `[{"Token":[]}]`:
				guard = "token"
			case `[{"NONE":[]}]`:
				guard = "public"
			}
			found = append(found, fmt.Sprintf("%s %s %s %s", method, path, function, guard))
		}
	}
	sort.Strings(found)
	return found
}

var apiRules = []rule{
	{
		name: "the routes are exactly these, and exactly these are public",
		faults: func(all templates) []string {
			if found := routesOf(all); strings.Join(found, "\n") != strings.Join(routes, "\n") {
				return []string{"the API is\n" + strings.Join(found, "\n") + "\nand should be\n" + strings.Join(routes, "\n")}
			}
			return nil
		},
		plant: func(all templates) {
			operation := in(all.named("HttpApi").property("Body", "paths"), "/v1/orders", "get").(object)
			operation["security"] = []any{object{"NONE": []any{}}}
		},
	},
	{
		name: "tokens are checked for issuer and audience, and callers are throttled",
		faults: func(all templates) (faults []string) {
			scheme := all.named("HttpApi").property("Body", "components", "securitySchemes", "Token", "x-amazon-apigateway-authorizer")
			if in(scheme, "type") != "jwt" || in(scheme, "jwtConfiguration", "issuer") == nil || in(scheme, "jwtConfiguration", "audience") == nil {
				faults = append(faults, "authorizer: "+text(scheme))
			}
			for _, stage := range all.everywhere("AWS::ApiGatewayV2::Stage") {
				if stage.property("DefaultRouteSettings", "ThrottlingRateLimit") == nil || stage.property("DefaultRouteSettings", "ThrottlingBurstLimit") == nil {
					faults = append(faults, stage.name+" is not throttled")
				}
			}
			return faults
		},
		plant: func(all templates) {
			delete(all.named("HttpApiApiGatewayDefaultStage").property("DefaultRouteSettings").(object), "ThrottlingRateLimit")
		},
	},
	{
		name: "a function of the API ends before the gateway's 30 seconds do",
		faults: func(all templates) (faults []string) {
			for _, route := range routesOf(all) {
				function := all.named(strings.Fields(route)[2])
				if timeout, ok := number(function.property("Timeout")); !ok || timeout >= 30 {
					faults = append(faults, fmt.Sprintf("%s may take %v s", function.name, timeout))
				}
			}
			return faults
		},
		plant: func(all templates) { all.named("OperateSalesFunction").set(30.0, "Timeout") },
	},
}

func TestTheGatewayRoutesWhatTheFunctionsServe(t *testing.T) {
	served := map[string]bool{}
	for _, route := range api.Routes {
		switch {
		case route.Access == api.Operator && route.Function == "operate-sales" && strings.HasPrefix(route.Path, "/ops/v1/"):
			served["ANY /ops/v1/{proxy+} OperateSalesFunction token"] = true
		case route.Access == api.Public:
			served[route.Method+" "+route.Path+" "+logicalID(route.Function)+" public"] = true
		default:
			served[route.Method+" "+route.Path+" "+logicalID(route.Function)+" token"] = true
		}
	}
	for _, route := range routes {
		if !served[route] {
			t.Errorf("no function serves %s", route)
		}
		delete(served, route)
	}
	for route := range served {
		t.Errorf("the gateway does not know %s", route)
	}
}

// logicalID is the name in the template: reserve-ticket -> ReserveTicketFunction.
func logicalID(folder string) string {
	var name strings.Builder
	for _, word := range strings.Split(folder, "-") {
		name.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return name.String() + "Function"
}
