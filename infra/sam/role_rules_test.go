package sam

import (
	"fmt"
	"strings"
)

// statements lists the statements of a policy document; one inside Fn::If counts as well.
func statements(document any) []object {
	var found []object
	var visit func(any)
	visit = func(value any) {
		switch v := value.(type) {
		case []any:
			for _, item := range v {
				visit(item)
			}
		case object:
			if v["Effect"] != nil {
				found = append(found, v)
				return
			}
			if choice := v["Fn::If"]; choice != nil {
				visit(choice)
			}
		}
	}
	visit(in(document, "Statement"))
	return found
}

// policies lists all statements of a role or managed policy.
func policies(r resource) []object {
	found := statements(r.property("PolicyDocument"))
	inline, _ := r.property("Policies").([]any)
	for _, policy := range inline {
		found = append(found, statements(in(policy, "PolicyDocument"))...)
	}
	return found
}

// actions lists the actions of a statement.
func actions(statement object) []string {
	switch v := statement["Action"].(type) {
	case string:
		return []string{v}
	case []any:
		var names []string
		for _, name := range v {
			names = append(names, fmt.Sprint(name))
		}
		return names
	}
	return nil
}

// grant pairs what a function is told with what its role must then allow, and with nothing more.
type grant struct{ variable, action, on string }

var grants = []grant{
	{"HOLDFAST_MYSQL_SECRET", "secretsmanager:GetSecretValue", `["DatabaseStack","Outputs.SecretArn"]`},
	{"HOLDFAST_REDIS_AUTH_SECRET", "secretsmanager:GetSecretValue", `["CacheStack","Outputs.SecretArn"]`},
	{"HOLDFAST_DEAD_LETTER_QUEUE_URL", "sqs:SendMessage", `["DeadLetterQueue","Arn"]`},
	{"HOLDFAST_STATE_MACHINE_ARN", "states:StartExecution", `{"Ref":"DepositStateMachine"}`},
	{"HOLDFAST_NOTICES_QUEUE_URL", "sqs:SendMessage", `["NoticesQueue","Arn"]`},
	{"HOLDFAST_NOTICES_TOPIC_ARN", "sns:Publish", `{"Ref":"NoticesTopic"}`},
	{"HOLDFAST_EXPORTS_BUCKET", "s3:PutObject", "${ExportsBucket.Arn}/*"},
	{"HOLDFAST_PROVIDER_SECRET", "secretsmanager:GetSecretValue", `{"Ref":"ProviderSecretArn"}`},
}

// allowed tells whether one statement of the role has the action on the resource.
func allowed(role resource, action, on string) bool {
	for _, statement := range policies(role) {
		if strings.Contains(strings.Join(actions(statement), " ")+" ", action+" ") && strings.Contains(text(statement["Resource"]), on) {
			return true
		}
	}
	return false
}

// unnarrowed are the statements, by their role and Sid, that AWS narrows to no resource: network interfaces, traces, and the delivery of
// Step Functions' logs.
var unnarrowed = map[string]bool{"FunctionPolicy.AttachToNetwork": true, "FunctionPolicy.SendTraces": true,
	"DepositWorkflowRole.DeliverLogs": true, "DepositWorkflowRole.SendTraces": true}

