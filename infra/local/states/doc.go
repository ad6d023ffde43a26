// Package states is the Step Functions of the local stack: it runs one state machine, from the very file that is deployed, under a clock that
// can be moved, and speaks the protocol of aws-sdk-go-v2's SFN client.
//
//	machine, err := states.New(states.Options{Name: "deposits", Definition: text, Functions: invoker, Now: clock.Now})
//	client := awssfn.New(awssfn.Options{BaseEndpoint: …}) // of a server that passes requests on to machine
//	clock.OnMove(machine.Wake)
//
// # What it runs
//
// Of the Amazon States Language (JSONPath) what the definitions here use, and nothing else: Wait (TimestampPath, SecondsPath), Task
// (lambda:invoke with Parameters, ResultSelector, ResultPath, TimeoutSeconds, Retry, Catch), Choice (StringEquals, NumericLessThan, And),
// Pass (Parameters), Succeed and Fail; paths that lead from member to member, the context's Execution.Name and Execution.StartTime, and
// States.MathAdd. New refuses every other state, field or path, so that a definition cannot mean one thing here and another in AWS. An
// instant is a text in whole seconds that ends in Z, and a wait lasts at least a second: what some readers of the language take beyond
// that fails here. The suite beside this runs the same definitions on moto's interpreter.
//
// # What it answers
//
// StartExecution, DescribeExecution and StopExecution. A name is used once: with the same input while the execution runs it is that
// execution, else ExecutionAlreadyExists. The service forgets a name 90 days after its execution ended; this one does when the stack ends,
// and executions end with it.
//
// # Faults
//
//	mode         states.start                          states.task
//	refuse       ThrottlingException, nothing starts   Lambda.TooManyRequestsException, the function does not run
//	lose-answer  it starts, connection cut             the function runs, Lambda.SdkClientException
//	hang         no answer until the caller gives up   -
package states
