// Package testenv gives tests a real Redis, a real Redis Cluster and a real MariaDB. Only _test.go files import it; the
// tests of a package that it imports itself (infra/mysql, infra/local/server) stand in an external test package.
//
// One server of each kind is started when a test first asks for it, serves the whole test process and dies with it; no
// TestMain is needed. HOLDFAST_TEST_REDIS (address) and HOLDFAST_TEST_MYSQL (DSN of a user who may create databases) name
// running servers to use instead, so that one pair serves a whole test run. A server that cannot be had fails the test; it
// never skips it.
//
// Tests run in parallel on the shared servers and stay apart by names:
//
//	ActivityID            an id of this test alone; all Redis keys of an activity bear it
//	Redis, RedisURL       the shared Redis. Never FLUSHALL or CONFIG SET there: take OwnRedis
//	Cluster               the shared cluster of three masters
//	MySQL, MySQLDSN       a database of this test alone, migrated; the same one for every call within one test
//	EmptyMySQL            a new database without tables
//	OwnRedis, OwnMariaDB  a server of this test alone: kill it, pause it, fill it, restart it
//	Proxy                 a TCP proxy in front of a server that refuses, delays, cuts and swallows answers
package testenv
