package notice_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/shared/notice"
	"holdfast/shared/sale"
)

// declaredKinds reads the constants from the source, so that none can be forgotten in a table.
func declaredKinds(t *testing.T) (kinds []notice.Kind) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "notice.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, decl := range file.Decls {
		group, isGroup := decl.(*ast.GenDecl)
		if !isGroup || group.Tok != token.CONST {
			continue
		}
		for _, spec := range group.Specs {
			constant := spec.(*ast.ValueSpec)
			if name, isIdent := constant.Type.(*ast.Ident); !isIdent || name.Name != "Kind" {
				continue
			}
			text, err := strconv.Unquote(constant.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			kinds = append(kinds, notice.Kind(text))
		}
	}
	if len(kinds) < 10 {
		t.Fatalf("only %d kinds were found", len(kinds))
	}
	return kinds
}

func TestEveryKindHasOneTypeAndStandsInTheDescription(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]notice.Kind{}
	for _, kind := range declaredKinds(t) {
		name := kind.EventType()
		if name == "" || seen[name] != "" {
			t.Errorf("%s has the type %q, which %s has too", kind, name, seen[name])
		}
		seen[name] = kind
		if !slices.ContainsFunc(strings.Split(string(doc), "\n"), func(line string) bool {
			return slices.Equal(strings.Fields(line), []string{"//", string(kind), name})
		}) {
			t.Errorf("%s and %s are not in the description's table", kind, name)
		}
	}
}

func TestANoticeIsWrittenOncePerSubjectAndKind(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	second := about("o1")
	second.Data = map[string]any{"revision": 9}
	created := about("o1")
	created.Kind = notice.OrderCreated
	w.add(about("o2"), about("o1"))
	w.add(second, created)
	want := []string{"o1 ORDER_PAID WAITING 0", "o2 ORDER_PAID WAITING 0", "o1 ORDER_CREATED WAITING 0"}
	if got := w.states(); !slices.Equal(got, want) {
		t.Errorf("stored %q", got)
	}
	for _, n := range w.claim(10) {
		if string(n.Data) != `{"revision":2}` {
			t.Errorf("%s %s says %s", n.Subject, n.Kind, n.Data)
		}
	}
}

func TestWhatIsRolledBackTellsNobody(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rolledBack := errors.New("rolled back")
	err := w.db.Run(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		return errors.Join(notice.Add(ctx, tx, []notice.Notice{about("o1")}, w.now), rolledBack)
	})
	if !errors.Is(err, rolledBack) || len(w.states()) != 0 {
		t.Errorf("%v, stored %q", err, w.states())
	}
}

func TestAKindThatThereIsNotIsRefusedAndNothingWritten(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	unknown := about("o1")
	unknown.Kind = "ORDER_LOST"
	unwritable := about("o1")
	unwritable.Data = func() {}
	for _, bad := range []notice.Notice{unknown, unwritable} {
		err := w.db.Run(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
			return notice.Add(ctx, tx, []notice.Notice{about("o2"), bad}, w.now)
		})
		if err == nil {
			t.Errorf("%+v was written", bad)
		}
	}
	if got := w.states(); len(got) != 0 {
		t.Errorf("stored %q", got)
	}
}

func TestTheEnvelopeHasTheFormOfAllEventsAndNeverChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.add(about("o1"))
	n := w.claim(1)[0]
	body, err := n.Envelope()
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf(`{"id":"%d","type":"order.paid","version":1,"time":"2031-05-01T10:00:00.25Z","activityId":"a",`+
		`"orderId":"%s","userId":"u1","data":{"revision":2}}`, n.ID, sale.OrderID{1, 2, 3})
	if string(body) != want {
		t.Errorf("reads %s\nwant  %s", body, want)
	}
	w.now = w.now.Add(notice.ClaimFor)
	again := w.claim(1)[0]
	if second, err := again.Envelope(); err != nil || string(second) != want {
		t.Errorf("reads %s, %v the second time", second, err)
	}
	n.OrderID = sale.OrderID{}
	if body, err = n.Envelope(); err != nil || strings.Contains(string(body), "orderId") {
		t.Errorf("about no order: %s, %v", body, err)
	}
}

func TestOfManySendersEachClaimsOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var list []notice.Notice
	for i := range 200 {
		list = append(list, about(fmt.Sprintf("o%03d", i)))
	}
	w.add(list...)
	var mu sync.Mutex
	times := map[string]int{}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for {
				var page []notice.Stored
				err := w.db.Run(context.Background(), func(ctx context.Context, tx *sql.Tx) (err error) {
					page, err = notice.Claim(ctx, tx, w.now, 7)
					return err
				})
				if err != nil {
					t.Error(err)
					return
				}
				if len(page) == 0 {
					return
				}
				mu.Lock()
				for _, n := range page {
					times[n.Subject]++
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	for range 30 { // rows that another had locked while this one looked are left for the next look
		for _, n := range w.claim(7) {
			times[n.Subject]++
		}
	}
	if len(times) != 200 {
		t.Errorf("%d of 200 were claimed", len(times))
	}
	for subject, n := range times {
		if n != 1 {
			t.Errorf("%s was claimed %d times", subject, n)
		}
	}
}

func TestAClaimRunsOutAndIsTakenOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.add(about("o1"))
	first := w.claim(10)
	w.now = w.now.Add(notice.ClaimFor - time.Millisecond)
	if early := w.claim(10); len(first) != 1 || len(early) != 0 {
		t.Fatalf("claimed %d, then %d while the claim held", len(first), len(early))
	}
	w.now = w.now.Add(time.Millisecond)
	second := w.claim(10)
	if len(second) != 1 || second[0].Attempts != 2 {
		t.Fatalf("claimed %+v", second)
	}
	w.tx(func(ctx context.Context, tx *sql.Tx) error { return notice.PutBack(ctx, tx, first, w.now) })
	if got := w.states(); got[0] != "o1 ORDER_PAID CLAIMED 2" {
		t.Errorf("the first sender took the claim of the second away: %q", got)
	}
	w.tx(func(ctx context.Context, tx *sql.Tx) error { return notice.MarkSent(ctx, tx, first, w.now) })
	if got := w.states(); got[0] != "o1 ORDER_PAID SENT 2" {
		t.Errorf("what is out is not marked: %q", got)
	}
}

