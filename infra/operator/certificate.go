package operator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"holdfast/shared/reconcile/certificate"
)

// jobPoll is how often a job is asked for.
const jobPoll = 2 * time.Second

// ErrHash is returned for a certificate whose hash is not that of its contents.
var ErrHash = errors.New("the certificate's hash is not that of its contents")

// Certificate gets an activity's certificate, the one that was made last if latest, and checks its hash. One that takes long is waited
// for, for as long as patience says. It returns the body as it came, too, a *Refused when the API refuses, and ErrHash.
func (c *Client) Certificate(ctx context.Context, activityID string, latest bool, patience time.Duration) (*certificate.Certificate, json.RawMessage, error) {
	path := "/ops/v1/activities/" + url.PathEscape(activityID) + "/certificate"
	if latest {
		path += "?latest=true"
	}
	status, body, err := c.get(ctx, path)
	if err == nil && status == http.StatusAccepted {
		body, err = c.awaitJob(ctx, body, patience)
	}
	if err != nil {
		return nil, nil, err
	}
	var got certificate.Certificate
	if err := json.Unmarshal(body, &got); err != nil {
		return nil, nil, errNotJSON
	}
	sum, err := got.Sum()
	if err != nil {
		return nil, nil, err
	}
	if sum != got.Hash {
		return nil, nil, ErrHash
	}
	return &got, body, nil
}

// awaitJob waits until a job is over and gives its result.
func (c *Client) awaitJob(ctx context.Context, accepted json.RawMessage, patience time.Duration) (json.RawMessage, error) {
	var job struct {
		JobID   string          `json:"jobId"`
		Status  string          `json:"status"`
		Problem string          `json:"problem"`
		Result  json.RawMessage `json:"result"`
	}
	if err := json.Unmarshal(accepted, &job); err != nil || job.JobID == "" {
		return nil, errNotJSON
	}
	for deadline := time.Now().Add(patience); ; {
		switch {
		case job.Status == "SUCCEEDED":
			return job.Result, nil
		case job.Status == "FAILED":
			return nil, fmt.Errorf("job %s failed: %s", job.JobID, job.Problem)
		case time.Now().After(deadline):
			return nil, fmt.Errorf("job %s is still %s; ask again later with --latest", job.JobID, job.Status)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(jobPoll):
		}
		_, body, err := c.get(ctx, "/ops/v1/jobs/"+url.PathEscape(job.JobID))
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(body, &job); err != nil {
			return nil, errNotJSON
		}
	}
}

// PrintCertificate writes a certificate for people, a line per equation.
func PrintCertificate(w io.Writer, c *certificate.Certificate) error {
	p := &printer{w: w}
	p.line("certificate of %s at %s, log seq %s", c.ActivityID, c.At, c.Seq)
	for _, e := range c.Equations {
		offender := ""
		if e.FirstOffender != "" {
			offender = "  first: " + e.FirstOffender
		}
		sign := "="
		if e.AtMost {
			sign = "<="
		}
		p.line("  %s  %-3s %9d %2s %-9d  %s%s", e.Verdict, e.ID, e.Left, sign, e.Right, e.Text, offender)
	}
	claim := "equal up to what is in flight, since the sale is not suspended or closed, or something is on its way"
	if c.Exact {
		claim = "exactly equal, since the sale is suspended or closed and nothing is on its way"
	}
	p.line("  in flight between the stores: %d; both stores are claimed to be %s", c.InFlight, claim)
	if c.Ledger == nil {
		p.line("  the accounts of all sales were not compared yet; that is done once a day")
	} else {
		p.line("  the accounts of all sales were compared at %s: %d differences", c.Ledger.ComparedAt, c.Ledger.Differences)
	}
	p.line("  sha256 %s", c.Hash)
	p.line("%s", c.Verdict)
	return p.err
}

// printer keeps the first error of many writes.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format+"\n", args...)
	}
}
