package waitlist

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
)

// Get reads an entry as last committed. It returns ErrNotFound.
func Get(ctx context.Context, q sqltx.Querier, id EntryID) (*Entry, error) {
	return one(q.QueryRowContext(ctx, `SELECT `+columns+` FROM waitlist_entry WHERE entry_id = ?`, id[:]))
}

// Latest reads the active entry of a user in an activity, else the one that joined last. It returns ErrNotFound when there never was one.
func Latest(ctx context.Context, q sqltx.Querier, activityID, userID string) (*Entry, error) {
	return one(q.QueryRowContext(ctx, `SELECT `+columns+` FROM waitlist_entry WHERE user_id = ? AND activity_id = ?
 ORDER BY active DESC, joined_at DESC, entry_id DESC LIMIT 1`, userID, activityID))
}

// LockActive reads the active entry of a user in an activity and locks its row. It returns ErrNotFound when none is active.
func LockActive(ctx context.Context, tx *sql.Tx, activityID, userID string) (*Entry, error) {
	return one(tx.QueryRowContext(ctx, `SELECT `+columns+` FROM waitlist_entry WHERE activity_id = ? AND user_id = ? AND active = 1 FOR UPDATE`,
		activityID, userID))
}

// Lock reads an entry and locks its row. It returns ErrNotFound.
func Lock(ctx context.Context, tx *sql.Tx, id EntryID) (*Entry, error) {
	return one(tx.QueryRowContext(ctx, `SELECT `+columns+` FROM waitlist_entry WHERE entry_id = ? FOR UPDATE`, id[:]))
}

// Turn is a place in the order of serving; the zero Turn stands before the first.
type Turn struct {
	JoinedAt time.Time
	ID       EntryID
}

// Turn is the entry's place.
func (e *Entry) Turn() Turn { return Turn{e.JoinedAt, e.ID} }

// String writes the turn as a cursor of lists.
func (t Turn) String() string {
	return strconv.FormatInt(t.JoinedAt.UnixMilli(), 36) + "." + t.ID.String()
}

// ErrBadTurn is returned for a text that String did not write.
var ErrBadTurn = errors.New("waitlist: not a turn")

// ParseTurn reads what String writes; "" is the zero Turn. It returns ErrBadTurn for anything else.
func ParseTurn(s string) (Turn, error) {
	if s == "" {
		return Turn{}, nil
	}
	ms, id, found := strings.Cut(s, ".")
	at, err1 := strconv.ParseInt(ms, 36, 64)
	entry, err2 := sale.ParseEntryID(id)
	if !found || err1 != nil || err2 != nil || at < 1 || at > 1<<47 { // far beyond what DATETIME can hold
		return Turn{}, ErrBadTurn
	}
	return Turn{time.UnixMilli(at).UTC(), entry}, nil
}

// after is the condition of being behind a turn, and its parameters.
func (t Turn) after() (condition string, args []any) {
	if t.JoinedAt.IsZero() {
		return "", nil
	}
	return ` AND joined_at >= ? AND (joined_at > ? OR entry_id > ?)`, []any{t.JoinedAt, t.JoinedAt, t.ID[:]}
}

// InTurn reads the entries that are WAITING for a type, in the order of serving, behind a turn.
func InTurn(ctx context.Context, q sqltx.Querier, activityID, ticketType string, after Turn, limit int) ([]Entry, error) {
	condition, more := after.after()
	args := append([]any{activityID, ticketType}, more...)
	return query(ctx, q, `SELECT `+columns+` FROM waitlist_entry WHERE activity_id = ? AND ticket_type = ? AND status = 'WAITING'`+condition+`
 ORDER BY joined_at, entry_id LIMIT ?`, append(args, limit)...)
}

// Place is where a WAITING entry stands in the order of serving.
type Place struct {
	Position int  // from 1
	Behind   bool // behind one that units are being saved up for
}

// PlaceOf reads the place of a WAITING entry at an instant of the database's clock.
func PlaceOf(ctx context.Context, q sqltx.Querier, e *Entry, now time.Time) (Place, error) {
	var before, saving int
	err := q.QueryRowContext(ctx, `SELECT COUNT(*), COUNT(CASE WHEN saving_since > ? THEN 1 END) FROM waitlist_entry
 WHERE activity_id = ? AND ticket_type = ? AND status = 'WAITING' AND joined_at <= ? AND (joined_at < ? OR entry_id < ?)`,
		now.Add(-SaveFor), e.ActivityID, e.TicketType, e.JoinedAt, e.JoinedAt, e.ID[:]).Scan(&before, &saving)
	if err != nil {
		return Place{}, fmt.Errorf("waitlist: place: %w", err)
	}
	return Place{Position: before + 1, Behind: saving > 0}, nil
}

