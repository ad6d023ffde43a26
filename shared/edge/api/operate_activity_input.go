package api

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"holdfast/shared/catalog"
	"holdfast/shared/money"
	"holdfast/shared/sale"
)

// Bounds of what operators set. Columns, counters and pages are sized by them.
const (
	maxTitle     = 200
	maxLang      = 35      // what BCP 47 has everybody take
	maxRaw       = 4 << 10 // bytes of metadata and of a refund rule
	maxBuckets   = 64
	maxTypes     = 64
	maxPerUser   = 1000000
	maxPayWindow = 30 * 24 * 3600 // seconds
)

// activityFields is what a body may say about an activity; nil where it says nothing or something wrong.
type activityFields struct {
	kind        *string
	title       *string
	lang        *string
	timeZone    *string
	metadata    json.RawMessage
	opensAt     *time.Time
	closesAt    *time.Time
	limit       *int64
	payWindow   *int64
	currency    *string
	refundRule  json.RawMessage
	saleToken   *bool
	ticketTypes []sale.TicketType
	deposit     *sale.DepositPolicy
}

// readActivityFields reads them all; with required, those that an activity cannot be without must be there. It checks each
// field by itself; rules between fields are checkActivity's.
func readActivityFields(f *Fields, required bool) activityFields {
	in := activityFields{
		kind: f.text("kind", required), title: f.text("title", required),
		lang: f.OptString("lang"), timeZone: f.OptString("timeZone"),
		metadata: f.OptRaw("metadata"), refundRule: f.OptRaw("refundRule"),
		opensAt: f.instant("opensAt", required), closesAt: f.instant("closesAt", required),
		limit:     f.integer("perUserLimit", required, 1, maxPerUser),
		payWindow: f.integer("payWindowSeconds", required, 1, maxPayWindow),
		currency:  f.text("currency", required), saleToken: f.OptBool("saleTokenRequired"),
		deposit: readDepositPolicy(f),
	}
	if required || f.Has("ticketTypes") {
		for _, t := range f.Objects("ticketTypes", 1, maxTypes) {
			in.ticketTypes = append(in.ticketTypes, readTicketType(t))
		}
	}
	checkKind(f, in.kind)
	if in.title != nil {
		f.checkText("title", *in.title, 1, maxTitle)
	}
	if in.lang != nil && (len(*in.lang) > maxLang || !languageTag.MatchString(*in.lang)) {
		f.Break("lang", "BAD_FORMAT", "a BCP 47 language tag such as zh-CN, of at most "+strconv.Itoa(maxLang)+" characters")
	}
	if in.timeZone != nil && !isTimeZone(*in.timeZone) {
		f.Break("timeZone", "BAD_FORMAT", "a zone of the IANA database such as Asia/Shanghai")
	}
	checkRaw(f, "metadata", in.metadata)
	checkRaw(f, "refundRule", in.refundRule)
	if _, err := sale.ParseRefundRule(in.refundRule); err != nil {
		f.Break("refundRule", "BAD_RULE", strings.TrimPrefix(err.Error(), sale.ErrBadRefundRule.Error()+": "))
	}
	if value(in.saleToken) {
		f.Break("saleTokenRequired", "NOT_SUPPORTED", "sale tokens come with a later version; leave it false")
	}
	return in
}

func checkRaw(f *Fields, name string, raw json.RawMessage) {
	if len(raw) > maxRaw {
		f.Break(name, "BAD_LENGTH", "at most "+strconv.Itoa(maxRaw)+" bytes of JSON")
	}
}

// checkKind refuses a kind that there is not.
func checkKind(f *Fields, kind *string) {
	if kind == nil {
		return
	}
	switch sale.Kind(*kind) {
	case sale.Voucher, sale.Ticket, sale.Deposit:
	default:
		f.Break("kind", "NOT_ALLOWED", "VOUCHER, TICKET or DEPOSIT")
	}
}

func readTicketType(f *Fields) sale.TicketType {
	t := sale.TicketType{
		ID: readID(f, "ticketType"), Title: f.Text("title", 1, maxTitle), Price: f.Money("price"),
		Capacity: int(f.Int("capacity", 1, catalog.MaxUnits)), Buckets: int(f.Int("buckets", 1, maxBuckets)),
	}
	if t.Capacity > 0 && t.Buckets > t.Capacity {
		f.Break("buckets", "OUT_OF_RANGE", "at most as many buckets as units")
	}
	if t.Price.IsNegative() {
		f.Break("price", "OUT_OF_RANGE", "0 or more")
	}
	return t
}

