package sns

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"holdfast/infra/local/sqs"
)

// maxRequest bounds what is read of one request: a batch may grow threefold when every character is written as an escape.
const maxRequest = 2 << 20

// namespace stands in every answer.
const namespace = "http://sns.amazonaws.com/doc/2010-03-31/"

// failure is an answer that says what is wrong.
type failure struct {
	status  int
	code    string
	message string
}

// errGone ends a call whose caller has given up, or whose answer is lost: the connection is cut without a byte.
var errGone = &failure{}

func invalid(format string, args ...any) *failure {
	return &failure{http.StatusBadRequest, "InvalidParameter", "Invalid parameter: " + fmt.Sprintf(format, args...)}
}

type publishResponse struct {
	XMLName   xml.Name `xml:"PublishResponse"`
	Namespace string   `xml:"xmlns,attr"`
	MessageID string   `xml:"PublishResult>MessageId"`
	RequestID string   `xml:"ResponseMetadata>RequestId"`
}

type batchResponse struct {
	XMLName    xml.Name     `xml:"PublishBatchResponse"`
	Namespace  string       `xml:"xmlns,attr"`
	Successful []successful `xml:"PublishBatchResult>Successful>member"`
	Failed     []failed     `xml:"PublishBatchResult>Failed>member"`
	RequestID  string       `xml:"ResponseMetadata>RequestId"`
}

type successful struct {
	ID        string `xml:"Id"`
	MessageID string `xml:"MessageId"`
}

type failed struct {
	ID          string `xml:"Id"`
	Code        string `xml:"Code"`
	Message     string `xml:"Message"`
	SenderFault bool   `xml:"SenderFault"`
}

type errorResponse struct {
	XMLName   xml.Name `xml:"ErrorResponse"`
	Namespace string   `xml:"xmlns,attr"`
	Type      string   `xml:"Error>Type"`
	Code      string   `xml:"Error>Code"`
	Message   string   `xml:"Error>Message"`
	RequestID string   `xml:"RequestId"`
}

// ServeHTTP is the whole protocol: a form whose field Action names the action, answered in XML.
func (t *Topics) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxRequest)
	if err := r.ParseForm(); err != nil || r.Method != http.MethodPost {
		writeFailure(w, invalid("the request is no form"))
		return
	}
	var answer any
	var wrong *failure
	switch action := r.PostForm.Get("Action"); action {
	case "Publish":
		answer, wrong = t.publish(r)
	case "PublishBatch":
		answer, wrong = t.publishBatch(r)
	default:
		wrong = &failure{http.StatusBadRequest, "InvalidAction", "The action " + action + " is not known here."}
	}
	switch {
	case wrong == errGone:
		panic(http.ErrAbortHandler)
	case wrong != nil:
		writeFailure(w, wrong)
	default:
		write(w, http.StatusOK, answer)
	}
}

func (t *Topics) publish(r *http.Request) (any, *failure) {
	mode, wrong := t.begin(r.Context())
	if wrong != nil {
		return nil, wrong
	}
	arn := r.PostForm.Get("TopicArn")
	if wrong := t.mustHave(arn); wrong != nil {
		return nil, wrong
	}
	m, wrong := readMessage(r.PostForm, "")
	if wrong != nil {
		return nil, wrong
	}
	if mode == sqs.FailEntry {
		return nil, &failure{http.StatusInternalServerError, "InternalError", "A fault fails this entry."}
	}
	list := []Message{m}
	t.accept(arn, list, mode)
	if mode == sqs.LoseAnswer {
		return nil, errGone
	}
	return publishResponse{Namespace: namespace, MessageID: list[0].MessageID, RequestID: newID()}, nil
}

func (t *Topics) publishBatch(r *http.Request) (any, *failure) {
	mode, wrong := t.begin(r.Context())
	if wrong != nil {
		return nil, wrong
	}
	arn := r.PostForm.Get("TopicArn")
	if wrong := t.mustHave(arn); wrong != nil {
		return nil, wrong
	}
	ids, list, refused, wrong := readBatch(r.PostForm, mode)
	if wrong != nil {
		return nil, wrong
	}
	t.accept(arn, list, mode)
	if mode == sqs.LoseAnswer {
		return nil, errGone
	}
	answer := batchResponse{Namespace: namespace, Failed: refused, RequestID: newID()}
	for i, m := range list {
		answer.Successful = append(answer.Successful, successful{ids[i], m.MessageID})
	}
	return answer, nil
}

