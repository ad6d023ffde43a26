package idempotency_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"holdfast/shared/fault"
	"holdfast/shared/idempotency"
	"holdfast/shared/sqltx"
	"holdfast/shared/testenv"
)

var (
	noon = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	key  = idempotency.Key{User: "u1", Route: "POST /v1/orders/1/cancellation", Key: "k1"}
)

// effects is a table with one row per effect.
func effects(t *testing.T) *sqltx.DB {
	t.Helper()
	db := sqltx.New(testenv.MySQL(t), nil)
	if _, err := db.ExecContext(t.Context(), `CREATE TABLE effect (id INT AUTO_INCREMENT PRIMARY KEY)`); err != nil {
		t.Fatal(err)
	}
	return db
}

func wantEffects(t *testing.T, db *sqltx.DB, n int) {
	t.Helper()
	var got int
	if err := db.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM effect`).Scan(&got); err != nil || got != n {
		t.Errorf("%d effects, want %d: %v", got, n, err)
	}
}

// request is a handler: it brings its effect about once per key.
func request(ctx context.Context, db *sqltx.DB, k idempotency.Key, body string, now time.Time, answer string) (idempotency.Answer, bool, error) {
	var out idempotency.Answer
	replayed := false
	err := db.Run(ctx, func(ctx context.Context, tx *sql.Tx) error {
		kept, err := idempotency.Begin(ctx, tx, k, idempotency.Hash([]byte(body)), now)
		if err != nil {
			return err
		}
		if kept != nil {
			out, replayed = *kept, true
			return nil
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO effect (id) VALUES (NULL)`); err != nil {
			return err
		}
		out, replayed = idempotency.Answer{Status: 200, Body: []byte(answer)}, false
		return idempotency.Finish(ctx, tx, k, out)
	})
	return out, replayed, err
}

func TestSameKeyAndBodyGetTheFirstAnswerAgain(t *testing.T) {
	t.Parallel()
	db := effects(t)
	if a, replayed, err := request(t.Context(), db, key, `{"a":1,"b":[2]}`, noon, "first"); err != nil || replayed || string(a.Body) != "first" {
		t.Fatalf("first: %q %v %v", a.Body, replayed, err)
	}
	a, replayed, err := request(t.Context(), db, key, ` { "b": [2], "a": 1 } `, noon.Add(idempotency.Life-time.Second), "second")
	if err != nil || !replayed || a.Status != 200 || string(a.Body) != "first" {
		t.Errorf("again: %+v %v %v", a, replayed, err)
	}
	wantEffects(t, db, 1)
}

func TestSameKeyWithAnotherBodyIsRefused(t *testing.T) {
	t.Parallel()
	db := effects(t)
	if _, _, err := request(t.Context(), db, key, `{"n":9007199254740993}`, noon, ""); err != nil {
		t.Fatal(err)
	}
	// Read as floats, the two numbers would be one.
	_, _, err := request(t.Context(), db, key, `{"n":9007199254740992}`, noon, "")
	if !errors.Is(err, idempotency.ErrReused) || fault.Of(err) != fault.IdempotencyKeyReused {
		t.Errorf("got %v, want ErrReused", err)
	}
	wantEffects(t, db, 1)
}

func TestKeyBelongsToOneUserAndOneRoute(t *testing.T) {
	t.Parallel()
	db := effects(t)
	for _, k := range []idempotency.Key{key, {"u2", key.Route, key.Key}, {key.User, "POST /v1/orders/2/cancellation", key.Key},
		{key.User, key.Route, "K1"}, {key.User, key.Route, "k1 "}, {"U1", key.Route, key.Key}} {
		if _, replayed, err := request(t.Context(), db, k, "{}", noon, ""); err != nil || replayed {
			t.Errorf("%v: replayed %v: %v", k, replayed, err)
		}
	}
	wantEffects(t, db, 6)
}

