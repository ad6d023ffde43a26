package local

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"holdfast/infra/local/processes"
	"holdfast/infra/local/server"
)

// instanceLimit is how many instances a function has at most: one more than create-orders is invoked at once, for this machine has few
// processors, and what waits for an instance waits for them anyway.
const instanceLimit = ordersConcurrency + 1

// binariesFolder is where in the data folder the functions' binaries are.
const binariesFolder = "functions"

// startProcesses builds the functions and makes ready to start them.
func (s *Stack) startProcesses(ctx context.Context, o Options, log *os.File) error {
	root, err := processes.SourceTree(ctx)
	if err != nil {
		return err
	}
	binaries, err := filepath.Abs(filepath.Join(o.DataDir, binariesFolder))
	if err != nil {
		return err
	}
	if err := processes.Build(ctx, root, binaries, o.Out); err != nil {
		return err
	}
	described, err := processes.ReadTemplate(root)
	if err != nil {
		return err
	}
	if s.redisProxy, err = startRedisProxy(s.Addresses.Redis, newRedisFaults(s.faults)); err != nil {
		return err
	}
	s.closers = append(s.closers, s.redisProxy.Close)
	told := s.Addresses
	told.Redis = s.redisProxy.Addr()
	if o.Between != nil {
		if told, err = o.Between(told); err != nil {
			return err
		}
	}
	clock, err := filepath.Abs(s.clock.file)
	if err != nil {
		return err
	}
	s.processes = processes.Start(processes.Options{Functions: described, Binaries: binaries, Limit: instanceLimit, Log: log,
		Variables: func(names []string) []string { return environment(names, told, clock) }})
	s.functions = s.processes
	return nil
}

// environment gives the variables that a function is told by the template the values of this stack. The database's password is among
// them: an environment can be read by its owner only, a command line by everyone.
func environment(names []string, told Addresses, clock string) []string {
	variables := []string{"HOLDFAST_AWS_ENDPOINT=" + told.AWS, "HOLDFAST_CLOCK_FILE=" + clock}
	for name, value := range map[string]string{
		"HOLDFAST_REDIS_ADDR":            told.Redis,
		"HOLDFAST_ORDERS_QUEUE_URL":      told.Queues["orders"],
		"HOLDFAST_DEAD_LETTER_QUEUE_URL": told.Queues["ordersDeadLetter"],
		"HOLDFAST_NOTICES_QUEUE_URL":     told.Queues["notices"],
		"HOLDFAST_NOTICES_TOPIC_ARN":     told.NoticesTopic,
		"HOLDFAST_EXPORTS_BUCKET":        exportsBucket,
		"HOLDFAST_STATE_MACHINE_ARN":     told.StateMachine,
		"HOLDFAST_PROVIDER_URL":          told.Provider,
	} {
		if slices.Contains(names, name) {
			variables = append(variables, name+"="+value)
		}
	}
	if slices.Contains(names, "HOLDFAST_PROVIDER_SECRET") { // as with the database, a stack without secrets tells the key itself
		variables = append(variables, "HOLDFAST_PROVIDER_KEY="+told.ProviderKey)
	}
	if slices.Contains(names, "HOLDFAST_MYSQL_ADDR") { // the template gives address and secret, a stack without secrets a DSN
		variables = append(variables, "HOLDFAST_MYSQL_DSN="+told.MySQL)
	}
	return variables
}

// Processes are the functions' instances; nil where the functions run in this process.
func (s *Stack) Processes() *processes.Processes { return s.processes }

// Faults are the faults that can be switched on.
func (s *Stack) Faults() *Faults { return s.faults }

// RedisServer is the Redis that the stack started; nil when it was attached to one.
func (s *Stack) RedisServer() *server.Process { return s.cache }

// DatabaseServer is the MariaDB that the stack started; nil when it was attached to one.
func (s *Stack) DatabaseServer() *server.MariaDBProcess { return s.db }

// MoveRedis has the functions, which run as processes, find Redis at another address from now on, as after a failover.
func (s *Stack) MoveRedis(address string) {
	s.Addresses.Redis = address
	s.redisProxy.Move(address)
}
