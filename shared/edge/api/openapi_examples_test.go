package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"holdfast/shared/reconcile/certificate"
	"holdfast/shared/waitlist"
)

// written pairs every schema that is answered with the structure that is written.
var written = map[string]any{
	"Activity": activityView{}, "ActivityList": page[activityView]{}, "TicketType": typeView{},
	"MyActivity": myView{}, "Order": orderView{}, "OrderList": page[orderView]{}, "OrderItem": itemView{}, "Health": healthView{},
	"OperatorActivity": operatorActivity{}, "OperatorActivityList": page[operatorActivity]{}, "OperatorTicketType": operatorType{},
	"OperatorOrder": operatorOrder{}, "OperatorOrderList": page[operatorOrder]{}, "Adjustment": adjustmentView{}, "Stock": stockView{},
	"DeadLetter": deadLetterView{}, "DeadLetterList": page[deadLetterView]{}, "Alert": alertView{}, "AlertList": page[alertView]{},
	"Reconciliation": runView{}, "Difference": differenceView{}, "DifferenceList": page[differenceView]{},
	"Certificate": certificate.Certificate{}, "Equation": certificate.Equation{}, "Job": jobView{},
	"TimelineEvent": eventView{}, "OrderTimeline": orderTimeline{}, "BuyerTimeline": buyerTimeline{},
	"Payment": paymentView{}, "Refund": refundView{},
	"DepositPolicy": policyView{}, "DepositOutcome": outcomeView{}, "DepositConfirmed": confirmView{}, "DepositSplit": splitView{},
	"HeldDeposit": heldView{}, "OperatorDeposit": operatorDeposit{}, "OperatorDepositList": page[operatorDeposit]{},
	"AuditRow": auditView{}, "AuditLog": page[auditView]{},
	"WaitlistEntry": waitlistView{}, "WaitlistOffer": offerView{}, "WaitlistWhy": waitlist.Why{},
	"OperatorWaitlistEntry": operatorEntryView{}, "OperatorWaitlist": page[operatorEntryView]{},
	"Notice": noticeView{}, "NoticeList": page[noticeView]{},
	"Settlement": settlementView{}, "SettledOrders": settledOrdersView{}, "SettledDeposits": settledDepositsView{},
	"SettledPenalties": settledPenaltiesView{},
	"Wallet":           walletView{}, "WalletEntry": walletEntryView{}, "WalletEntryList": page[walletEntryView]{}, "Transfer": transferView{},
	"UserWallets": userWallets{}, "UserWallet": userWalletBrief{},
}

// members lists the JSON names of a structure, and whether each is always written.
func members(t reflect.Type) map[string]bool {
	all := make(map[string]bool)
	for i := range t.NumField() {
		field := t.Field(i)
		if field.Anonymous {
			maps.Copy(all, members(field.Type))
			continue
		}
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		// "now" is left out of entity tags only, and stands in every answer.
		all[name] = name == "now" || !strings.Contains(options, "omitempty")
	}
	return all
}

// schemaGaps compares a schema's members with a structure's: the same names, and what is required is always written.
func schemaGaps(name string, properties, required []string, structure any) []string {
	var found []string
	has := members(reflect.TypeOf(structure))
	for _, property := range properties {
		if _, known := has[property]; !known {
			found = append(found, name+"."+property+": only in OpenAPI")
		}
	}
	for member := range has {
		if !slices.Contains(properties, member) {
			found = append(found, name+"."+member+": not in OpenAPI")
		}
	}
	for _, property := range required {
		if !has[property] {
			found = append(found, name+"."+property+": required, but may be left out")
		}
	}
	return found
}

func TestAnswersHaveTheMembersOfTheirSchemas(t *testing.T) {
	var doc struct {
		Components struct {
			Schemas map[string]struct {
				Properties map[string]json.RawMessage `json:"properties"`
				Required   []string                   `json:"required"`
			} `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(openAPI, &doc); err != nil {
		t.Fatal(err)
	}
	for name, structure := range written {
		schema, known := doc.Components.Schemas[name]
		if !known {
			t.Errorf("%s: no such schema", name)
			continue
		}
		for _, gap := range schemaGaps(name, slices.Collect(maps.Keys(schema.Properties)), schema.Required, structure) {
			t.Error(gap)
		}
	}
}

func TestPlantedGapsOfSchemasAreFound(t *testing.T) {
	found := schemaGaps("MyActivity", []string{"limit", "held", "waitlist", "now", "planted"}, []string{"limit", "lastOrderId"}, myView{})
	if len(found) != 3 {
		t.Fatalf("want one member too many, one too few, one not always written; got %q", found)
	}
}

func TestEveryAnsweredExampleDecodesIntoWhatIsWritten(t *testing.T) {
	examples := 0
	for path, methods := range readContract(t).Paths {
		for method, op := range methods {
			for status, response := range op.Responses {
				m, isJSON := response.Content["application/json"]
				if !isJSON || m.schema() == "" {
					continue
				}
				examples++
				if err := decodesAs(m); err != nil {
					t.Errorf("%s %s %s: %v", method, path, status, err)
				}
			}
		}
	}
	if examples < len(Routes)-1 { // all but the contract itself
		t.Errorf("only %d examples for %d calls", examples, len(Routes))
	}
}

// decodesAs decodes an example strictly into the structure of its schema and compares what that writes with the example.
func decodesAs(m media) error {
	structure, known := written[m.schema()]
	if !known {
		return fmt.Errorf("the schema %q has no structure in this test", m.schema())
	}
	into := reflect.New(reflect.TypeOf(structure))
	decoder := json.NewDecoder(bytes.NewReader(m.Example))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into.Interface()); err != nil {
		return err
	}
	again, err := encode(into.Elem().Interface())
	if err != nil {
		return err
	}
	var want, got any
	if err := json.Unmarshal(m.Example, &want); err != nil {
		return err
	}
	if err := json.Unmarshal(again, &got); err != nil {
		return err
	}
	if !reflect.DeepEqual(want, got) {
		return fmt.Errorf("written back it is %s", again)
	}
	return nil
}

func TestOperatorsExamplesAreTakenAsTheyStand(t *testing.T) {
	t.Parallel()
	w := newOpsWorld(t, "")
	example := func(operation string) (method, path, body string) {
		t.Helper()
		for path, methods := range readContract(t).Paths {
			for method, op := range methods {
				if op.OperationID == operation {
					text := string(op.RequestBody.Content["application/json"].Example)
					return strings.ToUpper(method), path, strings.ReplaceAll(text, "double-eleven", w.id)
				}
			}
		}
		t.Fatalf("no operation %s", operation)
		return "", "", ""
	}
	try := func(operation string, status int, orderID string, headers ...string) {
		t.Helper()
		method, path, body := example(operation)
		path = strings.NewReplacer("{activityId}", w.id, "{orderId}", orderID).Replace(path)
		w.must(status, method, path, body, headers...)
	}
	try("createActivity", 201, "")
	w.must(200, "POST", w.at("/publication"), "")
	try("changeActivity", 200, "", "If-Match", `"2"`)
	try("adjustStock", 200, "")
	w.open()
	try("markOrderPaid", 200, w.order("u1", "k1", 2))
	try("operatorCancelOrder", 200, w.order("u2", "k2", 1))
}
