package local

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"
)

// at walks a YAML document along mapping keys; nil when there is nothing there.
func at(node *yaml.Node, path ...string) *yaml.Node {
	if node != nil && node.Kind == yaml.DocumentNode {
		node = node.Content[0]
	}
	for _, key := range path {
		if node == nil || node.Kind != yaml.MappingNode {
			return nil
		}
		var value *yaml.Node
		for i := 0; i+1 < len(node.Content); i += 2 {
			if node.Content[i].Value == key {
				value = node.Content[i+1]
			}
		}
		node = value
	}
	return node
}

// differences names what the stack sets otherwise than the template.
func differences(template *yaml.Node) []string {
	var found []string
	same := func(what string, ours int, node *yaml.Node) {
		if node != nil && node.Tag == "!Ref" {
			node = at(template, "Parameters", node.Value, "Default")
		}
		if node == nil || node.Value != strconv.Itoa(ours) {
			found = append(found, what)
		}
	}
	inSeconds := func(d time.Duration) int { return int(d / time.Second) }
	orders := at(template, "Resources", "OrdersQueue", "Properties")
	letters := at(template, "Resources", "DeadLetterQueue", "Properties")
	same("visibility of orders", inSeconds(ordersVisibility), at(orders, "VisibilityTimeout"))
	same("receives of orders", ordersMaxReceives, at(orders, "RedrivePolicy", "maxReceiveCount"))
	same("visibility of dead letters", inSeconds(deadLettersVisibility), at(letters, "VisibilityTimeout"))
	same("retention of dead letters", inSeconds(deadLetterRetention), at(letters, "MessageRetentionPeriod"))
	create := only(at(template, "Resources", "CreateOrdersFunction", "Properties", "Events"), "SQS")
	same("batch of orders", ordersBatchSize, at(create, "BatchSize"))
	same("window of orders", inSeconds(ordersWindow), at(create, "MaximumBatchingWindowInSeconds"))
	same("concurrency of orders", ordersConcurrency, at(create, "ScalingConfig", "MaximumConcurrency"))
	record := only(at(template, "Resources", "RecordDeadLettersFunction", "Properties", "Events"), "SQS")
	same("batch of dead letters", deadLettersBatchSize, at(record, "BatchSize"))
	notices := at(template, "Resources", "NoticesQueue", "Properties")
	same("visibility of notices", inSeconds(noticesVisibility), at(notices, "VisibilityTimeout"))
	same("receives of notices", noticesMaxReceives, at(notices, "RedrivePolicy", "maxReceiveCount"))
	send := only(at(template, "Resources", "SendNoticesFunction", "Properties", "Events"), "SQS")
	same("batch of notices", noticesBatchSize, at(send, "BatchSize"))
	same("concurrency of notices", noticesConcurrency, at(send, "ScalingConfig", "MaximumConcurrency"))
	for name, every := range scheduled {
		rate := at(only(at(template, "Resources", logicalID(name), "Properties", "Events"), "ScheduleV2"), "ScheduleExpression")
		if rate == nil || rate.Value != rateOf(every) {
			found = append(found, "schedule of "+name)
		}
	}
	return found
}

// logicalID is how the template calls a function: expire-orders is ExpireOrdersFunction.
func logicalID(name string) string {
	var id strings.Builder
	for word := range strings.SplitSeq(name, "-") {
		id.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return id.String() + "Function"
}

// rateOf is how the template writes a rate.
func rateOf(every time.Duration) string {
	switch every {
	case time.Minute:
		return "rate(1 minute)"
	case 24 * time.Hour:
		return "rate(1 day)"
	}
	return "rate(" + strconv.Itoa(int(every/time.Minute)) + " minutes)"
}

// only is the properties of the one event of a kind.
func only(events *yaml.Node, kind string) *yaml.Node {
	if events == nil {
		return nil
	}
	for i := 1; i < len(events.Content); i += 2 {
		if typed := at(events.Content[i], "Type"); typed != nil && typed.Value == kind {
			return at(events.Content[i], "Properties")
		}
	}
	return nil
}

func TestTheStackIsSetAsTheTemplateIs(t *testing.T) {
	text, err := os.ReadFile("../../template.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var template yaml.Node
	if err := yaml.Unmarshal(text, &template); err != nil {
		t.Fatal(err)
	}
	for _, what := range differences(&template) {
		t.Errorf("the stack and the template differ in: %s", what)
	}
	planted := strings.Replace(string(text), "BatchSize: 100", "BatchSize: 99", 1)
	if err := yaml.Unmarshal([]byte(planted), &template); err != nil {
		t.Fatal(err)
	}
	if found := differences(&template); !slices.Equal(found, []string{"batch of orders"}) {
		t.Errorf("a planted difference is seen as %v", found)
	}
}
