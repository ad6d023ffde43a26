package drill

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// Result is what a drill found.
type Result struct {
	Seed         uint64        `json:"seed"`
	Load         *Load         `json:"load"`
	Strikes      []Strike      `json:"strikes"`
	Calm         *Calm         `json:"calm,omitempty"` // what reconciliations found when nothing was broken
	Settled      time.Duration `json:"settled"`        // from the last fault until everything was in order
	Verdicts     []Verdict     `json:"verdicts"`
	Certificates []Certificate `json:"certificates"`
	Differences  int           `json:"differences"` // open ones, which a person would have to decide
	DeadLetters  int           `json:"deadLetters"`
	Matrix       []Row         `json:"matrix"`
	Paces        []Pace        `json:"paces"`
	Late         int           `json:"late"` // orders that came late through the queue alone, without any repair
}

// ErrNotInOrder says that something was lost, sold twice or not settled; the report has said what.
var ErrNotInOrder = errors.New("the drill ended with something lost, doubled or unsettled")

// Run runs a drill and prints it as it goes. The result stands whenever there is one, also beside ErrNotInOrder. Other errors:
// ErrForeignFolder, local.ErrFolderInUse, those of the stack's start, and those of a fault that could not be mended.
func Run(ctx context.Context, o Options) (*Result, error) {
	if err := o.fill(); err != nil {
		return nil, err
	}
	stack, err := claimFolder(o.DataDir)
	if err != nil {
		return nil, err
	}
	o.DataDir = stack
	w, err := openWorld(ctx, o)
	if err != nil {
		return nil, err
	}
	defer w.close()
	w.say("drill with seed %d: %s of load at %d reservations a second, on a stack of its own at %s", o.Seed, o.Duration, o.Rate, w.stack.Addresses.API)
	result := &Result{Seed: o.Seed}
	if err := w.storm(ctx, result); err != nil {
		return nil, err
	}
	if err := w.examine(ctx, result); err != nil {
		return nil, err
	}
	if err := result.WriteMarkdown(o.Out); err != nil {
		return result, err
	}
	if err := result.save(o.Report); err != nil {
		return result, err
	}
	if !result.InOrder() {
		return result, ErrNotInOrder
	}
	return result, nil
}

// storm is the time of load and faults.
func (w *world) storm(ctx context.Context, result *Result) error {
	began := time.Now()
	blowing, cancel := context.WithTimeout(ctx, w.o.Duration)
	defer cancel()
	type sold struct {
		load *Load
		err  error
	}
	selling := make(chan sold, 1)
	go func() {
		load, err := w.sell(blowing)
		selling <- sold{load, err}
	}()
	var err error
	if w.o.Calm {
		result.Calm, err = w.reconcile(blowing, func(c Calm) {
			w.say("%6s  %d reconciliations, %d differences, %d repairs", clock(time.Since(began)), c.Runs, c.Differences, c.Repaired)
		})
	} else {
		result.Strikes, err = w.rage(blowing, func(s Strike) {
			w.say("%6s  %-42s for %s", clock(time.Since(began)), s.Fault, s.To.Sub(s.From).Round(10*time.Millisecond))
		})
	}
	cancel()
	sales := <-selling // the crowds end before the wires do
	if err = errors.Join(err, sales.err, ctx.Err()); err != nil {
		return err
	}
	result.Load = sales.load
	w.say("%6s  all faults are mended: %d reservations were sent, %d promised, in %d sales", clock(time.Since(began)), sales.load.Requests,
		sales.load.Promised, len(sales.load.Sales))
	return w.heal(ctx)
}

// examine waits until the stack has settled and gathers what there is to know.
func (w *world) examine(ctx context.Context, result *Result) (err error) {
	var said time.Duration
	result.Settled, result.Verdicts, err = w.settle(ctx, result.Load.Sales, func(waited time.Duration, moving []Verdict) {
		if waited-said >= 15*time.Second || said == 0 {
			said = waited
			w.say("%6s  settling by itself: %d of %d sales still move %v", clock(waited), len(moving), len(result.Load.Sales), moving)
		}
	})
	if err != nil {
		return err
	}
	if result.Certificates, err = w.certify(ctx, result.Load.Sales); err != nil {
		return err
	}
	repairs, err := w.repairs(ctx)
	if err != nil {
		return err
	}
	result.Matrix, result.Paces = joinMatrix(repairs, result.Strikes)
	return w.count(ctx, result)
}

// InOrder says whether nothing was lost, doubled or left unsettled, and no answer broke the contract.
func (r *Result) InOrder() bool {
	if r.Calm != nil && (r.Calm.Runs == 0 || r.Calm.Differences > 0) {
		return false
	}
	if len(r.Load.Broken) > 0 || r.Differences > 0 || r.Load.Promised == 0 || len(r.Verdicts) == 0 {
		return false
	}
	for _, v := range r.Verdicts {
		if !v.Settled() {
			return false
		}
	}
	for _, c := range r.Certificates {
		if !c.Pass() {
			return false
		}
	}
	return true
}

func (r *Result) save(file string) (err error) {
	if file == "" {
		return nil
	}
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	return r.WriteMarkdown(out)
}

func (w *world) say(format string, args ...any) { _, _ = fmt.Fprintf(w.o.Out, format+"\n", args...) }

// clock writes a time since the beginning as minutes and seconds.
func clock(d time.Duration) string {
	return fmt.Sprintf("%d:%02d", int(d.Minutes()), int(d.Seconds())%60)
}
