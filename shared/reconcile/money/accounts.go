package money

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"

	"holdfast/shared/reconcile"
)

// sumPage is how many rows one statement adds up: far fewer than the time that an answer may take allows.
const sumPage = 20_000

// account names one account of one currency. Those of all wallets together are AVAIL and FROZEN.
type account struct{ name, currency string }

// everything is the name under which all accounts of a currency are added up.
const everything = "ALL"

// ledger is what different tables say about the accounts.
type ledger map[account]decimal.Decimal

func (l ledger) add(a account, amount decimal.Decimal) { l[a] = l[a].Add(amount) }

// rule is one thing that an account must equal.
type rule struct {
	name string // in the evidence
	want ledger
	of   func(name string) bool // the accounts that it is about
}

// sums compares every account with what it must be, all from one snapshot.
func (r *round) sums(ctx context.Context, tx *sql.Tx, next *progress) ([]finding, error) {
	balances, err := readBalances(ctx, tx)
	if err != nil {
		return nil, err
	}
	rules, err := readRules(ctx, tx)
	if err != nil {
		return nil, err
	}
	zero := rule{name: "all accounts together", want: ledger{}, of: func(name string) bool { return name == everything }}
	for a, amount := range maps.Clone(balances) {
		balances.add(account{everything, a.currency}, amount)
	}
	rules = append(rules, zero)
	names := maps.Clone(balances)
	for _, rule := range rules {
		maps.Copy(names, rule.want)
	}
	next.Accounts += len(names)
	var found []finding
	for _, a := range slices.SortedFunc(maps.Keys(names), func(a, b account) int {
		return strings.Compare(a.currency+a.name, b.currency+b.name)
	}) {
		if f := differsAccount(a, balances[a], rules); f != nil {
			found = append(found, *f)
		}
	}
	return found, nil
}

// differsAccount holds one account against every rule about it. What it says are the gaps, for the balance moves with every sale.
func differsAccount(a account, balance decimal.Decimal, rules []rule) *finding {
	gaps, expected := map[string]string{}, map[string]string{}
	for _, rule := range rules {
		if gap := balance.Sub(rule.want[a]); rule.of(a.name) && !gap.IsZero() {
			gaps[rule.name], expected[rule.name] = gap.StringFixed(2), rule.want[a].StringFixed(2)
		}
	}
	if len(gaps) == 0 {
		return nil
	}
	return &finding{kind: reconcile.AccountDiffers, subject: a.name + " " + a.currency, says: gaps,
		evidence: evidence(map[string]any{"balance": balance.StringFixed(2), "expected": expected, "gaps": gaps})}
}

// readBalances reads the accounts with what is not rolled up yet, and the sums of all wallets.
func readBalances(ctx context.Context, tx *sql.Tx) (ledger, error) {
	balances := ledger{}
	for _, statement := range []string{
		`SELECT account, currency, balance FROM account`,
		`SELECT account, currency, SUM(amount) FROM account_inbox GROUP BY account, currency`,
		`SELECT 'AVAIL', currency, SUM(available) FROM wallet GROUP BY currency`,
		`SELECT 'FROZEN', currency, SUM(frozen) FROM wallet GROUP BY currency`,
	} {
		if err := addUp(ctx, tx, statement, balances); err != nil {
			return nil, err
		}
	}
	return balances, nil
}

