package local

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"holdfast/infra/local/mapping"
	"holdfast/infra/local/processes"
	"holdfast/infra/local/provider"
	"holdfast/infra/local/s3"
	"holdfast/infra/local/server"
	"holdfast/infra/local/sns"
	"holdfast/infra/local/sqs"
	"holdfast/infra/local/states"
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

	// Processes runs the functions as processes of their own, built from their source, instead of in this one.
	Processes bool
	// Between may put something between these processes and what they call: it gets the addresses that they would be told and
	// returns those that they are told. nil puts nothing between.
	Between func(Addresses) (Addresses, error)
}

// Addresses is where everything listens: the content of stack.json.
type Addresses struct {
	API    string            `json:"api"`
	Redis  string            `json:"redis"`
	MySQL  string            `json:"mysql"`
	AWS    string            `json:"aws"`
	Queues map[string]string `json:"queues"`

	NoticesTopic string `json:"noticesTopic"` // ARN
	StateMachine string `json:"stateMachine"` // ARN

	Provider    string `json:"provider"`    // of the payment provider, to steer it by
	ProviderKey string `json:"providerKey"` // what it signs its notifications with
}

// Stack is a running local stack.
type Stack struct {
	Addresses Addresses

	clock        *Clock
	issuer       *Issuer
	faults       *Faults
	functions    functions
	processes    *processes.Processes // nil: the functions run in this process
	redisProxy   *redisProxy          // nil likewise
	cache        *server.Process      // nil: not ours
	db           *server.MariaDBProcess
	ordersQueue  *sqs.Queue
	deadLetters  *sqs.Queue
	orders       *mapping.Mapping
	noticesQueue *sqs.Queue
	topics       *sns.Topics
	services     *services
	steps        *lateInvoker    // runs what executions call
	deposits     *states.Machine // waits for the instants of deposits
	provider     *provider.Provider
	schedules    map[string]*mapping.Schedule
	closers      []func() // in the order of starting; closed backwards
}

// functions is what runs the functions, in this process or in others.
type functions interface {
	mapping.Invoker
	Has(name string) bool
	Close()
}

// AddressFile is the name of the file in the data folder that says where the stack listens.
const AddressFile = "stack.json"

// LogFile is the name of the file in the data folder that the functions log into, as JSON lines.
const LogFile = "functions.log"

// Up starts everything and returns once it serves. On an error, what was started is stopped again.
func Up(ctx context.Context, o Options) (_ *Stack, err error) {
	lock, err := openFolder(o.DataDir, o.Fresh)
	if err != nil {
		return nil, err
	}
	s := &Stack{faults: &Faults{}, closers: []func(){func() { _ = lock.Close() }}}
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	listener, err := s.listen(o.Port) // before the servers, which take a while to start
	if err != nil {
		return nil, err
	}
	if s.clock, err = OpenClock(o.DataDir); err != nil {
		return nil, err
	}
	if s.issuer, err = NewIssuer(s.clock.Now); err != nil {
		return nil, err
	}
	s.startProvider(listener.Addr().String())
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
	if err = migrate(ctx, s.Addresses.MySQL); err != nil {
		return nil, err
	}
	warnOfEviction(ctx, s.Addresses.Redis, log)
	if err = s.startFunctions(ctx, o, logFile, log); err != nil {
		return nil, err
	}
	s.closers = append(s.closers, s.functions.Close)
	s.steps.set(s.functions)
	s.onClose(s.deposits.Stop)
	if err = s.startTriggers(log); err != nil {
		return nil, err
	}
	s.startFront(listener)
	return s, s.writeAddresses(filepath.Join(o.DataDir, AddressFile))
}

// startFunctions makes the functions, in this process or in others.
func (s *Stack) startFunctions(ctx context.Context, o Options, logFile *os.File, log *slog.Logger) (err error) {
	if o.Processes {
		return s.startProcesses(ctx, o, logFile)
	}
	s.functions, err = newFunctions(s, logFile, log)
	return err
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
		s.cache, s.Addresses.Redis = cache, cache.Addr
		s.closers = append(s.closers, func() { _ = cache.Stop(context.Background()) }) // Stop kills what will not end
	}
	if o.MySQL == "" {
		_, _ = fmt.Fprintln(o.Out, "starting MariaDB …")
		db, err := server.MariaDB(ctx, server.MariaDBOptions{Dir: filepath.Join(o.DataDir, "mariadb"), Durable: true})
		if err != nil {
			return err
		}
		s.db, s.Addresses.MySQL = db, db.DSN
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

// startQueues starts the queue service with the queues of orders and notices and their dead-letter queues; its endpoint serves the other
// services too.
func (s *Stack) startQueues() error {
	s.topics = sns.New(sns.Options{Now: s.clock.Now, Faults: s.faults})
	if err := s.newDeposits(); err != nil {
		return err
	}
	s.services = &services{byTarget: map[string]http.Handler{states.TargetPrefix: s.deposits}, topics: s.topics, objects: s3.New(s.clock.Now)}
	queues, err := sqs.Start(sqs.Options{Now: s.clock.Now, Faults: s.faults, Others: s.services})
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
	return s.startNotices(queues)
}

func seconds(d time.Duration) string { return strconv.Itoa(int(d / time.Second)) }

// listen takes the port of the front.
func (s *Stack) listen(port int) (net.Listener, error) {
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return nil, fmt.Errorf("port %d is taken; choose another by --port, or 0 for a free one: %w", port, err)
	}
	s.closers = append(s.closers, func() { _ = listener.Close() })
	return listener, nil
}

// startFront serves HTTP.
func (s *Stack) startFront(listener net.Listener) {
	own := http.NewServeMux()
	s.controls(own)
	own.Handle(providerPath+"/", http.StripPrefix(providerPath, s.provider))
	gateway := (&front{invoker: s.functions, issuer: s.issuer, clock: s.clock}).handler()
	all := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, pattern := own.Handler(r); pattern == "" || strings.HasPrefix(r.URL.Path, "/ops/") {
			gateway.ServeHTTP(w, r)
			return
		}
		own.ServeHTTP(w, r)
	})
	web := &http.Server{Handler: all, ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
	go func() { _ = web.Serve(listener) }() // ends with Close
	s.closers = append(s.closers, func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if web.Shutdown(ctx) != nil {
			_ = web.Close()
		}
	})
	s.Addresses.API = "http://" + listener.Addr().String()
}

// writeAddresses writes stack.json whole or not at all; it holds the database's password, so only its owner may read it.
func (s *Stack) writeAddresses(file string) error {
	text, err := json.MarshalIndent(s.Addresses, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(file+".new", append(text, '\n'), 0o600); err != nil {
		return err
	}
	s.closers = append(s.closers, func() { _ = os.Remove(file) }) // nobody listens there any more
	return os.Rename(file+".new", file)
}

// Close ends what Up started, in reverse order.
func (s *Stack) Close() {
	for i := len(s.closers) - 1; i >= 0; i-- {
		s.closers[i]()
	}
	s.closers = nil
}
