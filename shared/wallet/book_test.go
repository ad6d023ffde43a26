package wallet_test

import (
	"fmt"
	"maps"
	"slices"

	"holdfast/shared/wallet"
)

// book is the ledger in its simplest form: hundredths in maps, nothing at the same time.
type book struct {
	wallets  map[wallet.Key]pocket
	accounts map[[2]string]int64 // account, currency
	written  map[[2]string]string
	deposits map[[3]string]int64 // user, currency, reference
}

type pocket struct{ available, frozen, version int64 }

func newBook() *book {
	return &book{wallets: map[wallet.Key]pocket{}, accounts: map[[2]string]int64{}, written: map[[2]string]string{},
		deposits: map[[3]string]int64{}}
}

func (b *book) clone() *book {
	return &book{maps.Clone(b.wallets), maps.Clone(b.accounts), maps.Clone(b.written), maps.Clone(b.deposits)}
}

// verdict is how a list ends.
type verdict struct {
	word  string // "ok", "short", "frozen" or "conflict"
	short []int
}

func (v verdict) equal(o verdict) bool { return v.word == o.word && slices.Equal(v.short, o.short) }

// ways gives from and to by the type and, for a refund, its target.
var ways = func() map[string][2]string {
	m := map[string][2]string{}
	for _, c := range chart {
		m[string(c.kind)+string(c.target)] = [2]string{c.from, c.to}
	}
	return m
}()

// apply does all or nothing. A conflict is told before anything else, then what is frozen, then what is short.
func (b *book) apply(list []wallet.Movement) verdict {
	next := b.clone()
	var short []int
	word := "ok"
	for i, m := range list {
		cents := m.Amount.Value.Shift(2).IntPart()
		if cents == 0 {
			continue
		}
		name := [2]string{string(m.Type), m.Reference}
		way := ways[string(m.Type)+string(m.Target)]
		particulars := fmt.Sprint(m.UserID, "|", m.Amount, m.Amount.Currency, "|", way, "|", m.OrderID)
		if before, known := next.written[name]; known {
			if before != particulars {
				return verdict{word: "conflict"}
			}
			continue
		}
		next.written[name] = particulars
		if word == "frozen" {
			continue // only a conflict is still looked for
		}
		k := wallet.Key{UserID: m.UserID, Currency: m.Amount.Currency}
		p := next.wallets[k]
		moved, deposit := false, [3]string{m.UserID, m.Amount.Currency, m.Reference}
		for side, sign := range map[string]int64{way[0]: -1, way[1]: 1} {
			switch side {
			case wallet.Available:
				p.available, moved = p.available+sign*cents, true
			case wallet.Frozen:
				p.frozen, moved = p.frozen+sign*cents, true
			}
		}
		switch {
		case p.available < 0:
			short = append(short, i)
			continue
		case p.frozen < 0 || way[0] == wallet.Frozen && next.deposits[deposit] < cents:
			word = "frozen"
			continue
		}
		switch wallet.Frozen {
		case way[0]:
			next.deposits[deposit] -= cents
		case way[1]:
			next.deposits[deposit] += cents
		}
		if moved {
			p.version++
			next.wallets[k] = p
		}
		for side, sign := range map[string]int64{way[0]: -1, way[1]: 1} {
			if side != wallet.Available && side != wallet.Frozen {
				next.accounts[[2]string{side, m.Amount.Currency}] += sign * cents
			}
		}
	}
	switch {
	case word == "frozen":
		return verdict{word: word}
	case len(short) > 0:
		return verdict{"short", short}
	}
	*b = *next
	return verdict{word: "ok"}
}