// readRules reads what the accounts must be by other tables. A TEST sale moves no money.
func readRules(ctx context.Context, tx *sql.Tx) ([]rule, error) {
	entries, house, clubs, suspense, provider, frozen := ledger{}, ledger{}, ledger{}, ledger{}, ledger{}, ledger{}
	for _, read := range []struct {
		into      ledger
		statement string
		from      any // below every key
	}{
		{entries, `SELECT MAX(k), COUNT(*), account, currency, SUM(amount) FROM (SELECT entry_id AS k, to_account AS account, currency, amount
 FROM wallet_log WHERE entry_id > ? ORDER BY entry_id LIMIT ?) AS page GROUP BY account, currency`, int64(0)},
		{entries, `SELECT MAX(k), COUNT(*), account, currency, SUM(-amount) FROM (SELECT entry_id AS k, from_account AS account, currency, amount
 FROM wallet_log WHERE entry_id > ? ORDER BY entry_id LIMIT ?) AS page GROUP BY account, currency`, int64(0)},
		{house, `SELECT MAX(k), COUNT(*), 'HOUSE', currency, SUM(CASE mode WHEN 'LIVE' THEN paid - refunded ELSE 0 END) FROM (SELECT id AS k,
 currency, mode, paid, refunded FROM trade_order WHERE id > ? ORDER BY id LIMIT ?) AS page GROUP BY currency`, []byte{}},
		{clubs, `SELECT MAX(k), COUNT(*), CONCAT('CLUB:', club_id), currency, SUM(CASE mode WHEN 'LIVE' THEN penalty - penalty_reversed ELSE 0 END)
 FROM (SELECT order_id AS k, club_id, currency, mode, penalty, penalty_reversed FROM deposit_record WHERE order_id > ? ORDER BY order_id
 LIMIT ?) AS page GROUP BY club_id, currency`, []byte{}},
		{frozen, `SELECT MAX(k), COUNT(*), 'FROZEN', currency, SUM(CASE WHEN mode = 'LIVE' AND status = 'FROZEN' THEN deposit ELSE 0 END)
 FROM (SELECT order_id AS k, currency, mode, status, deposit FROM deposit_record WHERE order_id > ? ORDER BY order_id LIMIT ?) AS page
 GROUP BY currency`, []byte{}},
		{suspense, `SELECT MAX(k), COUNT(*), 'SUSPENSE', currency, SUM(CASE WHEN mode = 'LIVE' AND method = 'PROVIDER' AND status = 'SUCCEEDED'
 AND disposition IS NULL THEN amount ELSE 0 END) FROM (SELECT payment_id AS k, currency, mode, method, status, disposition, amount
 FROM payment WHERE payment_id > ? ORDER BY payment_id LIMIT ?) AS page GROUP BY currency`, []byte{}},
		{suspense, `SELECT MAX(k), COUNT(*), 'SUSPENSE', currency, SUM(CASE WHEN mode = 'LIVE' AND target = 'PROVIDER' AND status = 'FAILED'
 THEN amount ELSE 0 END) FROM (SELECT r.refund_id AS k, r.currency, o.mode, r.target, r.status, r.amount FROM refund r
 LEFT JOIN trade_order o ON o.id = r.order_id WHERE r.refund_id > ? ORDER BY r.refund_id LIMIT ?) AS page GROUP BY currency`, []byte{}},
		{provider, `SELECT MAX(k), COUNT(*), 'PROVIDER', currency, SUM(CASE WHEN mode = 'LIVE' AND method = 'PROVIDER' AND status = 'SUCCEEDED'
 THEN -amount ELSE 0 END) FROM (SELECT payment_id AS k, currency, mode, method, status, amount FROM payment WHERE payment_id > ?
 ORDER BY payment_id LIMIT ?) AS page GROUP BY currency`, []byte{}},
		{provider, `SELECT MAX(k), COUNT(*), 'PROVIDER', currency, SUM(CASE WHEN mode = 'LIVE' AND target = 'PROVIDER' AND status <> 'FAILED'
 THEN amount ELSE 0 END) FROM (SELECT r.refund_id AS k, r.currency, o.mode, r.target, r.status, r.amount FROM refund r
 LEFT JOIN trade_order o ON o.id = r.order_id WHERE r.refund_id > ? ORDER BY r.refund_id LIMIT ?) AS page GROUP BY currency`, []byte{}},
	} {
		if err := addPages(ctx, tx, read.statement, read.from, read.into); err != nil {
			return nil, err
		}
	}
	is := func(wanted string) func(string) bool { return func(name string) bool { return name == wanted } }
	return []rule{
		{"entries", entries, func(name string) bool { return name != everything }},
		{"orders paid, less refunded", house, is("HOUSE")},
		{"penalties, less given back", clubs, func(name string) bool { return strings.HasPrefix(name, "CLUB:") }},
		{"deposits FROZEN", frozen, is("FROZEN")},
		{"successes not decided, and refunds that failed", suspense, is("SUSPENSE")},
		{"refunds that did not fail, less successes", provider, is("PROVIDER")},
	}, nil
}

// addUp adds the rows of a statement, (account, currency, sum), to a ledger.
func addUp(ctx context.Context, tx *sql.Tx, statement string, into ledger) error {
	rows, err := tx.QueryContext(ctx, statement)
	if err != nil {
		return fmt.Errorf("money: read sums: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var a account
		var amount decimal.Decimal
		if err := rows.Scan(&a.name, &a.currency, &amount); err != nil {
			return fmt.Errorf("money: read sums: %w", err)
		}
		into.add(a, amount)
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("money: read sums: %w", err)
	}
	return nil
}

// addPages adds up what a statement gives page by page, (highest key, rows, account, currency, sum), from below a key on.
func addPages(ctx context.Context, tx *sql.Tx, statement string, from any, into ledger) error {
	for {
		last, n, err := addPage(ctx, tx, statement, from, into)
		if err != nil {
			return err
		}
		if n < sumPage {
			return nil
		}
		from = last
	}
}

func addPage(ctx context.Context, tx *sql.Tx, statement string, from any, into ledger) (last any, n int, err error) {
	rows, err := tx.QueryContext(ctx, statement, from, sumPage)
	if err != nil {
		return nil, 0, fmt.Errorf("money: read sums: %w", err)
	}
	defer rows.Close()
	last = from
	for rows.Next() {
		var key []byte
		var count int
		var a account
		var amount decimal.Decimal
		if err := rows.Scan(&key, &count, &a.name, &a.currency, &amount); err != nil {
			return nil, 0, fmt.Errorf("money: read sums: %w", err)
		}
		into.add(a, amount)
		n += count
		if last, err = higher(last, key); err != nil {
			return nil, 0, err
		}
	}
	if err := rows.Err(); err != nil {
		return nil, 0, fmt.Errorf("money: read sums: %w", err)
	}
	return last, n, nil
}

// higher is the higher one of a key and another one as the database writes it.
func higher(than any, key []byte) (any, error) {
	switch than := than.(type) {
	case int64:
		number, err := strconv.ParseInt(string(key), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("money: read sums: key %q: %w", key, err)
		}
		return max(than, number), nil
	case []byte:
		if bytes.Compare(key, than) > 0 {
			return bytes.Clone(key), nil
		}
		return than, nil
	}
	return nil, fmt.Errorf("money: no keys of type %T", than)
}