// Places gives the places of those entries of a page that are WAITING, at an instant of the database's clock. The page is one of List or
// InTurn and leaves out none of them, so only the first of each type is counted, and the others stand behind it.
func Places(ctx context.Context, q sqltx.Querier, page []Entry, now time.Time) (map[EntryID]Place, error) {
	places, next := make(map[EntryID]Place), make(map[string]Place)
	for i := range page {
		e := &page[i]
		if e.Status != Waiting {
			continue
		}
		p, counted := next[e.TicketType]
		if !counted {
			var err error
			if p, err = PlaceOf(ctx, q, e, now); err != nil {
				return nil, err
			}
		}
		places[e.ID] = p
		next[e.TicketType] = Place{Position: p.Position + 1, Behind: p.Behind || e.Saves(now)}
	}
	return places, nil
}

// Statuses reads where these entries stand; ids without a row are absent.
func Statuses(ctx context.Context, q sqltx.Querier, ids []EntryID) (map[EntryID]Status, error) {
	out := make(map[EntryID]Status, len(ids))
	for page := range slices.Chunk(ids, pageSize) {
		args := make([]any, len(page))
		for i := range page {
			args[i] = page[i][:]
		}
		rows, err := q.QueryContext(ctx, `SELECT entry_id, status FROM waitlist_entry WHERE entry_id IN `+sqltx.In(len(page)), args...)
		if err != nil {
			return nil, fmt.Errorf("waitlist: read: %w", err)
		}
		if err := scanStatuses(rows, out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func scanStatuses(rows *sql.Rows, into map[EntryID]Status) error {
	defer rows.Close()
	for rows.Next() {
		var id []byte
		var status Status
		if err := rows.Scan(&id, &status); err != nil {
			return fmt.Errorf("waitlist: read: %w", err)
		}
		into[EntryID(id)] = status
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("waitlist: read: %w", err)
	}
	return nil
}

// OfUsers reads every entry that these users ever had in an activity.
func OfUsers(ctx context.Context, q sqltx.Querier, activityID string, users []string) ([]Entry, error) {
	var out []Entry
	for page := range slices.Chunk(users, usersPage) {
		found, err := query(ctx, q, `SELECT `+columns+` FROM waitlist_entry WHERE activity_id = ? AND user_id IN `+sqltx.In(len(page)),
			append([]any{activityID}, sqltx.Args(page)...)...)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
}

// Waited reads up to limit activities, by id behind after, in which somebody is WAITING.
func Waited(ctx context.Context, q sqltx.Querier, after string, limit int) (ids []string, err error) {
	ids, err = sqltx.Collect(ctx, q, sqltx.Column[string], `SELECT DISTINCT t.activity_id FROM ticket_type t WHERE t.activity_id > ? AND EXISTS
 (SELECT 1 FROM waitlist_entry w WHERE w.activity_id = t.activity_id AND w.ticket_type = t.ticket_type AND w.status = 'WAITING')
 ORDER BY t.activity_id LIMIT ?`, after, limit)
	if err != nil {
		return nil, fmt.Errorf("waitlist: read: %w", err)
	}
	return ids, nil
}

// WaitedTypes reads for which ticket types of these activities somebody is WAITING; activities in which nobody is are absent.
func WaitedTypes(ctx context.Context, q sqltx.Querier, activities []string) (map[string][]string, error) {
	out := make(map[string][]string)
	for page := range slices.Chunk(activities, pageSize) {
		found, err := sqltx.Collect(ctx, q, scanType, `SELECT t.activity_id, t.ticket_type FROM ticket_type t WHERE t.activity_id IN `+
			sqltx.In(len(page))+` AND EXISTS (SELECT 1 FROM waitlist_entry w WHERE w.activity_id = t.activity_id
 AND w.ticket_type = t.ticket_type AND w.status = 'WAITING')`, sqltx.Args(page)...)
		if err != nil {
			return nil, fmt.Errorf("waitlist: read: %w", err)
		}
		for _, one := range found {
			out[one[0]] = append(out[one[0]], one[1])
		}
	}
	return out, nil
}

func scanType(row sqltx.Scanner) (one [2]string, err error) {
	err = row.Scan(&one[0], &one[1])
	return one, err
}

// Filter says which entries of an activity a list holds; an empty member filters nothing.
type Filter struct {
	TicketType string
	Status     Status
}

// List pages through the entries of an activity in the order of joining, behind a turn.
func List(ctx context.Context, q sqltx.Querier, activityID string, f Filter, after Turn, limit int) ([]Entry, error) {
	where, args := ``, []any{activityID}
	if f.TicketType != "" {
		where, args = where+` AND ticket_type = ?`, append(args, f.TicketType)
	}
	if f.Status != "" {
		where, args = where+` AND status = ?`, append(args, string(f.Status))
	}
	condition, more := after.after()
	args = append(append(args, more...), limit)
	return query(ctx, q, `SELECT `+columns+` FROM waitlist_entry WHERE activity_id = ?`+where+condition+` ORDER BY joined_at, entry_id LIMIT ?`, args...)
}

func query(ctx context.Context, q sqltx.Querier, statement string, args ...any) ([]Entry, error) {
	found, err := sqltx.Collect(ctx, q, scan, statement, args...)
	if err != nil {
		return nil, fmt.Errorf("waitlist: read: %w", err)
	}
	return found, nil
}
