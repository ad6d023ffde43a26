package sim

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	"github.com/aws/aws-lambda-go/lambda"

	"holdfast/infra/local/server"
	"holdfast/infra/mysql"
	"holdfast/shared/edge"
	"holdfast/shared/edge/api"
	"holdfast/shared/edge/boot"
	"holdfast/shared/edge/queue"
	"holdfast/shared/edge/schedule"
	"holdfast/shared/edge/workflow"
	"holdfast/shared/reconcile"
	"holdfast/shared/sqltx"
	"holdfast/shared/wallet"
)

// world is what seeds are played in, one after the other: two Redis servers, a MariaDB, a clock.
type world struct {
	clock  *clock
	cache  *cache
	pool   *sql.DB // of the functions; every statement is a boundary
	plain  *sql.DB // for preparing and looking
	tables []string
	stop   []func()
}

// newWorld starts the servers below a folder. They are spoken to over sockets, which costs half of what a port does.
func newWorld(ctx context.Context, dir string) (w *world, err error) {
	w = &world{clock: &clock{}}
	w.clock.reset()
	defer func() {
		if err != nil {
			w.close()
		}
	}()
	var addresses [2]string
	for i := range addresses {
		addresses[i] = filepath.Join(dir, fmt.Sprintf("redis%d.sock", i))
		p, err := server.Redis(ctx, server.RedisOptions{Dir: filepath.Join(dir, fmt.Sprintf("redis%d", i)),
			Args: []string{"--unixsocket", addresses[i]}})
		if err != nil {
			return w, err
		}
		w.stop = append(w.stop, p.Kill)
	}
	db, err := server.MariaDB(ctx, server.MariaDBOptions{Dir: filepath.Join(dir, "mariadb"), Args: []string{
		"--innodb-lock-wait-timeout=5", "--innodb-stats-persistent=OFF", "--innodb-stats-auto-recalc=OFF"}})
	if err != nil {
		return w, err
	}
	w.stop = append(w.stop, db.Kill)
	connect, err := sqltx.Connector(db.AdminDSN + server.Database) // over the socket
	if err != nil {
		return w, err
	}
	w.plain, w.pool = sql.OpenDB(connect), sql.OpenDB(connector{connect, w.clock})
	for _, pool := range []*sql.DB{w.plain, w.pool} {
		pool.SetMaxIdleConns(poolSize)
		pool.SetMaxOpenConns(poolSize)
	}
	w.cache = newCache(addresses)
	if err := w.cache.loadScripts(ctx); err != nil {
		return w, err
	}
	if err := mysql.Migrate(ctx, w.plain); err != nil {
		return w, err
	}
	return w, w.listTables(ctx)
}

// poolSize is more than the actors that are at work at once.
const poolSize = 16

func (w *world) close() {
	if w.cache != nil {
		_ = w.cache.close()
	}
	for _, pool := range []*sql.DB{w.plain, w.pool} {
		if pool != nil {
			_ = pool.Close()
		}
	}
	for _, stop := range w.stop {
		stop()
	}
}

// listTables lists what a seed leaves behind, tables that refer to others first.
func (w *world) listTables(ctx context.Context) error {
	rows, err := w.plain.QueryContext(ctx, `SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()
 AND table_name NOT LIKE 'goose%' AND table_name NOT IN ('activity', 'ticket_type') ORDER BY table_name`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return err
		}
		w.tables = append(w.tables, name)
	}
	w.tables = append(w.tables, "ticket_type", "activity")
	return rows.Err()
}

// clean removes what the seed before has left, so that no schedule works on it.
func (w *world) clean(ctx context.Context) error {
	w.clock.reset()
	var errs []error
	for _, table := range w.tables {
		_, err := w.plain.ExecContext(ctx, "DELETE FROM "+table)
		errs = append(errs, err)
	}
	for _, server := range w.cache.servers {
		errs = append(errs, server.FlushAll(ctx).Err())
	}
	return errors.Join(errs...)
}

// instance is one process of each function: what it remembers lives until it dies.
type instance struct {
	edge.Deps
	handlers map[job]lambda.Handler
}

// instance makes new processes of all functions.
func (r *run) instance() *instance {
	d := boot.Assemble(r.pool, r.cache.front, nil, r.clock.offset, slog.New(slog.DiscardHandler))
	d.DB.Offset, d.DB.Pause = nil, pause // the wrapper of the driver gives the time
	d.Checkout.OneByOne()
	d.Checkout.NameEntriesBy(r.nameEntry)
	d.Checkout.ChargeBy(r.outside)
	d.Provider = r.outside
	d.Checkout.StartBy(r.outside.start)
	d.Checkout.RingBy(r.outside.Ring)
	d.Checkout.HintBy(wallet.New(r.cache.front))
	d.Orders, d.Returns = r.queue, r.queue
	d.Topic = r.outside
	d.WebhookSecret = func(context.Context) ([]byte, error) { return providerKey, nil }
	d.Reconcile = reconcile.New(d.DB, d.Stock, d.Catalog, d.Checkout, r.queue.Empty, nil)
	d.Reconcile.OneByOne()
	return &instance{Deps: d, handlers: map[job]lambda.Handler{
		reserving:        api.NewReserveTicket(d),
		cancelling:       api.NewCancelOrder(d),
		reading:          api.NewGetOrder(d),
		delivering:       queue.NewCreateOrders(d),
		recordingLetters: queue.NewRecordDeadLetters(d),
		compensating:     schedule.NewCompensateOrders(d),
		expiring:         schedule.NewExpireOrders(d),
		reconciling:      schedule.NewReconcileStock(d),
		payingByWallet:   api.NewPayOrder(d),
		notifying:        api.NewNotifyPayment(d),
		confirming:       api.NewConfirmDeposit(d),
		joining:          api.NewMyWaitlist(d),
		noticing:         queue.NewSendNotices(d),
		clocking:         workflow.NewSettleDeposit(d),
		reminding:        workflow.NewRemindDeposit(d),
		checkingDeposits: schedule.NewReconcileDeposits(d),
	}}
}
