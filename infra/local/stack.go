package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"holdfast/infra/local/mapping"
	"holdfast/infra/local/server"
	"holdfast/infra/local/sqs"
	"holdfast/shared/edge"
)

// Options says how the stack is started.
type Options struct {
	Port    int       // of the HTTP front; 0 picks a free one
	DataDir string    // holds the data of both servers and stack.json
	Fresh   bool      // empty DataDir first
	Redis   string    // address of a running Redis to attach to; empty starts one
	MySQL   string    // DSN of a running MariaDB or MySQL to attach to; empty starts one
	Out     io.Writer // progress for a person
}

// Addresses is where everything listens: the content of stack.json.
type Addresses struct {
	API    string            `json:"api"`
	Redis  string            `json:"redis"`
	MySQL  string            `json:"mysql"`
	AWS    string            `json:"aws"`
	Queues map[string]string `json:"queues"`
}

// Stack is a running local stack.
type Stack struct {
	Addresses Addresses

	clock       *Clock
	issuer      *Issuer
	faults      *Faults
	functions   *Functions
	ordersQueue *sqs.Queue
	deadLetters *sqs.Queue
	orders      *mapping.Mapping
	schedules   map[string]*mapping.Schedule
	closers     []func() // in the order of starting; closed backwards
	file        string
}

// AddressFile is the name of the file in the data folder that says where the stack listens.
const AddressFile = "stack.json"

// LogFile is the name of the file in the data folder that the functions log into, as JSON lines.
const LogFile = "functions.log"

// Up starts everything and returns once it serves. On an error, what was started is stopped again.
func Up(ctx context.Context, o Options) (_ *Stack, err error) {
	if err := prepareFolder(o); err != nil {
		return nil, err
	}
	s := &Stack{faults: &Faults{}, file: filepath.Join(o.DataDir, AddressFile)}
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	if s.clock, err = OpenClock(o.DataDir); err != nil {
		return nil, err
	}
	if s.issuer, err = NewIssuer(s.clock.Now); err != nil {
		return nil, err
	}
	if err = s.startServers(ctx, o); err != nil {
		return nil, err
	}
	if err = s.startQueues(); err != nil {
		return nil, err
	}
	logFile, err := os.OpenFile(filepath.Join(o.DataDir, LogFile), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	s.closers = append(s.closers, func() { _ = logFile.Close() })
	log := edge.NewLog(logFile)
	if s.functions, err = newFunctions(ctx, s, log); err != nil {
		return nil, err
	}
	s.closers = append(s.closers, s.functions.Close)
	if err = s.startTriggers(log); err != nil {
		return nil, err
	}
	if err = s.startFront(o.Port); err != nil {
		return nil, err
	}
	return s, s.writeAddresses()
}

// prepareFolder makes the data folder, empty if asked. It refuses to empty a folder that is not a stack's.
func prepareFolder(o Options) error {
	if o.Fresh {
		entries, err := os.ReadDir(o.DataDir)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("the data folder: %w", err)
		}
		if len(entries) > 0 && !isStackFolder(o.DataDir) {
			return fmt.Errorf("%s holds no stack's data, so --fresh will not empty it: choose another --data-dir", o.DataDir)
		}
		if err := os.RemoveAll(o.DataDir); err != nil {
			return fmt.Errorf("empty the data folder: %w", err)
		}
	}
	if err := os.MkdirAll(o.DataDir, 0o700); err != nil {
		return fmt.Errorf("the data folder: %w", err)
	}
	return os.WriteFile(filepath.Join(o.DataDir, folderMark), []byte("Data of a local Holdfast stack. It may be deleted while no stack runs.\n"), 0o600)
}

// folderMark is a file by which a data folder is known to be ours.
const folderMark = "HOLDFAST"

func isStackFolder(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, folderMark))
	return err == nil
}

