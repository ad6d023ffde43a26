package sam

import "fmt"

// facts are single values that everything else relies on.
type fact struct {
	file, resource string
	path           []string
	want           string
}

var storeFacts = []fact{
	{"database.yaml", "DatabaseParameters", []string{"Parameters", "tx_isolation"}, `"READ-COMMITTED"`},
	{"database.yaml", "DatabaseParameters", []string{"Parameters", "time_zone"}, `"UTC"`},
	{"database.yaml", "DatabaseParameters", []string{"Parameters", "innodb_flush_log_at_trx_commit"}, `"1"`},
	{"database.yaml", "DatabaseParameters", []string{"Family"}, `"mariadb10.11"`},
	{"database.yaml", "Database", []string{"Engine"}, `"mariadb"`},
	{"database.yaml", "Database", []string{"StorageEncrypted"}, `true`},
	{"database.yaml", "Database", []string{"PubliclyAccessible"}, `false`},
	{"database.yaml", "Database", []string{"DBParameterGroupName"}, `{"Ref":"DatabaseParameters"}`},
	{"database.yaml", "Proxy", []string{"RequireTLS"}, `true`},
	{"cache.yaml", "CacheParameters", []string{"Properties", "maxmemory-policy"}, `"noeviction"`},
	{"cache.yaml", "Cache", []string{"CacheParameterGroupName"}, `{"Ref":"CacheParameters"}`},
	{"cache.yaml", "Cache", []string{"TransitEncryptionEnabled"}, `true`},
	{"cache.yaml", "Cache", []string{"AtRestEncryptionEnabled"}, `true`},
	{"cache.yaml", "Cache", []string{"AuthToken"}, `{"Fn::Sub":"{{resolve:secretsmanager:${CacheSecret}}}"}`},
}

// groups are what can be brought along: one nested stack each, and one condition that decides.
var groups = map[string]string{
	"network.yaml": "OwnsNetwork", "endpoints.yaml": "OwnsEndpoints", "database.yaml": "OwnsDatabase", "cache.yaml": "OwnsCache",
}

// shared are the resources of a group that exist in both cases.
var shared = map[string]bool{
	"FunctionsSecurityGroup": true, "StorageSecurityGroup": true, "FunctionsToDatabase": true, "FunctionsToCache": true,
}

var storeRules = []rule{
	{
		name: "the stores are set as the design relies on",
		faults: func(all templates) (faults []string) {
			for _, fact := range storeFacts {
				got := in(all.Stacks[fact.file], append([]string{"Resources", fact.resource, "Properties"}, fact.path...)...)
				if text(got) != fact.want {
					faults = append(faults, fmt.Sprintf("%s: %s %v is %s", fact.file, fact.resource, fact.path, text(got)))
				}
			}
			return faults
		},
		plant: func(all templates) {
			in(all.Stacks["cache.yaml"], "Resources", "CacheParameters", "Properties", "Properties").(object)["maxmemory-policy"] = "allkeys-lru"
		},
	},
	{
		name: "what is brought along is not created: one condition decides for a whole group",
		faults: func(all templates) (faults []string) {
			for file, condition := range groups {
				for _, resource := range resources(file, all.Stacks[file]) {
					if !shared[resource.name] && resource.name != "FunctionsToGivenEndpoints" && resource.body["Condition"] != condition {
						faults = append(faults, file+": "+resource.name)
					}
				}
			}
			if in(all.Expanded, "Resources", "IdentityStack", "Condition") != "OwnsIssuer" {
				faults = append(faults, "IdentityStack")
			}
			return faults
		},
		plant: func(all templates) {
			delete(in(all.Stacks["database.yaml"], "Resources", "Proxy").(object), "Condition")
		},
	},
	{
		name: "what holds data says what becomes of it",
		faults: func(all templates) (faults []string) {
			holders := all.everywhere("AWS::RDS::DBInstance", "AWS::ElastiCache::ReplicationGroup", "AWS::Cognito::UserPool",
				"AWS::SecretsManager::Secret", "AWS::SQS::Queue")
			for _, holder := range holders {
				if holder.body["DeletionPolicy"] == nil || holder.body["UpdateReplacePolicy"] == nil {
					faults = append(faults, holder.where+": "+holder.name)
				}
			}
			return faults
		},
		plant: func(all templates) {
			delete(in(all.Stacks["database.yaml"], "Resources", "Database").(object), "DeletionPolicy")
		},
	},
	{
		name: "nobody is let in from everywhere, and a group starts with no way out",
		faults: func(all templates) (faults []string) {
			for _, group := range all.everywhere("AWS::EC2::SecurityGroup", "AWS::EC2::SecurityGroupIngress") {
				inbound := []any{group.body["Properties"]}
				if group.kind == "AWS::EC2::SecurityGroup" {
					inbound, _ = group.property("SecurityGroupIngress").([]any)
					if outbound, _ := group.property("SecurityGroupEgress").([]any); len(outbound) == 0 {
						faults = append(faults, group.where+": "+group.name+" may go everywhere")
					}
				}
				for _, rule := range inbound {
					if in(rule, "SourceSecurityGroupId") == nil || in(rule, "CidrIp") != nil {
						faults = append(faults, group.where+": "+group.name+" lets in "+text(rule))
					}
				}
			}
			return faults
		},
		plant: func(all templates) {
			delete(in(all.Stacks["database.yaml"], "Resources", "DatabaseSecurityGroup", "Properties").(object), "SecurityGroupEgress")
		},
	},
}
