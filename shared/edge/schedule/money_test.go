package schedule_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	simulated "holdfast/infra/local/provider"
	"holdfast/infra/local/s3"
	"holdfast/shared/audit"
	"holdfast/shared/edge/boot"
	"holdfast/shared/edge/objects"
	"holdfast/shared/edge/provider"
	"holdfast/shared/edge/schedule"
	"holdfast/shared/metric"
	"holdfast/shared/reconcile"
	"holdfast/shared/reconcile/export"
)

func TestReconcileDepositsFindsWhatIsWrongAndPrintsItAsAMetric(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var printed bytes.Buffer
	boot.Measure(&w.d, metric.New(&printed, time.Now))
	h := schedule.NewReconcileDeposits(w.d)
	if summary := w.run(h); summary["status"] != "SUCCEEDED" || summary["differences"] != 0.0 || printed.Len() > 0 {
		t.Errorf("sound: %v, printed %s", summary, printed.String())
	}
	if _, err := w.d.DB.ExecContext(t.Context(), `INSERT INTO account_inbox (account, currency, amount) VALUES ('HOUSE', 'CNY', 0.01)`); err != nil {
		t.Fatal(err)
	}
	summary := w.run(h)
	open, err := reconcile.ListDifferences(t.Context(), w.d.DB, reconcile.DifferenceFilter{Status: reconcile.DifferenceOpen}, 1<<40, 10)
	if err != nil || len(open) != 2 || summary["differences"] != 2.0 {
		t.Errorf("%v, %+v, %v", summary, open, err)
	}
	if !strings.Contains(printed.String(), `"deposit_reconciliation_diff_total":2`) {
		t.Errorf("printed %s", printed.String())
	}
	if summary := w.run(schedule.NewReconcileStock(w.d)); summary["money"] != nil {
		t.Errorf("there is no round to go on with: %v", summary["money"])
	}
}

func TestReconcileDepositsAsksTheProviderForItsList(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if summary := w.run(schedule.NewReconcileDeposits(w.d)); summary["provider"] != "NO_PROVIDER" {
		t.Errorf("without a provider: %v", summary)
	}
	key := func(context.Context) ([]byte, error) { return []byte("key"), nil }
	bank := simulated.Start(simulated.Options{Key: []byte("key"), Now: time.Now, Webhook: func() string { return "" }})
	front := httptest.NewServer(bank)
	t.Cleanup(bank.Close)
	boot.Connect(&w.d, boot.Outside{Provider: provider.New(front.URL, key, time.Now)})
	if summary := w.run(schedule.NewReconcileDeposits(w.d)); summary["provider"] != "ASKED" || summary["askedUntil"] == nil {
		t.Errorf("with one: %v", summary)
	}
	front.Close()
	if summary := w.run(schedule.NewReconcileDeposits(w.d)); summary["status"] != "SUCCEEDED" || summary["provider"] != "NO_ANSWER" {
		t.Errorf("with one that is away: %v", summary)
	}
}

func TestCompensateOrdersWritesExports(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j, err := export.Request(t.Context(), w.d.DB, export.Wish{Kind: export.Orders}, audit.Entry{Operator: "op", Action: "export.start", Subject: "s", RequestID: "r"})
	if err != nil {
		t.Fatal(err)
	}
	waiting := w.run(schedule.NewCompensateOrders(w.d)) // without a store it waits
	server := httptest.NewServer(s3.New(nil))
	t.Cleanup(server.Close)
	w.d.Exports = objects.New(boot.LocalConfig(server.URL), "files", time.Now)
	summary := w.run(schedule.NewCompensateOrders(w.d))
	if waiting["exports"].(map[string]any)["written"] != 0.0 || summary["exports"].(map[string]any)["written"] != 1.0 {
		t.Errorf("%v, then %v", waiting["exports"], summary["exports"])
	}
	if j, err = reconcile.GetJob(context.Background(), w.d.DB, j.ID); err != nil || j.Status != "SUCCEEDED" {
		t.Fatalf("%+v, %v", j, err)
	}
	_, rest, _ := strings.Cut(string(j.Result), `"url":"`)
	address, _, _ := strings.Cut(strings.ReplaceAll(rest, `\u0026`, "&"), `"`)
	answer, err := http.Get(address)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %v, %v", address, answer, err)
	}
	_ = answer.Body.Close()
}
