package sqs_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"holdfast/infra/local/sqs"
)

// BenchmarkSendFromOneClient prints sends per second of one SDK client used by 64 goroutines, client and server in one process.
func BenchmarkSendFromOneClient(b *testing.B) {
	server := start(b, sqs.Options{})
	q, err := server.CreateQueue("bench", nil)
	if err != nil {
		b.Fatal(err)
	}
	client := newClient(server.Endpoint())
	body := strings.Repeat("x", 400)
	b.SetParallelism(32)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			in := &awssqs.SendMessageInput{QueueUrl: aws.String(q.URL()), MessageBody: &body}
			if _, err := client.SendMessage(context.Background(), in); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "sends/s")
}

// BenchmarkSendWithoutTheSDK prints what the server alone takes: the same requests, written ready-made over kept connections.
func BenchmarkSendWithoutTheSDK(b *testing.B) {
	server := start(b, sqs.Options{})
	q, err := server.CreateQueue("bench", nil)
	if err != nil {
		b.Fatal(err)
	}
	body := `{"MessageBody":"` + strings.Repeat("x", 400) + `","QueueUrl":"` + q.URL() + `"}`
	request := []byte("POST / HTTP/1.1\r\nHost: local\r\nContent-Type: application/x-amz-json-1.0\r\nX-Amz-Target: AmazonSQS.SendMessage\r\n" +
		fmt.Sprintf("Content-Length: %d\r\n\r\n", len(body)) + body)
	b.SetParallelism(8)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		conn, err := net.Dial("tcp", strings.TrimPrefix(server.Endpoint(), "http://"))
		if err != nil {
			b.Error(err)
			return
		}
		defer func() { _ = conn.Close() }()
		answers := bufio.NewReader(conn)
		for pb.Next() {
			if _, err := conn.Write(request); err != nil {
				b.Error(err)
				return
			}
			answer, err := http.ReadResponse(answers, nil)
			if err != nil || answer.StatusCode != http.StatusOK {
				b.Error(answer, err)
				return
			}
			_, _ = io.Copy(io.Discard, answer.Body)
			_ = answer.Body.Close()
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "sends/s")
}

// BenchmarkSendBatchesOfTen prints messages per second of one SDK client that sends ten at a time.
func BenchmarkSendBatchesOfTen(b *testing.B) {
	server := start(b, sqs.Options{})
	q, err := server.CreateQueue("bench", nil)
	if err != nil {
		b.Fatal(err)
	}
	client := newClient(server.Endpoint())
	batch := entries(10)
	for i := range batch {
		batch[i].MessageBody = aws.String(strings.Repeat("x", 400))
	}
	b.SetParallelism(8)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := client.SendMessageBatch(context.Background(), &awssqs.SendMessageBatchInput{QueueUrl: aws.String(q.URL()), Entries: batch}); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric(float64(10*b.N)/b.Elapsed().Seconds(), "messages/s")
}

// BenchmarkQueueWithoutHTTP prints messages per second sent, received and deleted through the Go methods.
func BenchmarkQueueWithoutHTTP(b *testing.B) {
	server := start(b, sqs.Options{})
	q, err := server.CreateQueue("bench", nil)
	if err != nil {
		b.Fatal(err)
	}
	ctx := context.Background()
	body := strings.Repeat("x", 400)
	for b.Loop() {
		if _, err := q.Send(ctx, sqs.Outgoing{Body: body}); err != nil {
			b.Fatal(err)
		}
		got, err := q.Receive(ctx, 1, time.Second)
		if err != nil || len(got) != 1 {
			b.Fatal(got, err)
		}
		if err := q.Delete(ctx, got[0].Receipt); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "messages/s")
}