// startServers starts, or attaches to, Redis and MariaDB.
func (s *Stack) startServers(ctx context.Context, o Options) error {
	if o.Redis == "" || o.MySQL == "" {
		if err := server.EnsureInstalled(ctx, o.Out); err != nil {
			return err
		}
	}
	s.Addresses.Redis, s.Addresses.MySQL = o.Redis, o.MySQL
	if o.Redis == "" {
		_, _ = fmt.Fprintln(o.Out, "starting Redis …")
		cache, err := server.Redis(ctx, server.RedisOptions{Dir: filepath.Join(o.DataDir, "redis")})
		if err != nil {
			return err
		}
		s.Addresses.Redis = cache.Addr
		s.closers = append(s.closers, func() { _ = cache.Stop(context.Background()) }) // Stop kills what will not end
	}
	if o.MySQL == "" {
		_, _ = fmt.Fprintln(o.Out, "starting MariaDB …")
		db, err := server.MariaDB(ctx, server.MariaDBOptions{Dir: filepath.Join(o.DataDir, "mariadb"), Durable: true})
		if err != nil {
			return err
		}
		s.Addresses.MySQL = db.DSN
		s.closers = append(s.closers, func() { _ = db.Stop(context.Background()) })
	}
	return nil
}

// What the template sets for the queues and the mapping; a test compares the two.
const (
	ordersVisibility      = 180 * time.Second
	ordersMaxReceives     = 10
	ordersBatchSize       = 100
	ordersWindow          = time.Second
	ordersConcurrency     = 8
	deadLetterRetention   = 14 * 24 * time.Hour
	deadLettersBatchSize  = 10
	deadLettersVisibility = 180 * time.Second
)

// startQueues starts the queue service with the orders queue and its dead-letter queue.
func (s *Stack) startQueues() error {
	queues, err := sqs.Start(sqs.Options{Now: s.clock.Now, Faults: s.faults})
	if err != nil {
		return err
	}
	s.closers = append(s.closers, queues.Close)
	s.clock.OnMove(queues.Wake)
	dead, err := queues.CreateQueue("orders-dead-letter", map[string]string{
		"VisibilityTimeout":      seconds(deadLettersVisibility),
		"MessageRetentionPeriod": seconds(deadLetterRetention),
	})
	if err != nil {
		return err
	}
	redrive, err := json.Marshal(map[string]any{"deadLetterTargetArn": dead.ARN(), "maxReceiveCount": ordersMaxReceives})
	if err != nil {
		return err
	}
	s.ordersQueue, err = queues.CreateQueue("orders", map[string]string{
		"VisibilityTimeout": seconds(ordersVisibility),
		"RedrivePolicy":     string(redrive),
	})
	if err != nil {
		return err
	}
	s.deadLetters = dead
	s.Addresses.AWS = queues.Endpoint()
	s.Addresses.Queues = map[string]string{"orders": s.ordersQueue.URL(), "ordersDeadLetter": dead.URL()}
	return nil
}

func seconds(d time.Duration) string { return strconv.Itoa(int(d / time.Second)) }

// startFront serves HTTP.
func (s *Stack) startFront(port int) error {
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return fmt.Errorf("port %d is taken; choose another by --port, or 0 for a free one: %w", port, err)
	}
	mux := http.NewServeMux()
	s.controls(mux)
	mux.Handle("/", (&front{invoker: s.functions, issuer: s.issuer, clock: s.clock}).handler())
	web := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
	go func() { _ = web.Serve(listener) }() // ends with Close
	s.closers = append(s.closers, func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if web.Shutdown(ctx) != nil {
			_ = web.Close()
		}
	})
	s.Addresses.API = "http://" + listener.Addr().String()
	return nil
}

// writeAddresses writes stack.json whole or not at all; it holds the database's password, so only its owner may read it.
func (s *Stack) writeAddresses() error {
	text, err := json.MarshalIndent(s.Addresses, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(s.file+".new", append(text, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(s.file+".new", s.file)
}

// Close ends what Up started, in reverse order.
func (s *Stack) Close() {
	_ = os.Remove(s.file) // nobody listens there any more
	for i := len(s.closers) - 1; i >= 0; i-- {
		s.closers[i]()
	}
	s.closers = nil
}
