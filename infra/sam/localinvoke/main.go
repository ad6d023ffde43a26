// Command localinvoke runs create-orders once in a container, by `sam local invoke`, against a real Redis and MariaDB of its own,
// and sees that the order of its event stands in both afterwards. local-invoke.sh prepares the image and the build.
package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"holdfast/infra/local"
	"holdfast/infra/local/server"
)

func main() {
	var o options
	flag.StringVar(&o.sam, "sam", "", "path of the sam command")
	flag.StringVar(&o.template, "template", "", "built template with the function")
	flag.StringVar(&o.image, "image", "", "image to run the function in")
	flag.StringVar(&o.bridge, "bridge", "", "network interface of Docker's bridge, by whose address containers reach this machine")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "local-invoke:", err)
		os.Exit(1)
	}
}

type options struct{ sam, template, image, bridge string }

// Where the events are, from the module's folder: the activity is the one that operate-sales' event creates, the order the one
// that create-orders' event carries.
const (
	activityEvent = "infra/events/operate-sales.json"
	orderEvent    = "infra/events/create-orders.json"
)

func run(ctx context.Context, o options) error {
	folder, err := os.MkdirTemp("", "holdfast-local-invoke-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)

	fmt.Println("== Redis and MariaDB, on loopback and on Docker's bridge")
	address, err := addressOf(o.bridge)
	if err != nil {
		return err
	}
	stores, err := startStores(ctx, folder, address)
	if err != nil {
		return err
	}
	defer stores.stop()

	order, err := readOrder(orderEvent)
	if err != nil {
		return err
	}
	fmt.Printf("== a sale %q, published\n", order.ActivityID)
	stack, err := local.Up(ctx, local.Options{DataDir: filepath.Join(folder, "stack"), Redis: stores.redis.Addr,
		MySQL: stores.mariadb.DSN, Out: os.Stdout})
	if err != nil {
		return err
	}
	defer stack.Close()
	api := client{base: stack.Addresses.API}
	if err := api.publish(ctx, activityEvent, order.ActivityID); err != nil {
		return err
	}
	before, err := see(ctx, stores.db, api, order)
	if err != nil {
		return err
	}
	if before.row != "" || before.held != 0 {
		return fmt.Errorf("the order is there already: %v", before)
	}

	fmt.Println("== sam local invoke CreateOrdersFunction")
	answer, err := invoke(ctx, o, folder, stores)
	if err != nil {
		return err
	}
	fmt.Printf("  it answered %s\n", answer)
	after, err := see(ctx, stores.db, api, order)
	if err != nil {
		return err
	}
	fmt.Printf("  MariaDB: before %q, after %q\n  Redis:   units of %s before %d, after %d\n", before.row, after.row, order.UserID,
		before.held, after.held)
	if want := fmt.Sprintf("UNPAID, %d units", order.Quantity); after.row != want || after.held != order.Quantity {
		return fmt.Errorf("expected the row %q and %d units in Redis", want, order.Quantity)
	}
	return nil
}

// stores are the two servers, and a connection to the database.
type stores struct {
	redis   *server.Process
	mariadb *server.MariaDBProcess
	db      *sql.DB
	bridge  string
}

// seen is what the two stores know of the order.
type seen struct {
	row  string // status and quantity in MariaDB; empty without a row
	held int    // units of the user in Redis
}

func see(ctx context.Context, db *sql.DB, api client, order reservation) (seen, error) {
	var s seen
	err := db.QueryRowContext(ctx, "SELECT CONCAT(status, ', ', quantity, ' units') FROM trade_order WHERE activity_id = ? AND user_id = ?",
		order.ActivityID, order.UserID).Scan(&s.row)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return seen{}, err
	}
	s.held, err = api.held(ctx, order)
	return s, err
}

// reservation is what the message of create-orders' event carries.
type reservation struct {
	ActivityID string `json:"activityId"`
	UserID     string `json:"userId"`
	Quantity   int    `json:"quantity"`
}

func readOrder(path string) (reservation, error) {
	var event struct{ Records []struct{ Body string } }
	var order reservation
	if err := readJSON(path, &event); err != nil {
		return order, err
	}
	if len(event.Records) != 1 {
		return order, fmt.Errorf("%s has %d messages, not one", path, len(event.Records))
	}
	return order, json.Unmarshal([]byte(event.Records[0].Body), &order)
}

func readJSON(path string, into any) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return json.Unmarshal(content, into)
}
