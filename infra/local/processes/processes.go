package processes

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// Options say what runs, and how.
type Options struct {
	Functions []Function
	Binaries  string                                      // folder of the binaries, as Build filled it
	Limit     int                                         // instances per function at most
	Variables func(names []string) (environment []string) // values, as KEY=value, of the variables that the template names
	Log       *os.File                                    // what the instances print goes here
}

// Processes are the functions of a stack, each as a pool of instances.
type Processes struct{ pools map[string]*pool }

// Start makes the pools. Instances are started by the events that need them.
func Start(o Options) *Processes {
	p := &Processes{pools: make(map[string]*pool, len(o.Functions))}
	for _, f := range o.Functions {
		p.pools[f.Name] = &pool{
			function: f, binary: filepath.Join(o.Binaries, f.Name), log: o.Log,
			environment: append(lambdaVariables(f), o.Variables(f.Variables)...),
			slots:       make(chan struct{}, max(1, o.Limit)),
			instances:   make(map[*instance]bool),
		}
	}
	return p
}

// lambdaVariables are those that Lambda sets. The credentials are those of a stack that checks none.
func lambdaVariables(f Function) []string {
	return []string{
		"AWS_LAMBDA_FUNCTION_NAME=" + f.Name, "AWS_LAMBDA_FUNCTION_VERSION=$LATEST",
		"AWS_LAMBDA_FUNCTION_MEMORY_SIZE=" + strconv.Itoa(f.MemoryMB), "AWS_LAMBDA_INITIALIZATION_TYPE=on-demand",
		"AWS_REGION=us-east-1", "AWS_DEFAULT_REGION=us-east-1", "AWS_ACCESS_KEY_ID=local", "AWS_SECRET_ACCESS_KEY=local",
		"_HANDLER=bootstrap", "TZ=:UTC", "LANG=en_US.UTF-8", "PATH=/usr/local/bin:/usr/bin:/bin",
	}
}

// Has says whether there is a function of this name.
func (p *Processes) Has(name string) bool { return p.pools[name] != nil }

// Invoke implements mapping.Invoker. Errors: *FunctionError for what the function itself reported, ErrTimeout, ErrDied, ErrInit,
// ErrClosed, and the context's own while it waited for an instance or for the answer; in the last case the invocation goes on.
func (p *Processes) Invoke(ctx context.Context, name string, event []byte) ([]byte, error) {
	pool := p.pools[name]
	if pool == nil {
		return nil, fmt.Errorf("there is no function %q", name)
	}
	answer, err := pool.invoke(ctx, event)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return answer, nil
}

// Kill ends one instance of a function as a crash would (SIGKILL), one that handles an event where there is one. It says whether the
// instance was busy, and whether there was an instance at all.
func (p *Processes) Kill(name string) (busy, found bool) {
	pool := p.pools[name]
	if pool == nil {
		return false, false
	}
	return pool.killOne()
}

// PIDs lists the processes of a function's instances.
func (p *Processes) PIDs(name string) []int {
	pool := p.pools[name]
	if pool == nil {
		return nil
	}
	return pool.pids()
}

// Close kills every instance. Invocations that run end with ErrDied.
func (p *Processes) Close() {
	for _, pool := range p.pools {
		pool.close()
	}
}
