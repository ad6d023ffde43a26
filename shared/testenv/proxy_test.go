package testenv

import (
	"bytes"
	"context"
	"errors"
	"net"
	"syscall"
	"testing"
	"time"
)

func TestProxyDownRefusesAndUpServesAgain(t *testing.T) {
	t.Parallel()
	p := Proxy(t, RedisAddr(t))
	c := RedisClient(t, p.Addr)
	if err := c.Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	p.Down()
	// The first call may still meet a connection that was cut; then none can be made.
	_ = c.Ping(t.Context()).Err()
	if err := c.Ping(t.Context()).Err(); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Fatalf("down: got %v, want connection refused", err)
	}
	p.Up()
	if err := c.Ping(t.Context()).Err(); err != nil {
		t.Fatalf("up again: %v", err)
	}
}

func TestProxyDropRepliesLosesEveryThirdAnswerButNoRequest(t *testing.T) {
	t.Parallel()
	p := Proxy(t, RedisAddr(t))
	c, key := RedisClient(t, p.Addr), ActivityID(t)
	if err := c.Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	p.DropReplies(3)
	lost := 0
	for range 12 {
		// A new connection greets first, so more than a third of the increments may survive; what counts is that
		// a lost answer is not a lost request.
		if c.Incr(t.Context(), key).Err() != nil {
			lost++
		}
	}
	p.DropReplies(0)
	if lost == 0 || p.Cuts() == 0 {
		t.Fatalf("lost %d answers, cut %d connections; want some", lost, p.Cuts())
	}
	direct := Redis(t)
	got, err := direct.Get(t.Context(), key).Int()
	if err != nil || got <= 12-lost {
		t.Fatalf("the server counted %d, %v; the client heard %d answers, so no lost one took effect", got, err, 12-lost)
	}
}

func TestProxyCutAfterTakesEffectAndCutBeforeDoesNot(t *testing.T) {
	t.Parallel()
	p := Proxy(t, RedisAddr(t))
	c, key := RedisClient(t, p.Addr), ActivityID(t)
	direct := Redis(t)
	isSet := func(chunk []byte) bool { return bytes.Contains(chunk, []byte(key)) }

	p.CutBefore(isSet)
	if err := c.Incr(t.Context(), key).Err(); err == nil {
		t.Fatal("CutBefore: the client heard an answer")
	}
	if n, _ := direct.Exists(t.Context(), key).Result(); n != 0 {
		t.Fatal("CutBefore: the server received the request")
	}
	p.CutBefore(nil)
	p.CutAfter(isSet)
	if err := c.Incr(t.Context(), key).Err(); err == nil {
		t.Fatal("CutAfter: the client heard an answer")
	}
	if got := direct.Get(t.Context(), key).Val(); got != "1" {
		t.Fatalf("CutAfter: the server has %q, want 1", got)
	}
	p.CutAfter(nil)
	if got, err := c.Incr(t.Context(), key).Result(); got != 2 || err != nil {
		t.Fatalf("afterwards: got %d, %v", got, err)
	}
	if p.Cuts() != 2 {
		t.Fatalf("cut %d connections, want 2", p.Cuts())
	}
}

func TestProxyDelayHangsUntilItIsTakenBack(t *testing.T) {
	t.Parallel()
	p := Proxy(t, RedisAddr(t))
	c := RedisClient(t, p.Addr)
	if err := c.Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	p.Delay(time.Hour)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	var timeout net.Error
	if err := c.Ping(ctx).Err(); !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Fatalf("got %v, want a timeout", err)
	}
	answered := make(chan error, 1)
	go func() { answered <- c.Ping(t.Context()).Err() }()
	select {
	case err := <-answered:
		t.Fatalf("answered in spite of the delay: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	p.Delay(0)
	if err := <-answered; err != nil {
		t.Fatal(err)
	}
}
