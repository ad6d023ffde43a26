package invariant

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"

	"holdfast/shared/sqltx"
)

// accountKey names an account that is no wallet; for sums over all wallets the account is AVAIL or FROZEN.
type accountKey struct{ account, currency string }

func (k accountKey) String() string { return "account " + k.account + " " + k.currency }

// accountChecks holds the accounts against the entries and against each other.
type accountChecks struct {
	zero, entries *tally             // G3, G4
	balances      map[accountKey]int // account and inbox, or the sum of wallets
	logged        map[accountKey]int // by the entries
}

func newAccountChecks() *accountChecks {
	return &accountChecks{zero: newTally("G3", "all accounts and wallets of a currency together = 0, in hundredths"),
		entries:  newTally("G4", "accounts, with what is not rolled up yet = what their entries add up to, in hundredths"),
		balances: make(map[accountKey]int), logged: make(map[accountKey]int)}
}

// check reads all accounts, wallets and entries.
func (c *accountChecks) check(ctx context.Context, tx *sql.Tx) error {
	into := func(sums map[accountKey]int) func(func(...any) error) error {
		return func(scan func(...any) error) error {
			var k accountKey
			var amount int
			err := scan(&k.account, &k.currency, &amount)
			sums[k] += amount
			return err
		}
	}
	for _, read := range []struct {
		sums  map[accountKey]int
		query string
	}{
		{c.balances, `SELECT account, currency, CAST(balance * 100 AS SIGNED) FROM account`},
		{c.balances, `SELECT account, currency, CAST(SUM(amount) * 100 AS SIGNED) FROM account_inbox GROUP BY account, currency`},
		{c.balances, `SELECT 'AVAIL', currency, CAST(SUM(available) * 100 AS SIGNED) FROM wallet GROUP BY currency`},
		{c.balances, `SELECT 'FROZEN', currency, CAST(SUM(frozen) * 100 AS SIGNED) FROM wallet GROUP BY currency`},
		{c.logged, `SELECT to_account, currency, CAST(SUM(amount) * 100 AS SIGNED) FROM wallet_log GROUP BY to_account, currency`},
		{c.logged, `SELECT from_account, currency, CAST(SUM(-amount) * 100 AS SIGNED) FROM wallet_log GROUP BY from_account, currency`},
	} {
		if err := each(ctx, tx, into(read.sums), read.query); err != nil {
			return fmt.Errorf("invariant: read accounts: %w", err)
		}
	}
	return nil
}

// equations compares account by account, and adds each currency up.
func (c *accountChecks) equations() []Equation {
	keys := maps.Clone(c.balances)
	maps.Copy(keys, c.logged)
	sums := make(map[string]int)
	for _, k := range slices.SortedFunc(maps.Keys(keys), func(a, b accountKey) int {
		return slices.Compare([]string{a.currency, a.account}, []string{b.currency, b.account})
	}) {
		if k.account == "AVAIL" || k.account == "FROZEN" { // with these the sides would be 0, as everything together is
			if c.balances[k] != c.logged[k] {
				c.entries.breaks(k.String())
			}
		} else {
			c.entries.compare(c.balances[k], c.logged[k], k.String())
		}
		sums[k.currency] += c.balances[k]
	}
	for _, currency := range slices.Sorted(maps.Keys(sums)) {
		c.zero.compare(sums[currency], 0, currency)
	}
	return []Equation{c.zero.Equation, c.entries.Equation}
}

// CheckLedger checks the money of all sales together, in one snapshot: every wallet and account against the entries, and the totals
// against orders, deposits, payments and refunds. The report has no activity and nothing in flight, for money is in one store. It reads
// the whole ledger in a few statements, so it is for tests and drills; in production package money compares the same every day, in pages.
// It returns the errors of the driver.
func CheckLedger(ctx context.Context, db *sqltx.DB) (*Report, error) {
	report := &Report{}
	err := db.Snapshot(ctx, func(tx *sql.Tx) error {
		now, err := db.Now(ctx, tx)
		if err != nil {
			return err
		}
		report.At = now
		wallets := newWalletChecks("G1", "G2")
		for last := ""; ; {
			users, err := usersAfter(ctx, tx, last)
			if err != nil {
				return err
			}
			if len(users) == 0 {
				break
			}
			if err := wallets.check(ctx, tx, users); err != nil {
				return err
			}
			last = users[len(users)-1]
		}
		accounts := newAccountChecks()
		if err := accounts.check(ctx, tx); err != nil {
			return err
		}
		totals, err := totals(ctx, tx, accounts.balances)
		report.Equations = slices.Concat(wallets.equations(), accounts.equations(), totals)
		return err
	})
	if err != nil {
		return nil, err
	}
	return report, nil
}