func TestWhatIsNotAcceptedWaitsLongerEachTimeAndKeepsNobodyBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.add(about("poison"))
	for attempt, pause := range []time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second} {
		w.add(about(fmt.Sprint("sound", attempt)))
		page := w.claim(10)
		if len(page) != 2 || page[0].Subject != "poison" || page[0].Attempts != attempt+1 {
			t.Fatalf("claimed %+v", page)
		}
		w.tx(func(ctx context.Context, tx *sql.Tx) error {
			return errors.Join(notice.PutBack(ctx, tx, page[:1], w.now), notice.MarkSent(ctx, tx, page[1:], w.now))
		})
		w.now = w.now.Add(pause - time.Millisecond)
		if early := w.claim(10); len(early) != 0 {
			t.Fatalf("due %v after attempt %d", pause-time.Millisecond, attempt+1)
		}
		w.now = w.now.Add(time.Millisecond)
	}
	if notice.Pause(1) != 5*time.Second || notice.Pause(1000) != time.Hour {
		t.Errorf("pauses from %v to %v", notice.Pause(1), notice.Pause(1000))
	}
}

func TestOnlyWhatIsNotOutAndCanBeTooLateIsPostponed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	at := w.now.Add(time.Hour).Truncate(time.Second)
	names := []string{"sent", "skipped", "claimed"}
	for _, subject := range append(names, "waiting", "other kind", "never") {
		n := about(subject)
		if n.Kind = notice.WaitlistOffer; subject == "other kind" {
			n.Kind = notice.OrderPaid
		}
		if subject != "never" {
			n.ExpiresAt = &at
		}
		w.add(n)
	}
	page := w.claim(len(names))
	w.tx(func(ctx context.Context, tx *sql.Tx) error {
		return errors.Join(notice.MarkSent(ctx, tx, page[:1], w.now), notice.MarkSkipped(ctx, tx, page[1:2], w.now))
	})
	later := at.Add(time.Hour)
	for _, subject := range append(names, "waiting", "other kind", "never", "absent") {
		w.tx(func(ctx context.Context, tx *sql.Tx) error {
			return notice.Postpone(ctx, tx, subject, notice.WaitlistOffer, later, w.now)
		})
	}
	for subject, want := range map[string]*time.Time{"sent": &at, "skipped": &at, "claimed": &later, "waiting": &later, "other kind": &at, "never": nil} {
		var got sql.NullTime
		if err := w.db.QueryRowContext(t.Context(), "SELECT expires_at FROM notice WHERE subject = ?", subject).Scan(&got); err != nil {
			t.Fatal(err)
		}
		if got.Valid != (want != nil) || want != nil && !got.Time.Equal(*want) {
			t.Errorf("%s: too late from %v on, want %v", subject, got.Time, want)
		}
	}
}

func TestOverdueSeesWaitingNoticesAndLostClaims(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	check := func(when string, want bool) {
		t.Helper()
		if got, err := notice.Overdue(t.Context(), w.db, w.now.Add(-time.Minute)); err != nil || got != want {
			t.Errorf("%s: %v, %v", when, got, err)
		}
	}
	check("without notices", false)
	w.add(about("o1"))
	check("just written", false)
	w.now = w.now.Add(time.Minute)
	check("waiting for a minute", true)
	page := w.claim(1)
	check("claimed", false)
	w.now = w.now.Add(notice.ClaimFor + time.Minute)
	check("with a claim that ran out a minute ago", true)
	w.tx(func(ctx context.Context, tx *sql.Tx) error { return notice.MarkSent(ctx, tx, page, w.now) })
	check("sent", false)
}

func TestAListHoldsOnesOwnNewestFirstInPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 5 {
		w.add(about(fmt.Sprint("o", i)))
	}
	foreign := about("foreign")
	foreign.UserID = "U1" // another user: ids are case-sensitive
	w.add(foreign)
	page := w.claim(2)
	w.tx(func(ctx context.Context, tx *sql.Tx) error { return notice.MarkSkipped(ctx, tx, page[:1], w.now) })
	var got []string
	cursor := ""
	for {
		items, next, err := notice.List(t.Context(), w.db, "u1", cursor, 2)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range items {
			got = append(got, n.Subject)
		}
		if cursor = next; next == "" {
			break
		}
	}
	if !slices.Equal(got, []string{"o4", "o3", "o2", "o1"}) {
		t.Errorf("listed %q", got)
	}
	for _, bad := range []string{"x", "AAAA", "__________8"} {
		if _, _, err := notice.List(t.Context(), w.db, "u1", bad, 2); !errors.Is(err, notice.ErrBadCursor) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestDataIsKeptAsItWas(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := about("o1")
	n.Data = map[string]string{"text": "Käfer '\"\\ 演唱会 \x00 " + strings.Repeat("x", 4000)}
	w.add(n, about("o2"), about("o3"))
	var got map[string]string
	if err := json.Unmarshal(w.claim(1)[0].Data, &got); err != nil || got["text"] != n.Data.(map[string]string)["text"] {
		t.Errorf("read %q, %v", got, err)
	}
}
