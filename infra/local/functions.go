package local

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/redis/go-redis/v9"

	"holdfast/infra/local/mapping"
	"holdfast/infra/mysql"
	"holdfast/shared/edge"
	"holdfast/shared/edge/api"
	"holdfast/shared/edge/boot"
	"holdfast/shared/edge/objects"
	"holdfast/shared/edge/queue"
	"holdfast/shared/edge/schedule"
	"holdfast/shared/edge/topic"
	"holdfast/shared/edge/workflow"
	"holdfast/shared/metric"
	"holdfast/shared/sqltx"
)

// Sizes of the pools that all functions share here; in Lambda each instance has its own small one.
const (
	localConnections = 32
	localRedisPool   = 64
)

// Functions holds every function of the system as a handler in this process, by the name of its folder.
type Functions struct {
	handlers map[string]lambda.Handler
	db       *sql.DB
	cache    redis.UniversalClient
}

// migrate brings the database's schema up to date.
func migrate(ctx context.Context, dsn string) error {
	db, err := sqltx.Open(dsn)
	if err != nil {
		return err
	}
	defer db.Close()
	if err := mysql.Migrate(ctx, db); err != nil {
		return fmt.Errorf("migrate the database: %w", err)
	}
	return nil
}

// newFunctions opens the stores and makes every function by the constructor that its main.go calls too. Their metrics are lines among
// those of their log, as they are in Lambda.
func newFunctions(s *Stack, logFile io.Writer, log *slog.Logger) (_ *Functions, err error) {
	f := &Functions{}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	if f.db, err = sqltx.Open(s.Addresses.MySQL); err != nil {
		return nil, err
	}
	f.db.SetMaxOpenConns(localConnections)
	f.db.SetMaxIdleConns(localConnections)
	options := boot.RedisOptions(s.Addresses.Redis)
	options.PoolSize = localRedisPool
	f.cache = redis.NewUniversalClient(options)
	f.cache.AddHook(newRedisFaults(s.faults))
	carrier := queue.NewSQS(boot.LocalSQS(s.Addresses.AWS), s.Addresses.Queues["orders"], s.Addresses.Queues["ordersDeadLetter"])
	d := boot.Assemble(f.db, f.cache, carrier, s.clock.Offset, log)
	boot.Connect(&d, s.outside())
	boot.Measure(&d, metric.New(logFile, time.Now))
	f.handlers = instancesOf(d)
	return f, nil
}

// outside is what functions in this process call beside the stores and the queue of orders.
func (s *Stack) outside() boot.Outside {
	aws := s.Addresses.AWS
	return boot.Outside{
		Workflows: workflow.NewStarter(boot.LocalStates(aws), s.Addresses.StateMachine, s.clock.Now),
		Bell:      queue.NewBell(boot.LocalSQS(aws), s.Addresses.Queues["notices"]),
		Topic:     topic.NewSNS(boot.LocalSNS(aws), s.Addresses.NoticesTopic),
		Exports:   objects.New(boot.LocalConfig(aws), exportsBucket, s.clock.Now),

		Provider:      s.providerClient(),
		WebhookSecret: s.providerKey,
	}
}

// constructors names the constructor of every function. A test pairs the names with the folders under functions/.
var constructors = map[string]func(edge.Deps) lambda.Handler{
	"list-activities":     api.NewListActivities,
	"get-activity":        api.NewGetActivity,
	"my-activity":         api.NewMyActivity,
	"reserve-ticket":      api.NewReserveTicket,
	"get-order":           api.NewGetOrder,
	"list-orders":         api.NewListOrders,
	"cancel-order":        api.NewCancelOrder,
	"health":              api.NewHealth,
	"get-openapi":         api.NewGetOpenapi,
	"operate-sales":       api.NewOperateSales,
	"create-orders":       queue.NewCreateOrders,
	"record-dead-letters": queue.NewRecordDeadLetters,
	"expire-orders":       schedule.NewExpireOrders,
	"compensate-orders":   schedule.NewCompensateOrders,
	"reconcile-stock":     schedule.NewReconcileStock,
	"pay-order":           api.NewPayOrder,
	"notify-payment":      api.NewNotifyPayment,
	"confirm-deposit":     api.NewConfirmDeposit,
	"get-wallet":          api.NewGetWallet,
	"list-wallet-entries": api.NewListWalletEntries,
	"my-waitlist":         api.NewMyWaitlist,
	"list-notices":        api.NewListNotices,
	"send-notices":        queue.NewSendNotices,
	"reconcile-deposits":  schedule.NewReconcileDeposits,
	"remind-deposit":      workflow.NewRemindDeposit,
	"settle-deposit":      workflow.NewSettleDeposit,

	"record-workflow-failure": workflow.NewRecordWorkflowFailure,
}

// instancesOf makes every function as a set of instances that grows with the calls running at once: like Lambda, one instance
// handles one event at a time.
func instancesOf(d edge.Deps) map[string]lambda.Handler {
	handlers := make(map[string]lambda.Handler, len(constructors))
	for name, construct := range constructors {
		handlers[name] = mapping.NewInstances(func() lambda.Handler { return construct(d) })
	}
	return handlers
}

// Has says whether there is a function of this name.
func (f *Functions) Has(name string) bool { return f.handlers[name] != nil }

// Invoke implements mapping.Invoker: it runs the handler as the Lambda runtime would, with a request id of its own.
// A panic is the function's error, as it is in Lambda.
func (f *Functions) Invoke(ctx context.Context, name string, event []byte) (answer []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			answer, err = nil, fmt.Errorf("%s panicked: %v", name, r)
		}
	}()
	handler := f.handlers[name]
	if handler == nil {
		return nil, fmt.Errorf("there is no function %q", name)
	}
	var id [16]byte
	if _, err := rand.Read(id[:]); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, functionTimeout)
	defer cancel()
	return handler.Invoke(lambdacontext.NewContext(ctx, &lambdacontext.LambdaContext{AwsRequestID: hex.EncodeToString(id[:])}), event)
}

// functionTimeout is the longest timeout that the template gives to any function behind the API or the queue.
const functionTimeout = 29 * time.Second

// Close closes the stores' clients.
func (f *Functions) Close() {
	if f.cache != nil {
		_ = f.cache.Close() // the process is about to end
	}
	if f.db != nil {
		f.db.Close()
	}
}
