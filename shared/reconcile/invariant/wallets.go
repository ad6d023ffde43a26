package invariant

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"

	"holdfast/shared/sqltx"
)

// walletKey names a wallet.
type walletKey struct{ user, currency string }

func (k walletKey) String() string { return "wallet " + k.user + " " + k.currency }

// walletRow is one row of wallet, money in hundredths.
type walletRow struct{ available, frozen, version int }

// walletEntry is what one row of wallet_log did to a wallet, in hundredths.
type walletEntry struct {
	walletKey
	available, frozen int // what it changed
	version           int
	after             walletRow // by what the entry itself says
}

// walletChecks holds wallets against their entries.
type walletChecks struct{ sums, chain *tally }

func newWalletChecks(sums, chain string) *walletChecks {
	return &walletChecks{sums: newTally(sums, "money in wallets = what their entries add up to, in hundredths"),
		chain: newTally(chain, "entries of wallets that follow the one before them, in version and balances")}
}

func (c *walletChecks) equations() []Equation { return []Equation{c.sums.Equation, c.chain.Equation} }

// walletPage is how many users are read at once. A user id has at most 128 bytes, so that a statement stays below the limit.
const walletPage = 50

func sortedUsers(users map[string]bool) []string { return slices.Sorted(maps.Keys(users)) }

// check reads all wallets of the users, and streams their entries.
func (c *walletChecks) check(ctx context.Context, tx *sql.Tx, users []string) error {
	for page := range slices.Chunk(users, walletPage) {
		wallets := make(map[walletKey]walletRow)
		err := each(ctx, tx, func(scan func(...any) error) error {
			var k walletKey
			var w walletRow
			err := scan(&k.user, &k.currency, &w.available, &w.frozen, &w.version)
			wallets[k] = w
			return err
		}, `SELECT user_id, currency, CAST(available * 100 AS SIGNED), CAST(frozen * 100 AS SIGNED), version FROM wallet
			WHERE user_id IN `+sqltx.In(len(page)), sqltx.Args(page)...)
		if err != nil {
			return fmt.Errorf("invariant: read wallets: %w", err)
		}
		reckoned := make(map[walletKey]walletRow)
		err = each(ctx, tx, func(scan func(...any) error) error {
			var e walletEntry
			var amount int
			var from, to string
			err := scan(&e.user, &e.currency, &e.version, &amount, &from, &to, &e.after.available, &e.after.frozen)
			moved := entryRow{amount: amount, from: from, to: to}
			e.available, e.frozen = moved.into("AVAIL"), moved.into("FROZEN")
			c.follow(reckoned, e)
			return err
		}, `SELECT user_id, currency, version, CAST(amount * 100 AS SIGNED), from_account, to_account, CAST(available_after * 100 AS SIGNED),
			CAST(frozen_after * 100 AS SIGNED) FROM wallet_log WHERE version IS NOT NULL AND user_id IN `+sqltx.In(len(page))+
			` ORDER BY user_id, currency, version`, sqltx.Args(page)...)
		if err != nil {
			return fmt.Errorf("invariant: read entries of wallets: %w", err)
		}
		c.compare(wallets, reckoned)
	}
	return nil
}

// follow takes the next entry of a wallet, in the order of versions.
func (c *walletChecks) follow(reckoned map[walletKey]walletRow, e walletEntry) {
	before := reckoned[e.walletKey]
	now := walletRow{before.available + e.available, before.frozen + e.frozen, before.version + 1}
	c.chain.Right++
	e.after.version = e.version
	if now == e.after {
		c.chain.Left++
	} else {
		c.chain.breaks(fmt.Sprintf("%s, version %d", e.walletKey, e.version))
	}
	now.version = e.version // so that one gap is one offender
	reckoned[e.walletKey] = now
}

// compare holds the rows against what was reckoned, wallet by wallet.
func (c *walletChecks) compare(wallets, reckoned map[walletKey]walletRow) {
	keys := maps.Clone(wallets)
	maps.Copy(keys, reckoned)
	for _, k := range slices.SortedFunc(maps.Keys(keys), func(a, b walletKey) int {
		return slices.Compare([]string{a.user, a.currency}, []string{b.user, b.currency})
	}) {
		w, sum := wallets[k], reckoned[k]
		c.sums.compare(w.available+w.frozen, sum.available+sum.frozen, k.String())
		if w.available != sum.available || w.available < 0 || w.frozen < 0 {
			c.sums.breaks(k.String())
		}
		if w.version != sum.version {
			c.chain.breaks(k.String())
		}
	}
}
