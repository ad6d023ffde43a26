package objects

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"holdfast/shared/edge/trace"
)

// ErrRefused is the cause of every answer of S3 that is no success; the text has its status and code.
var ErrRefused = errors.New("objects: refused")

// maxAnswer bounds what is read of an answer.
const maxAnswer = 64 << 10

// Bucket is one bucket. It makes one attempt per call.
type Bucket struct {
	config func() aws.Config
	name   string
	now    func() time.Time
	signer *v4.Signer
}

// New makes the carrier to a bucket. config is asked at each call; a BaseEndpoint in it is addressed by path, as the local stack is. now
// is the clock by which links run out.
func New(config func() aws.Config, bucket string, now func() time.Time) *Bucket {
	// S3 alone wants paths signed as they are sent.
	return &Bucket{config: config, name: bucket, now: now, signer: v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true })}
}

// Begin begins a file that is written in parts.
func (b *Bucket) Begin(ctx context.Context, name string) (upload string, err error) {
	var answer struct {
		UploadID string `xml:"UploadId"`
	}
	text, _, err := b.call(ctx, http.MethodPost, name, url.Values{"uploads": {""}}, nil)
	if err == nil {
		err = xml.Unmarshal(text, &answer)
	}
	if err == nil && answer.UploadID == "" {
		err = errors.New("objects: an answer without upload id")
	}
	return answer.UploadID, err
}

// Part writes a part and gives its tag.
func (b *Bucket) Part(ctx context.Context, name, upload string, number int, body []byte) (tag string, err error) {
	_, header, err := b.call(ctx, http.MethodPut, name, url.Values{"partNumber": {strconv.Itoa(number)}, "uploadId": {upload}}, body)
	if err == nil && header.Get("ETag") == "" {
		err = errors.New("objects: an answer without tag")
	}
	return header.Get("ETag"), err
}

type completion struct {
	XMLName xml.Name        `xml:"CompleteMultipartUpload"`
	Parts   []completedPart `xml:"Part"`
}

type completedPart struct {
	Number int    `xml:"PartNumber"`
	Tag    string `xml:"ETag"`
}

// Complete makes the file of its parts. When S3 does not know the upload any more, and the file is there, it was complete before.
func (b *Bucket) Complete(ctx context.Context, name, upload string, tags []string) error {
	parts := completion{}
	for i, tag := range tags {
		parts.Parts = append(parts.Parts, completedPart{i + 1, tag})
	}
	body, err := xml.Marshal(parts)
	if err != nil {
		return fmt.Errorf("objects: %w", err)
	}
	text, _, err := b.call(ctx, http.MethodPost, name, url.Values{"uploadId": {upload}}, body)
	if err != nil && strings.Contains(err.Error(), "NoSuchUpload") {
		if _, _, missing := b.call(ctx, http.MethodHead, name, nil, nil); missing == nil {
			return nil
		}
	}
	if err == nil && bytes.Contains(text, []byte("<Error>")) { // S3 may begin to answer 200 before it knows
		return fmt.Errorf("%w: completing: %s", ErrRefused, codeOf(text))
	}
	return err
}

// Link gives an address that anybody can read the file at, for so long. The file is offered for saving, not shown.
func (b *Bucket) Link(ctx context.Context, name string, lasts time.Duration) (link string, expiresAt time.Time, err error) {
	c := b.config()
	file := name[strings.LastIndexByte(name, '/')+1:]
	query := url.Values{"X-Amz-Expires": {strconv.Itoa(int(lasts / time.Second))},
		"response-content-disposition": {`attachment; filename="` + file + `"`}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, b.address(c, name, query), nil)
	if err != nil {
		return "", time.Time{}, fmt.Errorf("objects: %w", err)
	}
	credentials, err := c.Credentials.Retrieve(ctx)
	if err != nil {
		return "", time.Time{}, fmt.Errorf("objects: credentials: %w", err)
	}
	now := b.now().UTC()
	link, _, err = b.signer.PresignHTTP(ctx, credentials, request, "UNSIGNED-PAYLOAD", "s3", c.Region, now)
	if err != nil {
		return "", time.Time{}, fmt.Errorf("objects: %w", err)
	}
	return link, now.Add(lasts).Truncate(time.Second), nil
}

// address is where an object is: by the bucket's own host, or by path at another endpoint.
func (b *Bucket) address(c aws.Config, name string, query url.Values) string {
	base := "https://" + b.name + ".s3." + c.Region + ".amazonaws.com"
	if strings.HasPrefix(c.Region, "cn-") {
		base += ".cn"
	}
	if c.BaseEndpoint != nil {
		base = *c.BaseEndpoint + "/" + b.name
	}
	address := base + "/" + name
	if len(query) > 0 {
		address += "?" + strings.ReplaceAll(query.Encode(), "+", "%20")
	}
	return address
}

// call makes one signed call and gives what was answered. It returns ErrRefused for an answer that is no success.
func (b *Bucket) call(ctx context.Context, method, name string, query url.Values, body []byte) (text []byte, header http.Header, err error) {
	err = trace.Call(ctx, "S3", func(ctx context.Context) error {
		c := b.config()
		request, err := http.NewRequestWithContext(ctx, method, b.address(c, name, query), bytes.NewReader(body))
		if err != nil {
			return fmt.Errorf("objects: %w", err)
		}
		request.Header.Set("Content-Type", "text/csv; charset=utf-8")
		hash := sha256.Sum256(body)
		digest := hex.EncodeToString(hash[:])
		request.Header.Set("X-Amz-Content-Sha256", digest)
		credentials, err := c.Credentials.Retrieve(ctx)
		if err != nil {
			return fmt.Errorf("objects: credentials: %w", err)
		}
		if err := b.signer.SignHTTP(ctx, credentials, request, digest, "s3", c.Region, time.Now()); err != nil {
			return fmt.Errorf("objects: %w", err)
		}
		answer, err := c.HTTPClient.Do(request)
		if err != nil {
			return fmt.Errorf("objects: %s: %w", method, err)
		}
		defer answer.Body.Close()
		if text, err = io.ReadAll(io.LimitReader(answer.Body, maxAnswer)); err != nil {
			return fmt.Errorf("objects: %s: %w", method, err)
		}
		if answer.StatusCode/100 != 2 {
			return fmt.Errorf("%w: %s: %d %s", ErrRefused, method, answer.StatusCode, codeOf(text))
		}
		header = answer.Header
		return nil
	})
	if header == nil {
		header = http.Header{}
	}
	return text, header, err
}

// codeOf is the code in an answer that says what is wrong.
func codeOf(text []byte) string {
	var answer struct{ Code string }
	if xml.Unmarshal(text, &answer) != nil {
		return ""
	}
	return answer.Code
}
