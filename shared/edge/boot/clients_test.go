package boot

import (
	"database/sql/driver"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-sql-driver/mysql"

	"holdfast/shared/stock"
	"holdfast/shared/testenv"
)

// secretsManager stands in for the service of that name: it gives these texts by id and counts how often it was asked.
func secretsManager(t *testing.T, texts map[string]string) (endpoint string, asked *atomic.Int64) {
	t.Helper()
	asked = &atomic.Int64{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		var in struct{ SecretId string }
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil || r.Header.Get("X-Amz-Target") != "secretsmanager.GetSecretValue" {
			http.Error(w, "{}", http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/x-amz-json-1.1")
		if err := json.NewEncoder(w).Encode(map[string]string{"SecretString": texts[in.SecretId]}); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, asked
}

func TestPasswordsComeOutOfSecretsAndAreReadOnce(t *testing.T) {
	t.Parallel()
	own := testenv.OwnRedis(t)
	if err := testenv.RedisClient(t, own.Addr).ConfigSet(t.Context(), "requirepass", "token-of-the-test").Err(); err != nil {
		t.Fatal(err)
	}
	login, err := mysql.ParseDSN(testenv.MySQLDSN(t))
	if err != nil {
		t.Fatal(err)
	}
	who, err := json.Marshal(map[string]string{"username": login.User, "password": login.Passwd, "engine": "mariadb"})
	if err != nil {
		t.Fatal(err)
	}
	endpoint, asked := secretsManager(t, map[string]string{"redis": "token-of-the-test", "mysql": string(who)})
	clients, err := Open(Config{RedisAddr: own.Addr, RedisSecret: "redis", AWSEndpoint: endpoint,
		MySQLDSN: "tcp(" + login.Addr + ")/" + login.DBName + "?tls=false", MySQLSecret: "mysql"})
	if err != nil {
		t.Fatal(err)
	}
	defer clients.DB.Close()
	defer func() { _ = clients.Cache.Close() }()
	for range 3 {
		if err := stock.New(clients.Cache, nil).Probe(t.Context()); err != nil {
			t.Fatal(err)
		}
		conn, err := clients.DB.Conn(t.Context()) // a new connection each time, and a new login
		if err != nil {
			t.Fatal(err)
		}
		if err := conn.Raw(func(any) error { return driver.ErrBadConn }); err == nil {
			t.Fatal("the connection was not thrown away")
		}
		conn.Close()
	}
	if n := asked.Load(); n != 2 {
		t.Errorf("Secrets Manager was asked %d times, want once per secret", n)
	}
}

func TestASecretOfTheWrongFormIsRefusedWithoutShowingIt(t *testing.T) {
	t.Parallel()
	endpoint, _ := secretsManager(t, map[string]string{"mysql": "just-a-password"})
	clients, err := Open(Config{MySQLDSN: "tcp(127.0.0.1:1)/holdfast", MySQLSecret: "mysql", AWSEndpoint: endpoint})
	if err != nil {
		t.Fatal(err)
	}
	defer clients.DB.Close()
	if err := clients.DB.PingContext(t.Context()); err == nil || strings.Contains(err.Error(), "just-a-password") {
		t.Errorf("%v", err)
	}
}

func TestAClusterIsReachedByOneOfItsNodes(t *testing.T) {
	t.Parallel()
	addresses := testenv.Cluster(t).Options().Addrs
	clients, err := Open(Config{RedisAddr: addresses[0], RedisCluster: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = clients.Cache.Close() }()
	for range 10 { // whichever node a key is on
		if _, _, err := stock.New(clients.Cache, nil).Facts(t.Context(), testenv.ActivityID(t)); err == nil || !strings.Contains(err.Error(), "no facts") {
			t.Fatalf("%v", err)
		}
	}
}

func TestClientsAreMadeWithoutAnybodyAnswering(t *testing.T) {
	t.Parallel()
	clients, err := Open(Config{RedisAddr: "192.0.2.1:6379", RedisTLS: true, MySQLDSN: "u:p@tcp(192.0.2.1:3306)/holdfast",
		OrdersQueueURL: "https://192.0.2.1/q"})
	if err != nil || clients.Cache == nil || clients.DB == nil || clients.Queue == nil {
		t.Errorf("%+v, %v", clients, err)
	}
}
