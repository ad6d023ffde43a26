package sim

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

// askTime is the one statement by which the code reads the clock of the database.
const askTime = "SELECT UTC_TIMESTAMP(3)"

// connector stands between the pool and the driver: every statement is a boundary, and the time is virtual.
type connector struct {
	driver.Connector
	clock *clock
}

// plainConn is what the driver's connections can do and the pool makes use of.
type plainConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.NamedValueChecker
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

var errDriver = errors.New("sim: the driver's connection lacks what the pool needs")

func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	inner, err := c.Connector.Connect(context.WithoutCancel(ctx))
	if err != nil {
		return nil, err
	}
	plain, ok := inner.(plainConn)
	if !ok {
		return nil, errors.Join(errDriver, inner.Close())
	}
	return &conn{plainConn: plain, clock: c.clock}, nil
}

// conn is one connection. A pool uses it from one goroutine at a time.
type conn struct {
	plainConn
	clock *clock
	owner *actor    // of the transaction at hand; nil: none, or nobody's
	tx    driver.Tx // at hand; nil: none, or rolled back behind the pool's back
}

// ResetSession spares the look whether the server is still there, which is a system call for each statement: it is.
func (c *conn) ResetSession(context.Context) error { return nil }

// BeginTx is a boundary; from here to its end the transaction is one block.
func (c *conn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	a := actorOf(ctx)
	err := cross(ctx, call{side: tableSide, what: "BEGIN", do: func() (err error) {
		c.tx, err = c.plainConn.BeginTx(context.Background(), opts)
		return err
	}})
	if err != nil {
		c.undo() // it may have begun and the answer been lost
		return nil, err
	}
	if a != nil {
		c.owner = a
		a.inTx.Add(1)
	}
	return (*transaction)(c), nil
}

func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (result driver.Result, err error) {
	err = cross(ctx, call{side: tableSide, what: query, do: func() (err error) {
		result, err = c.plainConn.ExecContext(context.Background(), query, args)
		return err
	}})
	c.breakOff(err)
	return result, err
}

func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (rows driver.Rows, err error) {
	if query == askTime {
		return &timeRows{at: c.clock.now()}, nil
	}
	err = cross(ctx, call{side: tableSide, what: query, do: func() (err error) {
		rows, err = c.plainConn.QueryContext(context.Background(), query, args)
		return err
	}})
	if err != nil && rows != nil { // the answer was lost
		_ = rows.Close()
		rows = nil
	}
	c.breakOff(err)
	return rows, err
}

// breakOff ends the transaction at hand when a statement's answer did not reach its actor: the connection is gone then.
func (c *conn) breakOff(err error) {
	if c.owner != nil && (errors.Is(err, errDead) || errors.Is(err, mysql.ErrInvalidConn) || isRefusal(err)) {
		c.undo()
	}
}

// undo rolls back at once what the server would roll back when it noticed that the connection is gone.
func (c *conn) undo() {
	if c.tx != nil {
		_ = c.tx.Rollback()
		c.tx = nil
	}
}

// end leaves the block.
func (c *conn) end() {
	if c.owner != nil {
		c.owner.inTx.Add(-1)
		c.owner = nil
	}
}

// transaction is a conn in one.
type transaction conn

func (t *transaction) Commit() error {
	c := (*conn)(t)
	defer c.end()
	commit := func() error {
		if c.tx == nil {
			return mysql.ErrInvalidConn
		}
		tx := c.tx
		c.tx = nil
		return tx.Commit()
	}
	if c.owner == nil {
		return commit()
	}
	err := cross(c.owner.ctx, call{side: tableSide, what: "COMMIT", do: commit})
	if errors.Is(err, errDead) || isRefusal(err) {
		c.undo()
	}
	if isRefusal(err) { // COMMIT was sent as far as its caller knows
		return mysql.ErrInvalidConn
	}
	return err
}

func (t *transaction) Rollback() error {
	c := (*conn)(t)
	defer c.end()
	c.undo()
	return nil
}

// timeRows answers askTime.
type timeRows struct {
	at   time.Time
	read bool
}

func (r *timeRows) Columns() []string { return []string{"now"} }
func (r *timeRows) Close() error      { return nil }

func (r *timeRows) Next(values []driver.Value) error {
	if r.read {
		return io.EOF
	}
	r.read = true
	values[0] = r.at
	return nil
}

// short is a statement for the trace.
func short(query string) string {
	const most = 70
	query = strings.Join(strings.Fields(query), " ")
	return query[:min(len(query), most)]
}
