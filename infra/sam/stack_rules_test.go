package sam

import (
	"fmt"
	"path"
	"sort"
	"strings"
)

// names are the properties that would give a resource a physical name, by which a second deployment or a replacement fails.
var names = map[string]bool{
	"FunctionName": true, "RoleName": true, "ManagedPolicyName": true, "QueueName": true, "TopicName": true, "LogGroupName": true,
	"AlarmName": true, "BucketName": true, "TableName": true, "UserPoolName": true, "ClientName": true, "StackName": true,
	"DBInstanceIdentifier": true, "DBParameterGroupName": true, "DBSubnetGroupName": true, "DBProxyName": true,
	"ReplicationGroupId": true, "CacheParameterGroupName": true, "CacheSubnetGroupName": true, "CacheClusterId": true,
	"GroupName": true, "Name": true,
}

// inside are the names that live inside something unnamed, so they collide with nothing.
var inside = map[string]bool{"AWS::Cognito::UserPoolGroup.GroupName": true, "AWS::Lambda::Alias.Name": true}

// reference tells whether the value only points to another resource or is made of the stack's own id.
func reference(value any) bool {
	return target(value) != "" || strings.Contains(text(value), `{"Ref":"AWS::StackId"}`)
}

// nested pairs each nested stack with its template.
func (all templates) nested() map[string]resource {
	found := map[string]resource{}
	for _, stack := range all.everywhere("AWS::CloudFormation::Stack") {
		found[stack.where+"."+stack.name] = stack
	}
	return found
}

