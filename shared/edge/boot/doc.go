// Package boot turns the environment of a function into its clients. A main names what it needs, and only that is read and opened.
//
//	config.go    environment variables to Config, all mistakes at once
//	redis.go     the client of Redis
//	mysql.go     the pool of the database
//	aws.go       clients of AWS, made at first use
//	secret.go    passwords out of Secrets Manager
//	assemble.go  clients to edge.Deps
//	clock.go     the offset of a local stack's clock; none in what is deployed
//
// Nothing here waits for another machine: a connection is made by the first call that needs it, so that a start stays short and
// a store that is away does not keep a function from starting.
package boot