func (t *Topics) mustHave(arn string) *failure {
	if arn == "" {
		return invalid("TopicArn or TargetArn Reason: no value for required parameter")
	}
	if !t.has(arn) {
		return &failure{http.StatusNotFound, "NotFound", "Topic does not exist"}
	}
	return nil
}

// readBatch reads the entries of a batch: the sound ones with their ids, and those that fail alone.
func readBatch(form url.Values, mode sqs.Mode) (ids []string, list []Message, refused []failed, wrong *failure) {
	n, sum := 0, 0
	for form.Has(entry(n+1, "Id")) || form.Has(entry(n+1, "Message")) {
		n++
	}
	switch {
	case n == 0:
		return nil, nil, nil, &failure{http.StatusBadRequest, "EmptyBatchRequest", "The batch request doesn't contain any entries."}
	case n > maxEntries:
		return nil, nil, nil, &failure{http.StatusBadRequest, "TooManyEntriesInBatchRequest", "The batch request contains more entries than permissible."}
	}
	seen := map[string]bool{}
	for i := range n {
		id := form.Get(entry(i+1, "Id"))
		if !entryID.MatchString(id) {
			return nil, nil, nil, &failure{http.StatusBadRequest, "InvalidBatchEntryId", "The Id of a batch entry in a batch request doesn't abide by the specification."}
		}
		if seen[id] {
			return nil, nil, nil, &failure{http.StatusBadRequest, "BatchEntryIdsNotDistinct", "Two or more batch entries in the request have the same Id."}
		}
		seen[id] = true
		m, bad := readMessage(form, entry(i+1, ""))
		sum += m.size()
		switch {
		case bad != nil:
			refused = append(refused, failed{id, bad.code, bad.message, true})
		case mode == sqs.FailEntry && (i == 2 || i == 6 || n < 3 && i == n-1):
			refused = append(refused, failed{id, "InternalError", "A fault fails this entry.", false})
		default:
			ids, list = append(ids, id), append(list, m)
		}
	}
	if sum > maxBytes {
		return nil, nil, nil, &failure{http.StatusBadRequest, "BatchRequestTooLong", "The length of all the batch messages put together is more than the limit."}
	}
	return ids, list, refused, nil
}

func entry(n int, name string) string {
	return "PublishBatchRequestEntries.member." + strconv.Itoa(n) + "." + name
}

// readMessage reads what stands under a prefix of the form's names.
func readMessage(form url.Values, prefix string) (Message, *failure) {
	m := Message{Body: form.Get(prefix + "Message"), Subject: form.Get(prefix + "Subject"), Attributes: map[string]string{}}
	if m.Body == "" {
		return m, invalid("Empty message")
	}
	for n := 1; ; n++ {
		at := prefix + "MessageAttributes.entry." + strconv.Itoa(n) + "."
		name := form.Get(at + "Name")
		if name == "" {
			break
		}
		value := form.Get(at + "Value.StringValue")
		if form.Get(at+"Value.DataType") == "" || value == "" {
			return m, invalid("The message attribute '%s' must contain non-empty message attribute type and value.", name)
		}
		m.Attributes[name] = value
	}
	if m.size() > maxBytes {
		return m, invalid("Message too long")
	}
	return m, nil
}

func writeFailure(w http.ResponseWriter, f *failure) {
	kind := "Sender"
	if f.status >= http.StatusInternalServerError {
		kind = "Receiver"
	}
	write(w, f.status, errorResponse{Namespace: namespace, Type: kind, Code: f.code, Message: f.message, RequestID: newID()})
}

func write(w http.ResponseWriter, status int, answer any) {
	text, err := xml.Marshal(answer)
	if err != nil {
		panic(err) // the answers are our own types, all of which can be written
	}
	w.Header().Set("Content-Type", "text/xml")
	w.WriteHeader(status)
	_, _ = w.Write(text) // a caller that has gone hears nothing
}
