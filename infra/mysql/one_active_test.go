package mysql_test

import (
	"fmt"
	"testing"

	"holdfast/shared/sqltx"
	"holdfast/shared/testenv"
)

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

func TestOneOpenAndOneDecidingPaymentPerOrderAndAnyNumberOfOthers(t *testing.T) {
	t.Parallel()
	db := testenv.MySQL(t)
	succeeded := row{"status": "SUCCEEDED", "succeeded_at": noon}
	insert := func(id string, change row) error {
		return soundRows["payment"].with(change).with(row{"payment_id": id}).insert(t.Context(), db, "payment")
	}
	for i, change := range []row{{}, succeeded.with(row{"disposition": "ORDER"}), succeeded, succeeded, succeeded.with(row{"disposition": "REFUND"}),
		{"status": "FAILED", "failure": "DECLINED"}, {"status": "EXPIRED"}, {"status": "EXPIRED"}, {"order_id": sixteen("2")},
		succeeded.with(row{"disposition": "ORDER", "order_id": sixteen("2")}),
		succeeded.with(row{"disposition": "NEW_ORDER", "new_order_id": sixteen("3")})} {
		if err := insert(fmt.Sprint("p", i), change); err != nil {
			t.Errorf("payment %d: %v", i, err)
		}
	}
	for want, change := range map[string]row{"payment_open": {}, "payment_decides": succeeded.with(row{"disposition": "ORDER"}),
		"payment_new": succeeded.with(row{"disposition": "NEW_ORDER", "new_order_id": sixteen("3")})} {
		if key, ok := sqltx.DuplicateKey(insert("second", change)); !ok || key != want {
			t.Errorf("%v was accepted (%q), want %s to refuse", change, key, want)
		}
	}
	// The one that is open becomes one that decides: the order has one already.
	_, err := db.ExecContext(t.Context(), `UPDATE payment SET status = 'SUCCEEDED', succeeded_at = ?, disposition = 'ORDER' WHERE payment_id = 'p0'`, noon)
	if key, ok := sqltx.DuplicateKey(err); !ok || key != "payment_decides" {
		t.Errorf("a second payment decided: %v", err)
	}
}

func TestOneSurplusRefundPerPaymentAndAnyNumberOfOthers(t *testing.T) {
	t.Parallel()
	db := testenv.MySQL(t)
	insert := func(id string, change row) error {
		return soundRows["refund"].with(change).with(row{"refund_id": id}).insert(t.Context(), db, "refund")
	}
	for i, change := range []row{{}, {"surplus": nil}, {"surplus": nil}, {"payment_id": "P2"}, {"surplus": nil, "payment_id": nil}} {
		if err := insert(fmt.Sprint("r", i), change); err != nil {
			t.Errorf("refund %d: %v", i, err)
		}
	}
	if key, ok := sqltx.DuplicateKey(insert("second", row{})); !ok || key != "refund_surplus" {
		t.Errorf("a payment was given back twice (%q)", key)
	}
}

func TestOneActiveWaitlistEntryPerUserAndActivityAndAnyNumberOfEndedOnes(t *testing.T) {
	t.Parallel()
	db := testenv.MySQL(t)
	insert := func(id string, change row) error {
		return soundRows["waitlist_entry"].with(change).with(row{"entry_id": sixteen(id)}).insert(t.Context(), db, "waitlist_entry")
	}
	offered := row{"status": "OFFERED", "accept_by": noon}
	for i, change := range []row{{}, {"status": "LEFT"}, {"status": "LEFT"}, {"status": "CLOSED", "reason": "LIMIT"}, {"user_id": "V"}, {"activity_id": "B"},
		offered.with(row{"status": "LAPSED", "order_id": sixteen("7")})} {
		if err := insert(fmt.Sprint("e", i), change); err != nil {
			t.Errorf("entry %d: %v", i, err)
		}
	}
	for _, change := range []row{{}, {"ticket_type": "OTHER"}, offered.with(row{"order_id": sixteen("8")})} {
		if key, ok := sqltx.DuplicateKey(insert("second", change)); !ok || key != "waitlist_active" {
			t.Errorf("%v was accepted beside one that waits (%q)", change, key)
		}
	}
	if key, ok := sqltx.DuplicateKey(insert("third", offered.with(row{"user_id": "W", "order_id": sixteen("7")}))); !ok || key != "waitlist_order" {
		t.Errorf("an order was offered twice (%q)", key)
	}
}

func TestMovementsAndNoticesAreWrittenOnce(t *testing.T) {
	t.Parallel()
	db := testenv.MySQL(t)
	for _, c := range []struct {
		table, key string
		same       row // refused beside the sound row
		others     []row
	}{
		{"wallet_log", "wallet_log_once", row{"version": 2}, []row{{"type": "WITHDRAWAL", "from_account": "AVAIL", "to_account": "OUTSIDE", "version": 2},
			{"reference": "R2", "version": 3}}},
		{"wallet_log", "wallet_log_version", row{"reference": "R9"}, []row{{"reference": "R3", "user_id": "V"}, {"reference": "R4", "currency": "EUR"}}},
		{"notice", "notice_once", row{}, []row{{"kind": "OTHER"}, {"subject": "S2"}}},
	} {
		_ = soundRows[c.table].insert(t.Context(), db, c.table) // it may stand there already
		if key, ok := sqltx.DuplicateKey(soundRows[c.table].with(c.same).insert(t.Context(), db, c.table)); !ok || key != c.key {
			t.Errorf("%s: a second one was accepted (%q), want %s to refuse", c.table, key, c.key)
		}
		for _, other := range c.others {
			if err := soundRows[c.table].with(other).insert(t.Context(), db, c.table); err != nil {
				t.Errorf("%s: %v: %v", c.table, other, err)
			}
		}
	}
	// Any number of movements beside wallets have no version.
	for i := range 3 {
		received := row{"type": "PAYMENT_RECEIVED", "reference": fmt.Sprint("p", i), "from_account": "PROVIDER", "to_account": "SUSPENSE",
			"version": nil, "available_after": nil, "frozen_after": nil}
		if err := soundRows["wallet_log"].with(received).insert(t.Context(), db, "wallet_log"); err != nil {
			t.Error(err)
		}
	}
}