var roleRules = []rule{
	{
		name: "each function has a role of its own",
		faults: func(all templates) (faults []string) {
			owner := map[string]string{}
			for _, function := range all.functions() {
				role := target(function.property("Role"))
				if all.named(role).kind != "AWS::IAM::Role" || owner[role] != "" {
					faults = append(faults, fmt.Sprintf("%s has the role %q of %q", function.name, role, owner[role]))
				}
				owner[role] = function.name
			}
			return faults
		},
		plant: func(all templates) {
			all.named("HealthFunction").set(object{"Fn::GetAtt": []any{"GetOrderRole", "Arn"}}, "Role")
		},
	},
	{
		name: "every role takes the path and the permissions boundary, every policy the path",
		faults: func(all templates) (faults []string) {
			for _, role := range all.everywhere("AWS::IAM::Role", "AWS::IAM::ManagedPolicy") {
				bounded := text(role.property("PermissionsBoundary")) == `{"Fn::If":["HasPermissionsBoundary",{"Ref":"PermissionsBoundary"},{"Ref":"AWS::NoValue"}]}`
				if target(role.property("Path")) != "RolePath" || (role.kind == "AWS::IAM::Role" && !bounded) {
					faults = append(faults, role.where+": "+role.name)
				}
			}
			return faults
		},
		plant: func(all templates) {
			delete(all.named("HealthRole").body["Properties"].(object), "PermissionsBoundary")
		},
	},
	{
		name: "nothing is allowed on everything, and no action by wildcard",
		faults: func(all templates) (faults []string) {
			for _, role := range all.everywhere("AWS::IAM::Role", "AWS::IAM::ManagedPolicy") {
				for _, statement := range policies(role) {
					if statement["Effect"] != "Allow" || unnarrowed[fmt.Sprintf("%s.%v", role.name, statement["Sid"])] {
						continue
					}
					if statement["Resource"] == "*" || strings.Contains(strings.Join(actions(statement), " "), "*") {
						faults = append(faults, role.where+": "+role.name+": "+text(statement))
					}
				}
				for _, arn := range []string{":aws:policy/", "iam::aws"} {
					if strings.Contains(text(role.property("ManagedPolicyArns")), arn) {
						faults = append(faults, role.name+" takes a policy of AWS's, which allows more than it needs")
					}
				}
			}
			return faults
		},
		plant: func(all templates) {
			statement := policies(all.named("ReserveTicketRole"))[0]
			statement["Resource"] = "*"
		},
	},
	{
		name: "a role allows what its function is told of, and nothing else",
		faults: func(all templates) (faults []string) {
			for _, function := range all.functions() {
				role := all.named(target(function.property("Role")))
				variables, _ := function.property("Environment", "Variables").(object)
				for _, grant := range grants {
					if may := allowed(role, grant.action, grant.on); may != (variables[grant.variable] != nil) {
						faults = append(faults, fmt.Sprintf("%s: %s on %s is %v", function.name, grant.action, grant.on, may))
					}
				}
				orders := allowed(role, "sqs:SendMessage", `["OrdersQueue","Arn"]`) || allowed(role, "sqs:GetQueueAttributes", `["OrdersQueue","Arn"]`)
				if orders != (variables["HOLDFAST_ORDERS_QUEUE_URL"] != nil) {
					faults = append(faults, function.name+": the orders queue")
				}
				if !allowed(role, "logs:PutLogEvents", text(function.property("LoggingConfig", "LogGroup", "Ref"))) {
					faults = append(faults, function.name+" may not write its log")
				}
			}
			return faults
		},
		plant: func(all templates) {
			statement := policies(all.named("GetOrderRole"))[0]
			statement["Action"] = []any{"sqs:SendMessage", "logs:PutLogEvents"}
			statement["Resource"] = object{"Fn::GetAtt": []any{"OrdersQueue", "Arn"}}
		},
	},
	{
		name: "only the consumer of a queue may receive from it, only who sells or sends again may send, scheduler and state machine may invoke",
		faults: func(all templates) (faults []string) {
			for _, want := range []struct {
				action, on string
				roles      string
			}{
				{"sqs:ReceiveMessage", `["OrdersQueue","Arn"]`, "CreateOrdersRole"},
				{"sqs:ReceiveMessage", `["DeadLetterQueue","Arn"]`, "RecordDeadLettersRole"},
				{"sqs:SendMessage", `["OrdersQueue","Arn"]`, "CreateOrdersRole OperateSalesRole ReserveTicketRole"},
				{"sqs:ReceiveMessage", `["NoticesQueue","Arn"]`, "SendNoticesRole"},
				{"lambda:InvokeFunction", "Function", "DepositWorkflowRole SchedulerRole"},
				{"lambda:InvokeFunction", `["SettleDepositFunction","Arn"]`, "DepositWorkflowRole"},
			} {
				var found []string
				for _, role := range all.everywhere("AWS::IAM::Role") {
					if allowed(role, want.action, want.on) {
						found = append(found, role.name)
					}
				}
				if got := strings.Join(found, " "); got != want.roles {
					faults = append(faults, fmt.Sprintf("%s on %s: %s", want.action, want.on, got))
				}
			}
			return faults
		},
		plant: func(all templates) {
			statement := policies(all.named("HealthRole"))[0]
			statement["Action"] = "sqs:ReceiveMessage"
			statement["Resource"] = object{"Fn::GetAtt": []any{"OrdersQueue", "Arn"}}
		},
	},
}