var stackRules = []rule{
	{
		name: "nothing bears a physical name",
		faults: func(all templates) (faults []string) {
			for _, resource := range all.everywhere() {
				properties, _ := resource.body["Properties"].(object)
				for property, value := range properties {
					if names[property] && !inside[resource.kind+"."+property] && !reference(value) {
						faults = append(faults, fmt.Sprintf("%s: %s is named %s", resource.where, resource.name, text(value)))
					}
				}
			}
			return faults
		},
		plant: func(all templates) { all.named("OrdersQueue").set("holdfast-orders", "QueueName") },
	},
	{
		name: "no partition is written out",
		faults: func(all templates) (faults []string) {
			documents := map[string]object{"template.yaml": all.Source}
			for file, stack := range all.Stacks {
				documents[file] = stack
			}
			for file, document := range documents {
				eachString(document, file, func(path, value string) {
					if strings.Contains(value, "arn:aws") {
						faults = append(faults, path+": "+value)
					}
				})
			}
			return faults
		},
		plant: func(all templates) {
			all.Stacks["endpoints.yaml"]["Outputs"] = object{"X": object{"Value": object{"Fn::Sub": "arn:aws:s3:::bucket"}}}
		},
	},
	{
		name: "nested stacks are given exactly what they ask for, and asked only for what they give",
		faults: func(all templates) (faults []string) {
			outputs := map[string]object{}
			for where, stack := range all.nested() {
				file, _ := stack.property("TemplateURL").(string)
				template := all.Stacks[path.Base(file)]
				if template == nil {
					faults = append(faults, where+" has no template "+file)
					continue
				}
				wanted, _ := template["Parameters"].(object)
				given, _ := stack.property("Parameters").(object)
				for name := range given {
					if wanted[name] == nil {
						faults = append(faults, fmt.Sprintf("%s gives %s, which nobody asked for", where, name))
					}
				}
				for name, parameter := range wanted {
					if given[name] == nil && in(parameter, "Default") == nil {
						faults = append(faults, fmt.Sprintf("%s does not give %s", where, name))
					}
				}
				outputs[stack.name], _ = template["Outputs"].(object)
			}
			var visit func(any)
			visit = func(value any) {
				switch v := value.(type) {
				case []any:
					for _, item := range v {
						visit(item)
					}
				case object:
					if path, ok := v["Fn::GetAtt"].([]any); ok && len(path) == 2 {
						output, isOutput := strings.CutPrefix(fmt.Sprint(path[1]), "Outputs.")
						if isOutput && outputs[fmt.Sprint(path[0])][output] == nil {
							faults = append(faults, fmt.Sprintf("%v has no output %s", path[0], output))
						}
					}
					for _, item := range v {
						visit(item)
					}
				}
			}
			visit(all.Expanded["Resources"])
			visit(all.Expanded["Outputs"])
			return faults
		},
		plant: func(all templates) { delete(all.Stacks["cache.yaml"]["Outputs"].(object), "Tls") },
	},
	{
		name: "every function but the one of the deployment has its alarm",
		faults: func(all templates) (faults []string) {
			var functions, watched []string
			for _, function := range all.functions() {
				if function.name != migration {
					functions = append(functions, function.name)
				}
			}
			for _, alarm := range resources("function-alarms.yaml", all.Stacks["function-alarms.yaml"], "AWS::CloudWatch::Alarm") {
				watched = append(watched, strings.TrimSuffix(alarm.name, "Fails")+"Function")
				if !strings.Contains(text(alarm.property("Metrics")), `"Ref":"`+strings.TrimSuffix(alarm.name, "Fails")+`Function"`) {
					faults = append(faults, alarm.name+" watches another function")
				}
			}
			sort.Strings(watched)
			if strings.Join(functions, " ") != strings.Join(watched, " ") {
				faults = append(faults, fmt.Sprintf("watched are %q", watched))
			}
			return faults
		},
		plant: func(all templates) {
			delete(all.Stacks["function-alarms.yaml"]["Resources"].(object), "CreateOrdersFails")
		},
	},
	{
		name: "the alarm of what runs more seldom than it looks back rings at the first failure",
		faults: func(all templates) (faults []string) {
			for _, schedule := range all.everywhere("AWS::Scheduler::Schedule") {
				if schedule.property("ScheduleExpression") != "rate(1 day)" {
					continue
				}
				function, _, _ := strings.Cut(schedule.name, "Function")
				for _, alarm := range resources("function-alarms.yaml", all.Stacks["function-alarms.yaml"], "AWS::CloudWatch::Alarm") {
					if periods, _ := number(alarm.property("EvaluationPeriods")); alarm.name == function+"Fails" && periods != 1 {
						faults = append(faults, fmt.Sprintf("%s wants %v periods to fail", alarm.name, periods))
					}
				}
			}
			return faults
		},
		plant: func(all templates) {
			for _, alarm := range resources("function-alarms.yaml", all.Stacks["function-alarms.yaml"], "AWS::CloudWatch::Alarm") {
				if alarm.name == "ReconcileDepositsFails" {
					alarm.set(3.0, "EvaluationPeriods")
				}
			}
		},
	},
	{
		name: "no two functions are told the same reason to worry",
		faults: func(all templates) (faults []string) {
			reasons := map[string]string{}
			for _, alarm := range resources("function-alarms.yaml", all.Stacks["function-alarms.yaml"], "AWS::CloudWatch::Alarm") {
				_, reason, given := strings.Cut(text(alarm.property("AlarmDescription")), ": ")
				if other := reasons[reason]; given && other != "" {
					faults = append(faults, fmt.Sprintf("%s and %s: %s", alarm.name, other, reason))
				}
				reasons[reason] = alarm.name
			}
			return faults
		},
		plant: func(all templates) {
			for _, alarm := range resources("function-alarms.yaml", all.Stacks["function-alarms.yaml"], "AWS::CloudWatch::Alarm") {
				if alarm.name == "PayOrderFails" || alarm.name == "ReconcileStockFails" {
					alarm.set("fails: what Redis lost is not found again.", "AlarmDescription")
				}
			}
		},
	},
	{
		name: "alarms reach somebody",
		faults: func(all templates) (faults []string) {
			for _, alarm := range all.everywhere("AWS::CloudWatch::Alarm") {
				if actions, _ := alarm.property("AlarmActions").([]any); len(actions) != 1 || alarm.property("TreatMissingData") == nil {
					faults = append(faults, alarm.where+": "+alarm.name)
				}
			}
			return faults
		},
		plant: func(all templates) {
			resources("alarms.yaml", all.Stacks["alarms.yaml"], "AWS::CloudWatch::Alarm")[0].set([]any{}, "AlarmActions")
		},
	},
}