// readID reads an id that operators choose: it must be there and have the form that keys and columns rely on.
func readID(f *Fields, name string) string {
	id := f.text(name, true)
	if id != nil && !isID(*id) {
		f.Break(name, "BAD_FORMAT", "1 to 64 letters, digits, - and _")
	}
	return value(id)
}

// isID says whether a text is ^[A-Za-z0-9_-]{1,64}$.
func isID(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '-':
		default:
			return false
		}
	}
	return len(s) >= 1 && len(s) <= 64
}

// apply puts what the body says over what the activity is.
func (in *activityFields) apply(a *sale.Activity) {
	if in.kind != nil {
		a.Kind = sale.Kind(*in.kind)
	}
	set(&a.Title, in.title)
	set(&a.Lang, in.lang)
	set(&a.TimeZone, in.timeZone)
	set(&a.OpensAt, in.opensAt)
	set(&a.ClosesAt, in.closesAt)
	set(&a.Currency, in.currency)
	set(&a.SaleTokenRequired, in.saleToken)
	if in.limit != nil {
		a.PerUserLimit = int(*in.limit)
	}
	if in.payWindow != nil {
		a.PayWindow = time.Duration(*in.payWindow) * time.Second
	}
	if in.metadata != nil {
		a.Metadata = in.metadata
	}
	if in.refundRule != nil {
		a.RefundRule = in.refundRule
	}
	if in.ticketTypes != nil {
		a.TicketTypes = in.ticketTypes
	}
	if in.deposit != nil {
		a.Deposit = in.deposit
	} else if in.kind != nil && a.Kind != sale.Deposit { // a draft that becomes another kind leaves its policy behind
		a.Deposit = nil
	}
}

func set[T any](at *T, to *T) {
	if to != nil {
		*at = *to
	}
}

// note takes a broken rule: where in the body, which rule, what would be right.
type note func(pointer, code, message string)

// checkActivity checks the rules between an activity's fields. What a field's own check has left empty is passed over.
func checkActivity(a *sale.Activity, broken note) {
	if !a.OpensAt.IsZero() && !a.ClosesAt.IsZero() && !a.OpensAt.Before(a.ClosesAt) {
		broken("/closesAt", "OUT_OF_RANGE", "later than opensAt")
	}
	if a.Kind == sale.Voucher {
		if a.PerUserLimit > 1 {
			broken("/perUserLimit", "OUT_OF_RANGE", "1: a voucher is one unit per user")
		}
		if len(a.TicketTypes) > 1 {
			broken("/ticketTypes", "BAD_LENGTH", "exactly one: a voucher has one type")
		}
	}
	checkDeposit(a, broken)
	currencyKnown := false
	if a.Currency != "" {
		_, err := money.Digits(a.Currency)
		if currencyKnown = err == nil; !currencyKnown {
			broken("/currency", "BAD_CURRENCY", "three capital letters of ISO 4217, of a currency with at most two decimals")
		}
	}
	seen := make(map[string]bool, len(a.TicketTypes))
	for i, t := range a.TicketTypes {
		at := "/ticketTypes/" + strconv.Itoa(i)
		if t.ID != "" && seen[t.ID] {
			broken(at+"/ticketType", "DUPLICATE", "each type once")
		}
		seen[t.ID] = true
		if currencyKnown && t.Price.Currency != "" && t.Price.Currency != a.Currency {
			broken(at+"/price/currency", "OTHER_CURRENCY", a.Currency+", as the activity says")
		}
		if !fitsColumn(t.Price, a.PerUserLimit) {
			broken(at+"/price", "OUT_OF_RANGE", "so that perUserLimit units cost less than 10000000000000000")
		}
	}
}

// fitsColumn says whether the largest order's amount can be written down: 16 digits before the point.
func fitsColumn(price money.Amount, limit int) bool {
	if price.Currency == "" {
		return true
	}
	total := price.Times(max(limit, 1))
	_, err := money.Parse(total.String(), total.Currency)
	return err == nil
}
