package mysql_test

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"holdfast/shared/sqltx"
	"holdfast/shared/testenv"
)

// breaks holds for each CHECK at least one change of a sound row that the rule named refuses.
var breaks = map[string][]row{
	"activity_id_present":    {{"activity_id": ""}},
	"activity_number_48bit":  {{"number": 0}, {"number": int64(1) << 48}},
	"activity_salt_32bytes":  {{"salt": hash[:31]}},
	"activity_kind_known":    {{"kind": "ticket"}, {"kind": "AUCTION"}},
	"activity_mode_known":    {{"mode": "DEMO"}},
	"activity_title_present": {{"title": ""}},
	"activity_metadata_json": {{"metadata": "{"}},
	"activity_refund_json":   {{"refund_rule": "half"}},
	"activity_status_known":  {{"status": "OPEN"}},
	"activity_window":        {{"closes_at": noon}},
	"activity_limit":         {{"per_user_limit": 0}},
	"activity_voucher_limit": {{"kind": "VOUCHER", "per_user_limit": 2}},
	"activity_pay_window":    {{"pay_window_s": 0}},
	"activity_currency_form": {{"currency": "cny"}, {"currency": "CN"}},
	"activity_token_flag":    {{"sale_token_required": 2}},
	"activity_counters":      {{"epoch": -1}, {"rules_version": 0}, {"revision": 0}},
	"activity_called_off":    {{"cancelled_at": noon}},
	"activity_cancelled_at":  {{"status": "CANCELLED"}},

	"ticket_type_id_present":    {{"ticket_type": ""}},
	"ticket_type_position_from": {{"position": -1}},
	"ticket_type_title_present": {{"title": ""}},
	"ticket_type_price":         {{"price": "-0.01"}},
	"ticket_type_capacity":      {{"capacity": 0, "buckets": 0}},
	"ticket_type_buckets":       {{"buckets": 11}, {"buckets": 0}, {"buckets": 65, "capacity": 100}},

	"stock_bucket_number":   {{"bucket": -1}, {"bucket": 64}},
	"stock_bucket_capacity": {{"capacity": 0}},
	"stock_bucket_frozen":   {{"frozen": -1}},
	"stock_bucket_sold":     {{"sold": -1}},
	"stock_bucket_gate":     {{"frozen": 3, "sold": 3}, {"adjusted": -6}, {"adjusted": -1, "sold": 5}},

	"trade_order_reference_form":  {{"reference": "SHORT"}},
	"trade_order_revision_from":   {{"revision": 0}},
	"trade_order_activity":        {{"activity_id": ""}},
	"trade_order_type":            {{"ticket_type": ""}},
	"trade_order_user_present":    {{"user_id": ""}},
	"trade_order_quantity":        {{"quantity": 0, "amount": "0.00"}, {"quantity": -2, "amount": "-3.00"}},
	"trade_order_allocated":       {{"allocations": ""}},
	"trade_order_price":           {{"unit_price": "-1.50", "amount": "-3.00"}},
	"trade_order_amount":          {{"amount": "3.01"}},
	"trade_order_paid":            {{"status": "CANCELLED", "reason": "USER", "cancelled_at": noon, "paid": "3.01"}},
	"trade_order_paid_in_full":    {{"status": "PAID", "paid": "2.99"}},
	"trade_order_unpaid":          {{"paid": "1.00"}, {"paid_by": "P"}},
	"trade_order_refunded":        {{"status": "PAID", "paid": "3.00", "refunded": "3.01"}, {"refunded": "-1.00"}},
	"trade_order_currency":        {{"currency": "yen"}},
	"trade_order_mode":            {{"mode": "DEMO"}},
	"trade_order_source":          {{"source": "NOWHERE"}},
	"trade_order_status":          {{"status": "RESERVED"}},
	"trade_order_reason":          {{"status": "CANCELLED", "reason": "WHIM", "cancelled_at": noon}},
	"trade_order_reason_iff":      {{"reason": "USER"}, {"status": "CANCELLED", "cancelled_at": noon}},
	"trade_order_cancelled_iff":   {{"cancelled_at": noon}, {"status": "CANCELLED", "reason": "USER"}},
	"trade_order_released":        {{"released_at": noon}},
	"trade_order_deadline_second": {{"pay_deadline": noon.Add(1e6)}},
	"trade_order_seq":             {{"seq": -1}},
	"trade_order_replaced":        {{"replaced_by": sixteen("2")}},

	"order_router_user":     {{"user_id": ""}},
	"order_router_activity": {{"activity_id": ""}},

	"purchase_limit_user":     {{"user_id": ""}},
	"purchase_limit_quantity": {{"quantity": -1}},
	"purchase_limit_max":      {{"quantity": 0, "max_quantity": 0}},
	"purchase_limit_gate":     {{"quantity": 3}},

	"stock_log_action": {{"action": "FREEZE_ROLLED_BACK"}, {"direction": 1, "change_quantity": 2}, {"direction": 0},
		{"action": "THAW"}},
	"stock_log_change":         {{"change_quantity": 2}, {"change_quantity": 0}},
	"stock_log_figures":        {{"before_quantity": 5}},
	"stock_log_sum":            {{"before_quantity": 5, "after_quantity": 4}},
	"stock_log_business_type":  {{"business_type": 4}},
	"stock_log_reconciliation": {{"reconciliation_status": 0}},

	"stock_adjustment_id":      {{"adjustment_id": ""}},
	"stock_adjustment_delta":   {{"delta": 0}},
	"stock_adjustment_reason":  {{"reason": ""}},
	"stock_adjustment_status":  {{"status": "DONE"}},
	"stock_adjustment_split":   {{"status": "APPLIED", "split": ""}},
	"stock_adjustment_refusal": {{"status": "REFUSED"}, {"refusal": "STOCK_BELOW_SOLD"}},

	"compensation_fail_kind":     {{"kind": "LOAD"}},
	"compensation_fail_status":   {{"status": "LOST"}},
	"compensation_fail_attempts": {{"attempts": -1}},

	"idempotency_user":        {{"user_id": ""}},
	"idempotency_route":       {{"route": ""}},
	"idempotency_key_present": {{"idempotency_key": ""}},
	"idempotency_status":      {{"status": 409, "answer": "{}"}},
	"idempotency_answered":    {{"status": 200}, {"answer": "{}"}},
	"idempotency_life":        {{"expires_at": noon}},

	"alert_detail_json":  {{"detail": "no"}},
	"alert_occurrences":  {{"occurrences": 0}},
	"alert_times":        {{"last_at": noon.Add(-1e9)}},
	"alert_acknowledged": {{"acknowledged_at": noon}},

	"dead_letter_receives": {{"receive_count": -1}},

	"job_status":     {{"status": "LOST"}},
	"job_parameters": {{"parameters": "["}},
	"job_result":     {{"result": "["}},
	"job_progress":   {{"done": -1}, {"done": 2, "total": 1}},
	"job_attempts":   {{"attempts": -1}},
	"job_finished":   {{"status": "FAILED"}, {"finished_at": noon}},
	"job_started":    {{"status": "RUNNING"}},

	"lease_name":   {{"name": ""}},
	"lease_holder": {{"holder": ""}},
	"lease_token":  {{"token": 0}},

	"reconcile_run_id":       {{"run_id": ""}},
	"reconcile_run_mode":     {{"mode": "LOOK"}},
	"reconcile_run_cause":    {{"cause": "WHIM"}},
	"reconcile_run_status":   {{"status": "LOST"}},
	"reconcile_run_counts":   {{"checked": -1}, {"activities": -1}, {"differences": -1}},
	"reconcile_run_repaired": {{"repaired": "two"}},
	"reconcile_run_detail":   {{"detail": "{"}},
	"reconcile_run_finished": {{"status": "SUCCEEDED"}, {"finished_at": noon}},
	"reconcile_run_started":  {{"status": "RUNNING"}},

	"difference_revision":    {{"revision": 0}},
	"difference_status":      {{"status": "LOST", "resolved_at": noon}},
	"difference_evidence":    {{"evidence": "none"}},
	"difference_inverse":     {{"inverse": "none"}},
	"difference_occurrences": {{"occurrences": 0}},
	"difference_resolved":    {{"status": "GONE"}, {"resolved_at": noon}},
	"difference_action":      {{"status": "RESOLVED", "resolved_at": noon, "operator": "O"}, {"action": "RELEASE"}},
	"difference_operator":    {{"status": "RESOLVED", "resolved_at": noon, "action": "RELEASE"}, {"operator": "O"}},

	"repair_layer":             {{"layer": 4}},
	"repair_kind":              {{"kind": "MAGIC"}},
	"repair_order_or_activity": {{"order_id": nil}, {"kind": "LOAD"}},

	"certificate_verdict": {{"verdict": "MAYBE"}},
	"certificate_body":    {{"body": "none"}},

	"last_consistent_counts": {{"epoch": -1}, {"seq": -1}, {"orders": -1}},

	"audit_log_operator_present": {{"operator": ""}},
	"audit_log_action_present":   {{"action": ""}},
	"audit_log_subject_present":  {{"subject": ""}},
	"audit_log_detail_json":      {{"detail": "{"}},

	"wallet_user":     {{"user_id": ""}},
	"wallet_currency": {{"currency": "cny"}, {"currency": "CN"}, {"currency": "C1Y"}},
	"wallet_gate":     {{"available": "-0.01"}, {"frozen": "-0.01"}},
	"wallet_version":  {{"version": -1}},

	"wallet_log_type":      {{"type": "GIFT"}, {"type": "top_up"}},
	"wallet_log_reference": {{"reference": ""}},
	"wallet_log_user":      {{"user_id": ""}},
	"wallet_log_currency":  {{"currency": "yen"}},
	"wallet_log_amount":    {{"amount": "0.00"}, {"amount": "-1.00"}},
	"wallet_log_accounts":  {{"from_account": "AVAIL"}, {"from_account": ""}, {"to_account": "", "version": nil, "available_after": nil, "frozen_after": nil}},
	"wallet_log_wallet": {{"version": nil, "available_after": nil, "frozen_after": nil}, {"to_account": "HOUSE"},
		{"from_account": "FROZEN", "to_account": "HOUSE", "version": nil, "available_after": nil, "frozen_after": nil}},
	"wallet_log_after":    {{"available_after": nil}, {"frozen_after": nil}, {"to_account": "HOUSE", "version": nil}},
	"wallet_log_balances": {{"available_after": "-0.01"}, {"frozen_after": "-0.01"}, {"version": 0}},

	"account_name":     {{"account": ""}},
	"account_currency": {{"currency": "cny"}},

	"account_inbox_name":     {{"account": ""}},
	"account_inbox_currency": {{"currency": "cny"}},
	"account_inbox_amount":   {{"amount": "0.00"}},

	"deposit_policy_version":      {{"version": 0}},
	"deposit_policy_one_of":       {{"amount": "1.00"}, {"ratio": nil}},
	"deposit_policy_amount":       {{"ratio": nil, "amount": "0.00"}},
	"deposit_policy_ratio":        {{"ratio": "0"}, {"ratio": "1.000001"}},
	"deposit_policy_penalty":      {{"penalty_ratio": "-0.1"}, {"penalty_ratio": "1.000001"}},
	"deposit_policy_instants":     {{"remind_at": noon.Add(time.Hour)}, {"remind_at": noon.Add(1e6)}, {"confirm_deadline": noon.Add(time.Hour + 1e6)}},
	"deposit_policy_cancellation": {{"cancellation": "MAYBE"}},
	"deposit_policy_club":         {{"club_id": ""}},
	"deposit_policy_lead":         {{"offer_lead_s": -1}},

	"deposit_record_activity_id": {{"activity_id": ""}},
	"deposit_record_user":        {{"user_id": ""}},
	"deposit_record_currency":    {{"currency": "cny"}},
	"deposit_record_mode":        {{"mode": "DEMO"}},
	"deposit_record_status":      {{"status": "LOST", "settled_at": noon, "refunded": "3.00"}},
	"deposit_record_deposit":     {{"deposit": "0.00", "penalty_due": "0.00"}},
	"deposit_record_penalty_due": {{"penalty_due": "3.01"}, {"penalty_due": "-0.01"}},
	"deposit_record_parts": {{"supplement": "-0.01"}, {"status": "REFUNDED", "settled_at": noon, "consumed": "-1.00", "refunded": "4.00"},
		{"status": "PENALTY", "settled_at": noon, "penalty": "4.00", "refunded": "-1.00"}},
	"deposit_record_sum": {{"refunded": "3.00"}, {"status": "REFUNDED", "settled_at": noon, "refunded": "2.99"},
		{"status": "DEDUCTED", "settled_at": noon, "consumed": "3.00", "refunded": "0.01"}},
	"deposit_record_sides":        {{"status": "DEDUCTED", "settled_at": noon, "consumed": "2.00", "penalty": "1.00"}},
	"deposit_record_supplement":   {{"supplement": "1.00"}, {"status": "REFUNDED", "settled_at": noon, "refunded": "3.00", "supplement": "1.00"}},
	"deposit_record_reversed":     {{"penalty_reversed": "0.01"}, {"penalty_reversed": "-0.01"}},
	"deposit_record_seconds":      {{"confirm_deadline": noon.Add(1e6)}, {"remind_at": noon.Add(1e6)}},
	"deposit_record_ratio":        {{"penalty_ratio": "1.000001"}, {"penalty_ratio": "-0.1"}},
	"deposit_record_cancellation": {{"cancellation": "MAYBE"}},
	"deposit_record_club":         {{"club_id": ""}},
	"deposit_record_revision":     {{"revision": 0}},
	"deposit_record_settled_iff":  {{"settled_at": noon}, {"status": "REFUNDED", "refunded": "3.00"}},

	"payment_id":          {{"payment_id": ""}},
	"payment_user":        {{"user_id": ""}},
	"payment_mode":        {{"mode": "DEMO"}},
	"payment_method":      {{"method": "CASH"}},
	"payment_amount":      {{"amount": "0.00"}, {"amount": "-1.00"}},
	"payment_currency":    {{"currency": "cny"}},
	"payment_status":      {{"status": "LOST"}},
	"payment_disposition": {{"disposition": "KEEP", "status": "SUCCEEDED", "succeeded_at": noon}},
	"payment_disposed":    {{"disposition": "ORDER"}, {"disposition": "REFUND", "status": "EXPIRED"}},
	"payment_replacing":   {{"disposition": "NEW_ORDER", "status": "SUCCEEDED", "succeeded_at": noon}},
	"payment_action":      {{"action": "{"}},
	"payment_failure":     {{"failure": "DECLINED"}, {"status": "FAILED"}},
	"payment_succeeded":   {{"succeeded_at": noon}, {"status": "SUCCEEDED"}},
	"payment_second":      {{"expires_at": noon.Add(1e6)}},

	"refund_id":       {{"refund_id": ""}},
	"refund_user":     {{"user_id": ""}},
	"refund_flags":    {{"surplus": 2}, {"surplus": nil, "penalty": 0}, {"penalty": 1}},
	"refund_payment":  {{"payment_id": nil}},
	"refund_target":   {{"target": "MOON"}},
	"refund_amount":   {{"amount": "0.00"}, {"amount": "-5.00"}},
	"refund_currency": {{"currency": "cny"}},
	"refund_status":   {{"status": "LOST"}},
	"refund_reason":   {{"reason": ""}},
	"refund_attempts": {{"attempts": -1}},
	"refund_finished": {{"finished_at": noon}, {"status": "SUCCEEDED"}, {"status": "FAILED"}},

	"waitlist_entry_activity": {{"activity_id": ""}},
	"waitlist_entry_type":     {{"ticket_type": ""}},
	"waitlist_entry_user":     {{"user_id": ""}},
	"waitlist_entry_quantity": {{"quantity": 0}},
	"waitlist_entry_status":   {{"status": "LOST"}},
	"waitlist_entry_reason":   {{"reason": "LIMIT"}, {"status": "CLOSED"}},
	"waitlist_entry_attempt":  {{"attempt": -1}},
	"waitlist_entry_offer": {{"status": "OFFERED"}, {"status": "ACCEPTED", "order_id": sixteen("2")},
		{"status": "LAPSED", "accept_by": noon}},
	"waitlist_entry_second": {{"accept_by": noon.Add(1e6)}},

	"notice_subject":  {{"subject": ""}},
	"notice_kind":     {{"kind": ""}},
	"notice_user_id":  {{"user_id": ""}},
	"notice_activity": {{"activity_id": ""}},
	"notice_mode":     {{"mode": "DEMO"}},
	"notice_data":     {{"data": "{"}},
	"notice_status":   {{"status": "LOST"}},
	"notice_attempts": {{"attempts": -1}},
	"notice_sent":     {{"sent_at": noon}, {"status": "SENT"}},
}

