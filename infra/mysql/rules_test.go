package mysql_test

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"

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

func TestOneActiveJobPerKindAndActivityAndAnyNumberOfFinishedOnes(t *testing.T) {
	t.Parallel()
	db := testenv.MySQL(t)
	finished := row{"status": "SUCCEEDED", "finished_at": noon}
	insert := func(change row) error { return soundRows["job"].with(change).insert(t.Context(), db, "job") }
	for i, change := range []row{finished, finished, {}, {"kind": "OTHER"}, {"activity_id": "B"}} {
		if err := insert(change.with(row{"job_id": fmt.Sprint("j", i)})); err != nil {
			t.Errorf("job %d: %v", i, err)
		}
	}
	running := row{"status": "RUNNING", "started_at": noon}
	for _, change := range []row{{"job_id": "second"}, running.with(row{"job_id": "third"})} {
		if key, ok := sqltx.DuplicateKey(insert(change)); !ok || key != "job_active" {
			t.Errorf("%v was accepted beside a queued one (%q)", change, key)
		}
	}
}

var spellings = []string{"aB3x", "Ab3X", "aB3x "}

// notIDs are the texts in unique keys that are no ids: closed lists and forms that a CHECK holds.
var notIDs = []string{"kind", "reference"}

// mixedUp lists the id columns of unique keys in which two of the three spellings are one row.
func mixedUp(t *testing.T, db *sql.DB, rows map[string]row) (out []string, tried int) {
	t.Helper()
	conn := unlinked(t, db)
	const keys = `SELECT CONCAT(s.table_name, ' ', s.index_name, ' ', s.column_name) FROM information_schema.statistics s
		JOIN information_schema.columns c ON c.table_schema = s.table_schema AND c.table_name = s.table_name AND c.column_name = s.column_name
		WHERE s.table_schema = DATABASE() AND s.non_unique = 0 AND c.data_type IN ('varbinary', 'varchar', 'char', 'text')
		AND s.table_name <> 'goose_db_version' ORDER BY 1`
	for _, line := range textColumn(t, conn, keys) {
		part := strings.Fields(line)
		table, index, column := part[0], part[1], part[2]
		if slices.Contains(notIDs, column) {
			continue
		}
		tried++
		for i, spelling := range spellings {
			change := otherKeys(t, conn, table, index, i)
			change[column] = spelling
			if err := rows[table].with(change).insert(t.Context(), conn, table); err != nil {
				out = append(out, fmt.Sprintf("%s: %q: %v", line, spelling, err))
			}
		}
		if _, err := conn.ExecContext(t.Context(), "DELETE FROM "+table); err != nil {
			t.Fatal(err)
		}
	}
	return out, tried
}

// otherKeys gives the i-th row its own values in all unique keys but the one that is looked at.
func otherKeys(t *testing.T, conn *sql.Conn, table, index string, i int) row {
	t.Helper()
	const columns = `SELECT DISTINCT s.column_name FROM information_schema.statistics s WHERE s.table_schema = DATABASE() AND s.non_unique = 0
		AND s.table_name = ? AND s.index_name <> ? AND s.column_name NOT IN
		(SELECT o.column_name FROM information_schema.statistics o WHERE o.table_schema = DATABASE() AND o.table_name = s.table_name AND o.index_name = ?)`
	own := map[string]any{"id": sixteen(fmt.Sprint(i)), "number": i + 1, "position": i, "reference": fmt.Sprintf("REFERENC0%d", i),
		"job_id": fmt.Sprint("j", i), "alert_id": i + 1, "dead_letter_id": i + 1, "replaces": nil, "replaced_by": nil,
		"activity_id": fmt.Sprint("a", i), "kind": fmt.Sprint("K", i), "ticket_type": fmt.Sprint("t", i), "active": nil, "open_mark": nil,
		"difference_id": i + 1, "run_id": fmt.Sprint("r", i)}
	change := row{}
	for _, column := range textColumn(t, conn, columns, table, index, index) {
		value, known := own[column]
		if !known {
			t.Fatalf("%s.%s stands in a unique key and the test has no values for it", table, column)
		}
		if column != "active" && column != "open_mark" { // These compute themselves.
			change[column] = value
		}
	}
	return change
}

func TestThreeSpellingsAreThreeIdsInEveryUniqueKey(t *testing.T) {
	t.Parallel()
	db := testenv.MySQL(t)
	faults, tried := mixedUp(t, db, soundRows)
	for _, fault := range faults {
		t.Error(fault)
	}
	if tried < 20 {
		t.Errorf("only %d columns were tried", tried)
	}
	// An id of a usual collation is found: this one is planted.
	const planted = `CREATE TABLE planted (user_id VARCHAR(64) NOT NULL, n INT, PRIMARY KEY (user_id)) DEFAULT CHARSET = utf8mb4`
	if _, err := db.ExecContext(t.Context(), planted); err != nil {
		t.Fatal(err)
	}
	rows := map[string]row{"planted": {"user_id": "u", "n": 1}}
	for name, sound := range soundRows {
		rows[name] = sound
	}
	if faults, _ := mixedUp(t, db, rows); len(faults) != 2 {
		t.Errorf("the planted key was not found: %q", faults)
	}
}
