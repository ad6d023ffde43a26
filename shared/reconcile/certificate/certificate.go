package certificate

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"holdfast/shared/reconcile/invariant"
	"holdfast/shared/reconcile/money"
	"holdfast/shared/sqltx"
	"holdfast/shared/stock"
)

// Verdict is whether what was claimed holds.
type Verdict string

// The verdicts there are.
const (
	Pass Verdict = "PASS"
	Fail Verdict = "FAIL"
)

// Certificate is the proof for one activity, as it is answered and stored.
type Certificate struct {
	ActivityID string     `json:"activityId"`
	At         string     `json:"at"`  // MySQL's clock, RFC 3339 in UTC with milliseconds
	Seq        string     `json:"seq"` // of the log in Redis: microseconds, in digits
	Verdict    Verdict    `json:"verdict"`
	Exact      bool       `json:"exact"`    // both stores are claimed to be exactly equal
	InFlight   int        `json:"inFlight"` // orders and adjustments on their way between the stores
	Equations  []Equation `json:"equations"`
	Ledger     *Ledger    `json:"ledger,omitempty"` // absent until the accounts were compared for the first time
	Hash       string     `json:"hash"`
}

// Ledger is what the newest complete round over the money of all sales found: whether every account is the sum of its entries and what
// orders, deposits, payments and refunds demand of it, and all of them together are 0. That cannot be said of one sale alone.
type Ledger struct {
	ComparedAt  string `json:"comparedAt"`  // MySQL's clock, RFC 3339 in UTC with milliseconds
	Differences int    `json:"differences"` // without what a person has left alone
}

// Equation is one thing that must hold, with both sides as found.
type Equation struct {
	ID            string  `json:"id"`
	Text          string  `json:"text"`
	Left          int     `json:"left"`
	Right         int     `json:"right"`
	AtMost        bool    `json:"atMost,omitempty"` // left may be less than right; else both are equal
	Verdict       Verdict `json:"verdict"`
	FirstOffender string  `json:"firstOffender,omitempty"` // an order id, "bucket TYPE:N", "buyer USER" and the like
}

// ErrNone is returned by Latest for an activity that has no certificate yet.
var ErrNone = errors.New("certificate: none was made yet")

// timeLayout is RFC 3339 in UTC with milliseconds.
const timeLayout = "2006-01-02T15:04:05.000Z"

// Make reads both stores and certifies what they say, whatever it is. It returns catalog.ErrNotFound for an unknown activity,
// invariant.ErrNotChecked while Redis has no whole set of it, and the errors of both stores, ctx's own among them.
func Make(ctx context.Context, db *sqltx.DB, st *stock.Store, activityID string) (*Certificate, error) {
	reading, err := invariant.Read(ctx, db, st, activityID)
	if err != nil {
		return nil, err
	}
	c := of(reading.Report(nil))
	last, err := money.LastRound(ctx, db)
	if err != nil {
		return nil, err
	}
	if last != nil {
		c.Ledger = &Ledger{ComparedAt: last.At.UTC().Format(timeLayout), Differences: last.Differences}
	}
	c.Hash, err = c.Sum()
	return c, err
}

// of turns a report into a certificate without a hash. The equation over promises needs a journal, which the stores do not have.
func of(report *invariant.Report) *Certificate {
	c := &Certificate{ActivityID: report.ActivityID, At: report.At.UTC().Format(timeLayout), Seq: strconv.FormatInt(report.Seq, 10),
		Verdict: Pass, Exact: report.Exact(), InFlight: report.InFlight}
	for _, e := range report.Equations {
		if e.ID == invariant.OfPromises {
			continue
		}
		one := Equation{ID: e.ID, Text: e.Text, Left: e.Left, Right: e.Right, AtMost: e.AtMost, Verdict: Pass, FirstOffender: e.FirstOffender}
		if !e.Pass {
			one.Verdict, c.Verdict = Fail, Fail
		}
		c.Equations = append(c.Equations, one)
	}
	return c
}

// Sum computes what Hash must be, as the package comment says.
func (c Certificate) Sum() (string, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return "", fmt.Errorf("certificate: hash: %w", err)
	}
	var members map[string]any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&members); err != nil {
		return "", fmt.Errorf("certificate: hash: %w", err)
	}
	delete(members, "hash")
	var canonical bytes.Buffer
	encoder := json.NewEncoder(&canonical) // which sorts the members of maps
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(members); err != nil {
		return "", fmt.Errorf("certificate: hash: %w", err)
	}
	sum := sha256.Sum256(bytes.TrimSuffix(canonical.Bytes(), []byte("\n")))
	return hex.EncodeToString(sum[:]), nil
}

// Keep stores the certificate as the newest of its activity. It returns the errors of the driver.
func Keep(ctx context.Context, q sqltx.Querier, c *Certificate) error {
	at, err := time.Parse(timeLayout, c.At)
	if err != nil {
		return fmt.Errorf("certificate: keep: %w", err)
	}
	body, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("certificate: keep: %w", err)
	}
	_, err = q.ExecContext(ctx, `INSERT INTO certificate (activity_id, verdict, seq, body, at) VALUES (?, ?, ?, ?, ?)
 ON DUPLICATE KEY UPDATE verdict = VALUES(verdict), seq = VALUES(seq), body = VALUES(body), at = VALUES(at)`,
		c.ActivityID, string(c.Verdict), c.Seq, string(body), at)
	if err != nil {
		return fmt.Errorf("certificate: keep: %w", err)
	}
	return nil
}

// Latest reads the newest certificate of an activity. It returns ErrNone when there is none, and the errors of the driver.
func Latest(ctx context.Context, q sqltx.Querier, activityID string) (*Certificate, error) {
	var body []byte
	err := q.QueryRowContext(ctx, `SELECT body FROM certificate WHERE activity_id = ?`, activityID).Scan(&body)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, ErrNone
	}
	if err != nil {
		return nil, fmt.Errorf("certificate: latest: %w", err)
	}
	c := new(Certificate)
	if err := json.Unmarshal(body, c); err != nil {
		return nil, fmt.Errorf("certificate: latest: %w", err)
	}
	return c, nil
}

// Orders counts the activity's orders in MySQL: what a certificate takes in time and memory goes by them. It returns the errors of the
// driver.
func Orders(ctx context.Context, q sqltx.Querier, activityID string) (n int, err error) {
	err = q.QueryRowContext(ctx, `SELECT COUNT(*) FROM trade_order WHERE activity_id = ?`, activityID).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("certificate: count orders: %w", err)
	}
	return n, nil
}