// unbroken lists the rules of the database that no case of breaks shows to hold.
func unbroken(t *testing.T, db *sql.DB) (out []string) {
	t.Helper()
	conn := unlinked(t, db)
	const rules = `SELECT CONCAT(constraint_name, ' ', table_name) FROM information_schema.table_constraints
		WHERE table_schema = DATABASE() AND constraint_type = 'CHECK' ORDER BY 1`
	for _, line := range textColumn(t, conn, rules) {
		name, table, _ := strings.Cut(line, " ")
		cases := breaks[name]
		if len(cases) == 0 {
			out = append(out, fmt.Sprintf("%s: no row breaks it", line))
		}
		for _, change := range cases {
			err := soundRows[table].with(change).insert(t.Context(), conn, table)
			if !sqltx.CheckViolated(err) || !strings.Contains(err.Error(), "`"+name+"`") {
				out = append(out, fmt.Sprintf("%s: %v gives %v", line, change, err))
			}
		}
	}
	return out
}

func TestEveryRuleRefusesTheRowsThatBreakIt(t *testing.T) {
	t.Parallel()
	db := testenv.MySQL(t)
	for _, fault := range unbroken(t, db) {
		t.Error(fault)
	}
	// A rule that nothing tests is found: this one is planted.
	if _, err := db.ExecContext(t.Context(), `ALTER TABLE lease ADD CONSTRAINT lease_planted CHECK (LENGTH(name) < 100)`); err != nil {
		t.Fatal(err)
	}
	if got := unbroken(t, db); len(got) != 1 || !strings.HasPrefix(got[0], "lease_planted") {
		t.Errorf("the planted rule was not found: %q", got)
	}
}
