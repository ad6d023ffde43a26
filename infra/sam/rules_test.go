package sam

import "testing"

// rule is something that holds for the templates, and a change that breaks it.
type rule struct {
	name string
	// faults names every place where the rule is broken.
	faults func(templates) []string
	// plant breaks the rule in a copy of the templates.
	plant func(templates)
}

var rules = concat(queueRules, functionRules, roleRules, apiRules, stackRules, storeRules, stateRules)

func concat(groups ...[]rule) []rule {
	var all []rule
	for _, group := range groups {
		all = append(all, group...)
	}
	return all
}

func TestTemplatesKeepTheRules(t *testing.T) {
	for _, rule := range rules {
		t.Run(rule.name, func(t *testing.T) {
			for _, fault := range rule.faults(expanded(t)) {
				t.Error(fault)
			}
		})
	}
}

func TestBrokenRulesAreFound(t *testing.T) {
	for _, rule := range rules {
		t.Run(rule.name, func(t *testing.T) {
			all := expanded(t)
			rule.plant(all)
			if len(rule.faults(all)) == 0 {
				t.Error("the planted violation was not found")
			}
		})
	}
}