// usersAfter lists the next users who have a wallet or an entry of one.
func usersAfter(ctx context.Context, tx *sql.Tx, last string) (users []string, err error) {
	err = each(ctx, tx, func(scan func(...any) error) error {
		var user string
		err := scan(&user)
		users = append(users, user)
		return err
	}, `SELECT user_id FROM wallet WHERE user_id > ? UNION SELECT user_id FROM wallet_log WHERE version IS NOT NULL AND user_id > ?
		ORDER BY user_id LIMIT ?`, last, last, 10*walletPage)
	if err != nil {
		return nil, fmt.Errorf("invariant: read users: %w", err)
	}
	return users, nil
}

// totals compares what accounts hold with what the rows of orders, deposits, payments and refunds say that they must.
func totals(ctx context.Context, tx *sql.Tx, balances map[accountKey]int) ([]Equation, error) {
	var equations []Equation
	for _, one := range []struct {
		id, text string
		has      func(account string) bool
		queries  []string // of currency, and what must be there in hundredths
	}{
		{"G5", "frozen in wallets = deposits that are FROZEN, in hundredths", func(a string) bool { return a == "FROZEN" }, []string{
			`SELECT currency, CAST(SUM(deposit) * 100 AS SIGNED) FROM deposit_record WHERE status = 'FROZEN' AND mode = 'LIVE' GROUP BY currency`}},
		{"G6", "HOUSE = paid for orders and not refunded, in hundredths", func(a string) bool { return a == "HOUSE" }, []string{
			`SELECT currency, CAST(SUM(paid - refunded) * 100 AS SIGNED) FROM trade_order WHERE mode = 'LIVE' GROUP BY currency`}},
		{"G7", "clubs = penalties without those given back, in hundredths", isClub, []string{
			`SELECT currency, CAST(SUM(penalty - penalty_reversed) * 100 AS SIGNED) FROM deposit_record WHERE mode = 'LIVE' GROUP BY currency`}},
		{"G8", "SUSPENSE = successes that are not decided and refunds that failed, in hundredths", func(a string) bool { return a == "SUSPENSE" }, []string{
			`SELECT currency, CAST(SUM(amount) * 100 AS SIGNED) FROM payment
				WHERE status = 'SUCCEEDED' AND disposition IS NULL AND method = 'PROVIDER' AND mode = 'LIVE' GROUP BY currency`,
			`SELECT r.currency, CAST(SUM(r.amount) * 100 AS SIGNED) FROM refund r JOIN activity a ON a.activity_id = r.activity_id
				WHERE r.status = 'FAILED' AND r.target = 'PROVIDER' AND a.mode = 'LIVE' GROUP BY r.currency`}},
	} {
		left, right := make(map[string]int), make(map[string]int)
		for k, amount := range balances {
			if one.has(k.account) {
				left[k.currency] += amount
			}
		}
		for _, query := range one.queries {
			err := each(ctx, tx, func(scan func(...any) error) error {
				var currency string
				var amount int
				err := scan(&currency, &amount)
				right[currency] += amount
				return err
			}, query)
			if err != nil {
				return nil, fmt.Errorf("invariant: read totals: %w", err)
			}
		}
		t := newTally(one.id, one.text)
		both := maps.Clone(left)
		maps.Copy(both, right)
		for _, currency := range slices.Sorted(maps.Keys(both)) {
			t.compare(left[currency], right[currency], currency)
		}
		equations = append(equations, t.Equation)
	}
	return equations, nil
}

func isClub(account string) bool { return len(account) > 5 && account[:5] == "CLUB:" }