func TestRefusalIsNotRemembered(t *testing.T) {
	t.Parallel()
	db := effects(t)
	refusal := errors.New("refused")
	err := db.Run(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		if _, err := idempotency.Begin(ctx, tx, key, idempotency.Hash([]byte("{}")), noon); err != nil {
			return err
		}
		return refusal
	})
	if !errors.Is(err, refusal) {
		t.Fatal(err)
	}
	if _, replayed, err := request(t.Context(), db, key, `{"other":true}`, noon, ""); err != nil || replayed {
		t.Errorf("the key was burnt by a refusal: replayed %v: %v", replayed, err)
	}
}

func TestExpiredKeyStartsAnew(t *testing.T) {
	t.Parallel()
	db := effects(t)
	if _, _, err := request(t.Context(), db, key, "{}", noon, "first"); err != nil {
		t.Fatal(err)
	}
	later := noon.Add(idempotency.Life)
	if _, replayed, err := request(t.Context(), db, key, `{"other":true}`, later, "second"); err != nil || replayed {
		t.Errorf("replayed %v: %v", replayed, err)
	}
	if a, replayed, err := request(t.Context(), db, key, `{"other":true}`, later, "third"); err != nil || !replayed || string(a.Body) != "second" {
		t.Errorf("%q, replayed %v: %v", a.Body, replayed, err)
	}
	wantEffects(t, db, 2)
}

func TestKeysWhoseLifeIsOverAreForgottenAndNoOthers(t *testing.T) {
	t.Parallel()
	db := effects(t)
	of := func(user string) idempotency.Key {
		return idempotency.Key{User: user, Route: key.Route, Key: key.Key}
	}
	for i, user := range []string{"first", "second", "third", "young"} {
		if _, _, err := request(t.Context(), db, of(user), "{}", noon.Add(time.Duration(i)*time.Minute), user); err != nil {
			t.Fatal(err)
		}
	}
	now := noon.Add(idempotency.Life + 2*time.Minute) // the third one's last instant
	for _, want := range []int{2, 1, 0} {
		if n, err := idempotency.Forget(t.Context(), db, now, 2); n != want || err != nil {
			t.Fatalf("forgot %d, want %d: %v", n, want, err)
		}
	}
	if a, replayed, err := request(t.Context(), db, of("young"), "{}", now, "again"); err != nil || !replayed || string(a.Body) != "young" {
		t.Errorf("%q, replayed %v: %v", a.Body, replayed, err)
	}
	wantEffects(t, db, 4)
}

func TestManyAtOnceHaveOneEffectAndOneAnswer(t *testing.T) {
	t.Parallel()
	db := effects(t)
	ended := make(chan error, 20)
	for range cap(ended) {
		go func() {
			a, _, err := request(t.Context(), db, key, "{}", noon, "the one")
			if err == nil && string(a.Body) != "the one" {
				err = errors.New("another answer: " + string(a.Body))
			}
			ended <- err
		}()
	}
	for range cap(ended) {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	wantEffects(t, db, 1)
}

func TestEmptyAnswerIsAnAnswerAndAKeyMustBeBegun(t *testing.T) {
	t.Parallel()
	db := effects(t)
	for range 2 {
		if a, _, err := request(t.Context(), db, key, "", noon, ""); err != nil || a.Status != 200 || len(a.Body) != 0 {
			t.Errorf("%+v: %v", a, err)
		}
	}
	wantEffects(t, db, 1)
	err := db.Run(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		return idempotency.Finish(ctx, tx, idempotency.Key{User: "u", Route: "r", Key: "never"}, idempotency.Answer{Status: 200})
	})
	if err == nil {
		t.Error("an answer was kept for a key that nobody has begun")
	}
}

func TestHashComparesAsJSON(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{`{"a":1,"b":2}`, "{\n\"b\": 2, \"a\": 1}", true},
		{`"\u0041"`, `"A"`, true},
		{`{"a":1}`, `{"a":"1"}`, false},
		{`[1,2]`, `[2,1]`, false},
		{`{"a":1}`, `{"a":1}{}`, false},
		{`not json`, `not  json`, false},
		{``, ``, true},
	} {
		if got := idempotency.Hash([]byte(c.a)) == idempotency.Hash([]byte(c.b)); got != c.same {
			t.Errorf("%s and %s: same is %v", c.a, c.b, got)
		}
	}
}
