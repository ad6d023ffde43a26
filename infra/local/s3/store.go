package s3

import (
	"crypto/md5" // S3's tags are MD5 digests
	"crypto/rand"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Limits of S3.
const (
	maxBody = 64 << 20 // far below S3's own: this store is memory
	minPart = 5 << 20
)

// Store keeps objects. It is safe for use by many goroutines.
type Store struct {
	now func() time.Time

	mu      sync.Mutex
	objects map[string]object // by "bucket/key"
	uploads map[string]*upload
}

type object struct {
	body []byte
	kind string // its media type
	tag  string
}

// upload is an object that is written in parts.
type upload struct {
	path, kind string
	parts      map[int]object
}

// New makes an empty store; now is the clock by which presigned addresses run out, nil = time.Now.
func New(now func() time.Time) *Store {
	if now == nil {
		now = time.Now
	}
	return &Store{now: now, objects: map[string]object{}, uploads: map[string]*upload{}}
}

// failure is an answer that says what is wrong.
type failure struct {
	status int
	code   string
}

var (
	errNoKey     = &failure{http.StatusNotFound, "NoSuchKey"}
	errNoUpload  = &failure{http.StatusNotFound, "NoSuchUpload"}
	errBadPart   = &failure{http.StatusBadRequest, "InvalidPart"}
	errSmallPart = &failure{http.StatusBadRequest, "EntityTooSmall"}
	errMalformed = &failure{http.StatusBadRequest, "MalformedXML"}
	errTooLarge  = &failure{http.StatusBadRequest, "EntityTooLarge"}
	errExpired   = &failure{http.StatusForbidden, "AccessDenied"}
	errUnknown   = &failure{http.StatusNotImplemented, "NotImplemented"}
)

func (s *Store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path, query := strings.TrimPrefix(r.URL.Path, "/"), r.URL.Query()
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		refuse(w, errTooLarge)
		return
	}
	if bucket, key, both := strings.Cut(path, "/"); !both || bucket == "" || key == "" {
		refuse(w, errUnknown)
		return
	}
	switch {
	case r.Method == http.MethodGet || r.Method == http.MethodHead:
		s.get(w, path, query)
	case r.Method == http.MethodPut && query.Has("uploadId"):
		s.putPart(w, query, body)
	case r.Method == http.MethodPut && len(query) == 0:
		o := newObject(body, r.Header.Get("Content-Type"))
		s.mu.Lock()
		s.objects[path] = o
		s.mu.Unlock()
		w.Header().Set("ETag", o.tag)
	case r.Method == http.MethodPost && query.Has("uploads"):
		s.begin(w, path, r.Header.Get("Content-Type"))
	case r.Method == http.MethodPost && query.Has("uploadId"):
		s.complete(w, path, query.Get("uploadId"), body)
	default:
		refuse(w, errUnknown)
	}
}

func (s *Store) get(w http.ResponseWriter, path string, query url.Values) {
	if s.expired(query) {
		refuse(w, errExpired)
		return
	}
	s.mu.Lock()
	o, found := s.objects[path]
	s.mu.Unlock()
	if !found {
		refuse(w, errNoKey)
		return
	}
	w.Header().Set("ETag", o.tag)
	w.Header().Set("Content-Type", o.kind)
	w.Header().Set("Content-Length", strconv.Itoa(len(o.body)))
	if as := query.Get("response-content-disposition"); as != "" {
		w.Header().Set("Content-Disposition", as)
	}
	_, _ = w.Write(o.body) // a caller that has gone hears nothing; of HEAD the server leaves the body out
}

// expired says whether a presigned address is over; one without date is none.
func (s *Store) expired(query url.Values) bool {
	from, err := time.Parse("20060102T150405Z", query.Get("X-Amz-Date"))
	if err != nil {
		return false
	}
	seconds, err := strconv.Atoi(query.Get("X-Amz-Expires"))
	return err != nil || !s.now().Before(from.Add(time.Duration(seconds)*time.Second))
}

func (s *Store) begin(w http.ResponseWriter, path, kind string) {
	id := rand.Text()
	s.mu.Lock()
	s.uploads[id] = &upload{path: path, kind: kind, parts: map[int]object{}}
	s.mu.Unlock()
	bucket, key, _ := strings.Cut(path, "/")
	answer(w, http.StatusOK, struct {
		XMLName  xml.Name `xml:"InitiateMultipartUploadResult"`
		Bucket   string   `xml:"Bucket"`
		Key      string   `xml:"Key"`
		UploadID string   `xml:"UploadId"`
	}{Bucket: bucket, Key: key, UploadID: id})
}

func (s *Store) putPart(w http.ResponseWriter, query url.Values, body []byte) {
	number, err := strconv.Atoi(query.Get("partNumber"))
	s.mu.Lock()
	defer s.mu.Unlock()
	up := s.uploads[query.Get("uploadId")]
	switch {
	case up == nil:
		refuse(w, errNoUpload)
	case err != nil || number < 1 || number > 10_000:
		refuse(w, errBadPart)
	default:
		up.parts[number] = newObject(body, "")
		w.Header().Set("ETag", up.parts[number].tag)
	}
}

func (s *Store) complete(w http.ResponseWriter, path, id string, body []byte) {
	var wish struct {
		Part []struct {
			PartNumber int
			ETag       string
		}
	}
	if xml.Unmarshal(body, &wish) != nil || len(wish.Part) == 0 {
		refuse(w, errMalformed)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	up := s.uploads[id]
	if up == nil || up.path != path {
		refuse(w, errNoUpload)
		return
	}
	var whole []byte
	for i, wanted := range wish.Part {
		part, found := up.parts[wanted.PartNumber]
		if !found || strings.Trim(part.tag, `"`) != strings.Trim(wanted.ETag, `"`) {
			refuse(w, errBadPart)
			return
		}
		if len(part.body) < minPart && i < len(wish.Part)-1 {
			refuse(w, errSmallPart)
			return
		}
		whole = append(whole, part.body...)
	}
	o := newObject(whole, up.kind)
	o.tag = fmt.Sprintf(`%s-%d"`, strings.TrimSuffix(o.tag, `"`), len(wish.Part))
	s.objects[path] = o
	delete(s.uploads, id)
	bucket, key, _ := strings.Cut(path, "/")
	answer(w, http.StatusOK, struct {
		XMLName xml.Name `xml:"CompleteMultipartUploadResult"`
		Bucket  string   `xml:"Bucket"`
		Key     string   `xml:"Key"`
		ETag    string   `xml:"ETag"`
	}{Bucket: bucket, Key: key, ETag: o.tag})
}

func newObject(body []byte, kind string) object {
	sum := md5.Sum(body)
	return object{body: body, kind: kind, tag: `"` + hex.EncodeToString(sum[:]) + `"`}
}

func refuse(w http.ResponseWriter, f *failure) {
	answer(w, f.status, struct {
		XMLName xml.Name `xml:"Error"`
		Code    string   `xml:"Code"`
		Message string   `xml:"Message"`
	}{Code: f.code, Message: f.code})
}

func answer(w http.ResponseWriter, status int, body any) {
	text, err := xml.Marshal(body)
	if err != nil {
		panic(err) // the answers are our own types, all of which can be written
	}
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	_, _ = w.Write(append([]byte(xml.Header), text...)) // a caller that has gone hears nothing
}
