package main

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"

	_ "github.com/go-sql-driver/mysql" // registers the driver

	"holdfast/infra/local/server"
)

// containerUser is who the function logs in as: from anywhere, for the server listens only on loopback and the bridge.
const containerUser = "container"

// addressOf is the IPv4 address of a network interface.
func addressOf(name string) (string, error) {
	device, err := net.InterfaceByName(name)
	if err != nil {
		return "", fmt.Errorf("the bridge %q: %w", name, err)
	}
	addresses, err := device.Addrs()
	if err != nil {
		return "", err
	}
	for _, address := range addresses {
		if network, ok := address.(*net.IPNet); ok && network.IP.To4() != nil {
			return network.IP.String(), nil
		}
	}
	return "", fmt.Errorf("the bridge %q has no IPv4 address", name)
}

// startStores starts both servers so that this machine and its containers reach them, and nobody else.
func startStores(ctx context.Context, folder, bridge string) (_ *stores, err error) {
	if err := server.EnsureInstalled(ctx, os.Stdout); err != nil {
		return nil, err
	}
	s := &stores{bridge: bridge}
	defer func() {
		if err != nil {
			s.stop()
		}
	}()
	// Without a password Redis answers only its own machine, unless told that its addresses were chosen with care.
	s.redis, err = server.Redis(ctx, server.RedisOptions{Dir: filepath.Join(folder, "redis"),
		Args: []string{"--bind", "127.0.0.1", bridge, "--protected-mode", "no"}})
	if err != nil {
		return nil, err
	}
	s.mariadb, err = server.MariaDB(ctx, server.MariaDBOptions{Dir: filepath.Join(folder, "mariadb"),
		Args: []string{"--bind-address=127.0.0.1," + bridge}})
	if err != nil {
		return nil, err
	}
	s.db, err = sql.Open("mysql", s.mariadb.DSN)
	return s, err
}

// stop ends what runs.
func (s *stores) stop() {
	if s.db != nil {
		_ = s.db.Close()
	}
	if s.mariadb != nil {
		_ = s.mariadb.Stop(context.Background()) // Stop kills what will not end
	}
	if s.redis != nil {
		_ = s.redis.Stop(context.Background())
	}
}

// containerDSN makes a user for the function and says how it reaches the database.
func (s *stores) containerDSN(ctx context.Context) (string, error) {
	admin, err := sql.Open("mysql", s.mariadb.AdminDSN)
	if err != nil {
		return "", err
	}
	defer admin.Close()
	password := rand.Text()
	for _, statement := range []string{
		"CREATE USER '" + containerUser + "'@'%' IDENTIFIED BY '" + password + "'",
		"GRANT SELECT, INSERT, UPDATE, DELETE ON " + server.Database + ".* TO '" + containerUser + "'@'%'",
	} {
		if _, err := admin.ExecContext(ctx, statement); err != nil {
			return "", fmt.Errorf("a user for the container: %w", err)
		}
	}
	return containerUser + ":" + password + "@tcp(" + s.bridge + ":" + strconv.Itoa(s.mariadb.Port) + ")/" + server.Database, nil
}

// containerRedis is the address under which a container reaches Redis.
func (s *stores) containerRedis() string { return s.bridge + ":" + strconv.Itoa(s.redis.Port) }
