package sqs_test

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"holdfast/infra/local/sqs"
)

// start runs a server for one test.
func start(t testing.TB, o sqs.Options) *sqs.Server {
	t.Helper()
	server, err := sqs.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	return server
}

// newClient returns an SDK client as functions use it, but without retries: a test wants to see the first answer.
func newClient(endpoint string) *awssqs.Client {
	return awssqs.New(awssqs.Options{
		BaseEndpoint: aws.String(endpoint),
		Region:       "us-east-1",
		Credentials:  credentials.NewStaticCredentialsProvider("local", "local", ""),
		Retryer:      aws.NopRetryer{},
		HTTPClient:   &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 128}},
	})
}

// moto is the one moto server of this test run.
var moto struct {
	once     sync.Once
	endpoint string
	err      error
	stop     func()
}

func TestMain(m *testing.M) {
	code := m.Run()
	if moto.stop != nil {
		moto.stop()
	}
	os.Exit(code)
}

// motoEndpoint starts moto's server on first use, installing it when it is missing; without it the test fails.
func motoEndpoint(t *testing.T) string {
	t.Helper()
	moto.once.Do(func() { moto.endpoint, moto.err = startMoto() })
	if moto.err != nil {
		t.Fatalf("moto_server is needed: %v", moto.err)
	}
	return moto.endpoint
}

// motoProgram serves moto on a free loopback port until its standard input ends, so that it does not outlive a test run that was killed.
const motoProgram = `
import os, sys, threading
threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
from moto.server import main
main(["-H", "127.0.0.1", "-p", "0"])
`

func startMoto() (string, error) {
	install := exec.Command("sh", "moto.sh")
	install.Stderr = os.Stderr
	python, err := install.Output()
	if err != nil {
		return "", fmt.Errorf("install: %w", err)
	}
	cmd := exec.Command(strings.TrimSpace(string(python)), "-u", "-c", motoProgram)
	cmd.Env = append(os.Environ(), "TZ=UTC", "AWS_ACCESS_KEY_ID=local", "AWS_SECRET_ACCESS_KEY=local")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return "", err
	}
	output, err := cmd.StderrPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	moto.stop = func() {
		_ = stdin.Close()
		_ = cmd.Process.Kill() // by its own id; it may have ended already
		_ = cmd.Wait()
	}
	found := make(chan string, 1)
	go func() {
		running := regexp.MustCompile(`Running on (http://127\.0\.0\.1:\d+)`)
		var said []string
		lines := bufio.NewScanner(output)
		for lines.Scan() {
			said = append(said, lines.Text())
			if m := running.FindStringSubmatch(lines.Text()); m != nil {
				found <- m[1]
				said = nil
			}
		}
		found <- "ended: " + strings.Join(said, "\n")
	}()
	select {
	case line := <-found:
		if !strings.HasPrefix(line, "http") {
			return "", fmt.Errorf("moto %s", line)
		}
		return line, nil
	case <-time.After(60 * time.Second):
		return "", fmt.Errorf("moto did not say within 60 s where it runs")
	}
}
