package sam

import (
	"fmt"
	"strings"
)

// readers are the only names that the functions read from their environment; local ones are never in the template.
var readers = map[string]bool{
	"HOLDFAST_REDIS_ADDR": true, "HOLDFAST_REDIS_CLUSTER": true, "HOLDFAST_REDIS_TLS": true, "HOLDFAST_REDIS_AUTH_SECRET": true,
	"HOLDFAST_MYSQL_ADDR": true, "HOLDFAST_MYSQL_DATABASE": true, "HOLDFAST_MYSQL_TLS": true, "HOLDFAST_MYSQL_SECRET": true,
	"HOLDFAST_ORDERS_QUEUE_URL": true, "HOLDFAST_DEAD_LETTER_QUEUE_URL": true,
	"HOLDFAST_STATE_MACHINE_ARN": true, "HOLDFAST_NOTICES_QUEUE_URL": true, "HOLDFAST_NOTICES_TOPIC_ARN": true,
	"HOLDFAST_PROVIDER_URL": true, "HOLDFAST_PROVIDER_SECRET": true, "HOLDFAST_EXPORTS_BUCKET": true,
	"HOLDFAST_USER_ID_CLAIM": true, "HOLDFAST_OPERATOR_CLAIM": true,
}

const migration = "MigrateDatabaseFunction"

var functionRules = []rule{
	{
		name: "timeout and memory are written at the function, not inherited",
		faults: func(all templates) (faults []string) {
			for _, function := range resources("template.yaml", all.Source, "AWS::Serverless::Function") {
				for _, property := range []string{"Timeout", "MemorySize"} {
					if _, ok := number(function.property(property)); !ok {
						faults = append(faults, function.name+" has no "+property)
					}
				}
			}
			return faults
		},
		plant: func(all templates) {
			delete(in(all.Source, "Resources", "HealthFunction", "Properties").(object), "Timeout")
		},
	},
	{
		name: "functions are arm64 binaries with traces",
		faults: func(all templates) (faults []string) {
			for _, function := range all.functions() {
				if text(function.property("Architectures")) != `["arm64"]` || function.property("Runtime") != "provided.al2023" ||
					function.property("TracingConfig", "Mode") != "Active" {
					faults = append(faults, function.name)
				}
			}
			return faults
		},
		plant: func(all templates) { all.named("HealthFunction").set("PassThrough", "TracingConfig", "Mode") },
	},
	{
		name: "each function writes to a log group of its own, which forgets in time",
		faults: func(all templates) (faults []string) {
			owner := map[string]string{}
			for _, function := range all.functions() {
				group := all.named(target(function.property("LoggingConfig", "LogGroup")))
				if group.kind != "AWS::Logs::LogGroup" || owner[group.name] != "" {
					faults = append(faults, function.name+" has no log group of its own")
				}
				owner[group.name] = function.name
			}
			for _, group := range all.everywhere("AWS::Logs::LogGroup") {
				if group.property("RetentionInDays") == nil {
					faults = append(faults, group.name+" keeps logs for ever")
				}
			}
			return faults
		},
		plant: func(all templates) { delete(all.named("HealthLogs").body["Properties"].(object), "RetentionInDays") },
	},
	{
		name: "reserved concurrency is a parameter whose 0 means unset",
		faults: func(all templates) (faults []string) {
			for _, function := range all.functions() {
				if function.name == migration {
					continue
				}
				choice, _ := function.property("ReservedConcurrentExecutions", "Fn::If").([]any)
				if len(choice) != 3 || text(choice[2]) != `{"Ref":"AWS::NoValue"}` {
					faults = append(faults, function.name+": "+text(function.property("ReservedConcurrentExecutions")))
					continue
				}
				parameter := target(choice[1])
				condition := in(all.Expanded, "Conditions", choice[0].(string))
				unset := fmt.Sprintf(`{"Fn::Not":[{"Fn::Equals":[{"Ref":%q},0]}]}`, parameter)
				if start, ok := number(in(all.Expanded, "Parameters", parameter, "Default")); !ok || start != 0 || text(condition) != unset {
					faults = append(faults, function.name+": 0 in "+parameter+" does not mean unset")
				}
			}
			return faults
		},
		plant: func(all templates) { all.named("CreateOrdersFunction").set(10.0, "ReservedConcurrentExecutions") },
	},
	{
		name: "functions live in the network and meet traffic only after the migrations",
		faults: func(all templates) (faults []string) {
			for _, function := range all.functions() {
				if !strings.Contains(text(function.property("VpcConfig")), "Outputs.NetworkSubnetIds") {
					faults = append(faults, function.name+" is outside the network")
				}
				if function.name != migration && function.body["DependsOn"] != "DatabaseMigration" {
					faults = append(faults, function.name+" does not wait for the migrations")
				}
			}
			resource := all.named("DatabaseMigration")
			if !strings.HasPrefix(target(resource.property("ServiceToken")), migration+"Alias") ||
				!strings.HasPrefix(target(resource.property("CodeVersion")), migration+"Version") {
				faults = append(faults, "the migrations do not run again when their code changes: "+text(resource.body))
			}
			return faults
		},
		plant: func(all templates) { delete(all.named("ReserveTicketFunction").body, "DependsOn") },
	},
	{
		name: "functions are told nothing that they do not read",
		faults: func(all templates) (faults []string) {
			for _, function := range all.functions() {
				variables, _ := function.property("Environment", "Variables").(object)
				for name := range variables {
					if !readers[name] {
						faults = append(faults, function.name+" is told "+name)
					}
				}
			}
			return faults
		},
		plant: func(all templates) {
			all.named("HealthFunction").set("user:password@tcp(host)/db", "Environment", "Variables", "HOLDFAST_MYSQL_DSN")
		},
	},
}
