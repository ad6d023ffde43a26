package reconcile

import (
	"context"

	"holdfast/shared/sale"
	"holdfast/shared/stock"
)

// suspects are buyers whose mark is not what the log added up to when it was scanned; most have only bought or cancelled since.
type suspects struct {
	users []string
	ids   map[string][]sale.OrderID // what the log has of each
}

// compareMarks holds every buyer's mark against what the log says the buyer holds. Marks move while they are read, so each one that is off
// is looked at again together with the entries of its buyer.
func (p *pass) compareMarks(ctx context.Context) error {
	s := &suspects{ids: make(map[string][]sale.OrderID)}
	suspect := func(user string) {
		if _, known := s.ids[user]; !known {
			s.ids[user] = nil
			s.users = append(s.users, user)
		}
	}
	cursor, pages := uint64(0), 0
	read := func(ctx context.Context) (page stock.MarkPage, more bool, err error) {
		page, err = p.r.stock.Marks(ctx, p.a.ID, cursor, scanCount)
		cursor = page.Next
		return page, cursor != 0, err
	}
	err := eachPage(ctx, p.r.ahead(), read, func(page stock.MarkPage) error {
		for _, m := range page.Marks {
			at, known := p.log.buyerOf[m.UserID]
			if known {
				p.log.buyers[at].seen = true
			}
			if !known || int(p.log.buyers[at].log) != m.Quantity {
				suspect(m.UserID)
			}
		}
		pages++
		return p.alive(ctx, pages)
	})
	if err != nil {
		return err
	}
	if err := p.addEntries(s, suspect); err != nil {
		return err
	}
	for pages := 0; len(s.users) > 0; pages++ {
		page := s.users[:min(len(s.users), judgePage)]
		s.users = s.users[len(page):]
		if err := p.judgeMarks(ctx, page, s.ids); err != nil {
			return err
		}
		if err := p.alive(ctx, pages); err != nil {
			return err
		}
	}
	return nil
}

// addEntries suspects buyers of the log without a mark, and gives every suspect the ids of its entries.
func (p *pass) addEntries(s *suspects, suspect func(string)) error {
	owns := make([]bool, len(p.log.buyers))
	for i := range p.log.entries {
		if e := &p.log.entries[i]; e.owned() {
			owns[e.user] = true
		}
	}
	for i := range p.log.buyers {
		if b := &p.log.buyers[i]; owns[i] && !b.seen {
			suspect(b.id)
		}
	}
	if len(s.users) == 0 {
		return nil
	}
	for i := range p.log.entries {
		e := &p.log.entries[i]
		if !e.owned() {
			continue
		}
		if ids, is := s.ids[p.log.buyers[e.user].id]; is {
			s.ids[p.log.buyers[e.user].id] = append(ids, e.id)
		}
	}
	return nil
}

// judgeMarks reads marks, entries, and marks again. A mark that stood still meanwhile, and whose last order is among the entries that are
// known, counts exactly these: every taking writes its own id into the mark.
func (p *pass) judgeMarks(ctx context.Context, users []string, known map[string][]sale.OrderID) error {
	before, err := p.r.stock.MarksOf(ctx, p.a.ID, users)
	if err != nil {
		return err
	}
	var ids []sale.OrderID
	for _, user := range users {
		ids = append(ids, known[user]...)
		if m, has := before[user]; has {
			ids = append(ids, m.LastOrderID)
		}
	}
	entries, err := p.r.stock.Entries(ctx, p.a.ID, ids)
	if err != nil {
		return err
	}
	after, err := p.r.stock.MarksOf(ctx, p.a.ID, users)
	if err != nil {
		return err
	}
	found := make(map[sale.OrderID]stock.Found, len(ids))
	for i, id := range ids {
		found[id] = entries[i]
	}
	for _, user := range users {
		p.judgeMark(user, before, after, known[user], found)
	}
	return nil
}

func (p *pass) judgeMark(user string, before, after map[string]stock.Mark, ids []sale.OrderID, found map[sale.OrderID]stock.Found) {
	mark, has := before[user]
	if again, still := after[user]; again != mark || still != has {
		return // it moves; the next run looks again
	}
	units, last := 0, false
	for _, id := range ids {
		e := found[id]
		if e.Found && e.HasTaken && e.Standing != stock.Dead {
			units += e.Reservation.Quantity
		}
		last = last || id == mark.LastOrderID
	}
	if has && !last && found[mark.LastOrderID].Found {
		return // bought since the log was scanned
	}
	if has && units == mark.Quantity {
		return
	}
	p.found = append(p.found, finding{kind: MarkDiffers, subject: user, says: []any{has, mark.Quantity - units},
		evidence: map[string]any{"redis": map[string]any{"marked": has, "mark": mark.Quantity, "log": units}}})
}
