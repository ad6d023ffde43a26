// Package server runs real redis-server and mariadbd processes for the local stack and for tests.
//
// Every server listens on 127.0.0.1 only, keeps all its files below the folder it is given, and lives no longer than the
// process that started it: on Linux the kernel kills it with its parent (PR_SET_PDEATHSIG), elsewhere a small shell
// does that. Nothing here ever touches a server that something else started.
//
//	Redis, RedisCluster   redis-server, alone or as a cluster of three masters
//	MariaDB               mariadbd with the settings that the code relies on
//	Process               one running server: PID, Stop, Kill, Done, Restart
//	EnsureInstalled       finds the programs, or installs them where apt-get can
//	Scratch               a folder in memory that vanishes with the process
//	Run                   both servers around one command, for test runs
//
// It runs on Linux and macOS.
package server
