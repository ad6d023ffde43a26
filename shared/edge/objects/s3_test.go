package objects_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"holdfast/infra/local/moto"
	"holdfast/infra/local/s3"
	"holdfast/shared/edge/objects"
)

func bucketAt(endpoint string, now func() time.Time) *objects.Bucket {
	return objects.New(func() aws.Config {
		return aws.Config{Region: "us-east-1", BaseEndpoint: &endpoint, HTTPClient: http.DefaultClient,
			Credentials: credentials.NewStaticCredentialsProvider("local", "local", "")}
	}, "files", now)
}

func get(t *testing.T, address string) (int, []byte, http.Header) {
	t.Helper()
	answer, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, text, answer.Header
}

// writtenAndRead writes a file of two parts, one of them twice, and reads it by its link.
func writtenAndRead(t *testing.T, b *objects.Bucket) {
	ctx, name := t.Context(), "exports/a.csv"
	upload, err := b.Begin(ctx, name)
	if err != nil {
		t.Fatal(err)
	}
	first, second := make([]byte, 5<<20), []byte("the end, with ümlauts\r\n")
	_, _ = rand.Read(first)
	if _, err := b.Part(ctx, name, upload, 1, []byte("cut off")); err != nil {
		t.Fatal(err)
	}
	tags := make([]string, 2)
	for i, body := range [][]byte{first, second} {
		if tags[i], err = b.Part(ctx, name, upload, i+1, body); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 2 {
		if err := b.Complete(ctx, name, upload, tags); err != nil {
			t.Fatalf("completing, time %d: %v", n+1, err)
		}
	}
	link, expires, err := b.Link(ctx, name, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if left := time.Until(expires); left < 55*time.Minute || left > time.Hour {
		t.Errorf("the link holds for %v", left)
	}
	status, text, header := get(t, link)
	if status != http.StatusOK || !bytes.Equal(text, append(first, second...)) {
		t.Errorf("%d, %d bytes", status, len(text))
	}
	if header.Get("Content-Disposition") != `attachment; filename="a.csv"` || !strings.HasPrefix(header.Get("Content-Type"), "text/csv") {
		t.Errorf("%v", header)
	}
	if err := b.Complete(ctx, "exports/b.csv", "nobody-began-it", tags); !errors.Is(err, objects.ErrRefused) {
		t.Errorf("what was never begun: %v", err)
	}
}

func TestAFileIsWrittenInPartsAndReadByItsLink(t *testing.T) {
	t.Parallel()
	t.Run("ours", func(t *testing.T) {
		t.Parallel()
		server := httptest.NewServer(s3.New(nil))
		t.Cleanup(server.Close)
		writtenAndRead(t, bucketAt(server.URL, time.Now))
	})
	t.Run("moto", func(t *testing.T) {
		t.Parallel()
		endpoint, stop, err := moto.Start()
		if err != nil {
			t.Fatalf("moto_server is needed: %v", err)
		}
		t.Cleanup(stop)
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, endpoint+"/files", nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("making the bucket: %v, %v", answer, err)
		}
		_ = answer.Body.Close()
		writtenAndRead(t, bucketAt(endpoint, time.Now))
	})
}

func TestALinkRunsOut(t *testing.T) {
	t.Parallel()
	now := time.Now()
	server := httptest.NewServer(s3.New(func() time.Time { return now }))
	t.Cleanup(server.Close)
	b := bucketAt(server.URL, func() time.Time { return now })
	upload, err := b.Begin(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	tag, err := b.Part(t.Context(), "x", upload, 1, []byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Complete(t.Context(), "x", upload, []string{tag}); err != nil {
		t.Fatal(err)
	}
	link, _, err := b.Link(t.Context(), "x", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Hour - 2*time.Second)
	if status, _, _ := get(t, link); status != http.StatusOK {
		t.Errorf("in time: %d", status)
	}
	now = now.Add(2 * time.Second)
	if status, _, _ := get(t, link); status != http.StatusForbidden {
		t.Errorf("too late: %d", status)
	}
}

func TestOutsideOfTheLocalStackTheBucketIsAHostOfItsOwn(t *testing.T) {
	t.Parallel()
	for region, want := range map[string]string{"eu-central-1": "https://files.s3.eu-central-1.amazonaws.com/x.csv?",
		"cn-north-1": "https://files.s3.cn-north-1.amazonaws.com.cn/x.csv?"} {
		b := objects.New(func() aws.Config {
			return aws.Config{Region: region, Credentials: credentials.NewStaticCredentialsProvider("a", "b", "token")}
		}, "files", time.Now)
		link, _, err := b.Link(t.Context(), "x.csv", time.Hour)
		if err != nil || !strings.HasPrefix(link, want) || !strings.Contains(link, "X-Amz-Security-Token=token") {
			t.Errorf("%s, %v", link, err)
		}
	}
}
