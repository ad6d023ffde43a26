package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"holdfast/shared/edge"
	"holdfast/shared/fault"
	"holdfast/shared/reconcile"
	"holdfast/shared/sale"
)

// deadLetterView is a message that could not be handled.
type deadLetterView struct {
	DeadLetterID string `json:"deadLetterId"`
	Queue        string `json:"queue"`
	MessageID    string `json:"messageId"`
	OrderID      string `json:"orderId,omitempty"`
	ActivityID   string `json:"activityId,omitempty"`
	Reason       string `json:"reason"`
	Detail       string `json:"detail,omitempty"`
	ReceiveCount int    `json:"receiveCount"`
	Body         string `json:"body"`
	At           string `json:"at"`
	RedrivenAt   string `json:"redrivenAt,omitempty"`
}

func viewDeadLetter(l reconcile.KeptDeadLetter) deadLetterView {
	v := deadLetterView{DeadLetterID: strconv.FormatInt(l.ID, 10), Queue: l.Queue, MessageID: l.MessageID,
		ActivityID: l.ActivityID, Reason: l.Reason, Detail: l.Detail, ReceiveCount: l.ReceiveCount,
		Body: strings.ToValidUTF8(string(l.Body), "\uFFFD"), At: stamp(l.At), RedrivenAt: optStamp(l.RedrivenAt)}
	if l.OrderID != nil {
		v.OrderID = l.OrderID.String()
	}
	return v
}

// listDeadLetters answers GET /ops/v1/dead-letters.
func (o *operate) listDeadLetters(ctx context.Context, r *Request, _ caller) (*Response, error) {
	q := r.Query()
	filter := reconcile.DeadLetterFilter{ActivityID: q.Text("activityId")}
	if filter.ActivityID != "" && !isID(filter.ActivityID) {
		q.Break("activityId", "BAD_FORMAT", "1 to 64 letters, digits, - and _")
	}
	if text := q.Text("orderId"); text != "" {
		id, err := sale.ParseOrderID(text)
		if filter.OrderID = &id; err != nil {
			q.Break("orderId", "BAD_FORMAT", "an order id")
		}
	}
	if word := q.OneOf("redriven", "true", "false"); word != "" {
		redriven := word == "true"
		filter.Redriven = &redriven
	}
	return numbered(q,
		func(before int64, limit int) ([]reconcile.KeptDeadLetter, error) {
			return reconcile.ListDeadLetters(ctx, o.DB, filter, before, limit)
		},
		func(l reconcile.KeptDeadLetter) int64 { return l.ID }, viewDeadLetter)
}

// maxRedriven is how many messages one call sends again.
const maxRedriven = 100

// redriveDeadLetters answers POST /ops/v1/dead-letters/redrive: what it names goes to the queue again, each as it came. Sending a
// message twice changes nothing, so whatever this call leaves undone the same call finishes.
func (o *operate) redriveDeadLetters(ctx context.Context, r *Request, by caller) (*Response, error) {
	f, err := r.Fields()
	if err != nil {
		return nil, err
	}
	ids := f.numbers("deadLetterIds", 1, maxRedriven)
	if err := f.Finish(); err != nil {
		return nil, err
	}
	letters, err := reconcile.DeadLettersByID(ctx, o.DB, ids)
	if err != nil {
		return nil, err
	}
	for i, id := range ids {
		if !slices.ContainsFunc(letters, func(l reconcile.KeptDeadLetter) bool { return l.ID == id }) {
			f.report.add(false, f.pointer("deadLetterIds")+"/"+strconv.Itoa(i), "UNKNOWN", "the id of a dead letter")
		}
	}
	if err := f.Finish(); err != nil {
		return nil, err
	}
	sent, err := reconcile.Redrive(ctx, o.DB, letters, o.sendBack, by.entry("dead-letter.redrive", "", nil))
	if errors.Is(err, reconcile.ErrNotSent) {
		return nil, fault.Wrap(fault.QueueUnavailable, err, "The queue did not accept every message. Repeat the call: it sends the rest.")
	}
	if err != nil {
		return nil, err
	}
	answer := page[deadLetterView]{Items: make([]deadLetterView, len(sent))}
	for i, l := range sent {
		answer.Items[i] = viewDeadLetter(l)
	}
	return JSON(http.StatusOK, answer)
}

// sendBack is a reconcile.SendBack.
func (o *operate) sendBack(ctx context.Context, bodies []string) []error {
	messages := make([]edge.Again, len(bodies))
	for i, body := range bodies {
		messages[i] = edge.Again{Body: body}
	}
	return o.Returns.SendAgain(ctx, messages)
}

// numbers reads a list of min..max ids that are numbers above 0 in texts, each once.
func (f *Fields) numbers(name string, min, max int) []int64 {
	raw, sent := f.take(name, true)
	if !sent {
		return nil
	}
	var texts []string
	if json.Unmarshal(raw, &texts) != nil || raw[0] != '[' {
		f.wrongType(name, "a list of texts")
		return nil
	}
	if len(texts) < min || len(texts) > max {
		f.Break(name, "BAD_LENGTH", strconv.Itoa(min)+" to "+strconv.Itoa(max)+" members")
		return nil
	}
	var out []int64
	for i, text := range texts {
		n, err := strconv.ParseInt(text, 10, 64)
		switch {
		case err != nil || n < 1 || strconv.FormatInt(n, 10) != text:
			f.report.add(false, f.pointer(name)+"/"+strconv.Itoa(i), "BAD_FORMAT", "an id as the list of dead letters has it")
		case slices.Contains(out, n):
			f.report.add(false, f.pointer(name)+"/"+strconv.Itoa(i), "DUPLICATE", "each id once")
		default:
			out = append(out, n)
		}
	}
	return out
}
