package bench

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

func serverCPU(pid int) float64 {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	f := strings.Fields(string(b)[strings.LastIndex(string(b), ")")+2:])
	var u, s float64
	fmt.Sscan(f[11], &u)
	fmt.Sscan(f[12], &s)
	return (u + s) / 100
}
func ownCPU() float64 {
	var r syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	return float64(r.Utime.Sec+r.Stime.Sec) + float64(r.Utime.Usec+r.Stime.Usec)/1e6
}

func TestProbe(t *testing.T) {
	if os.Getenv("PROBE") == "" {
		t.SkipNow()
	}
	ctx := context.Background()
	dir, _ := os.MkdirTemp("/tmp/hfbench", "probe")
	defer os.RemoveAll(dir)
	for _, variant := range strings.Split(os.Getenv("PROBE"), ";") {
		d, err := openDatabase(ctx, Options{Dir: dir + "/" + fmt.Sprint(time.Now().UnixNano()), Out: io.Discard}, 4)
		if err != nil {
			t.Fatal(err)
		}
		a, err := d.openSale(ctx, "s", 1000000)
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range strings.Split(variant, "|") {
			if strings.TrimSpace(q) == "" {
				continue
			}
			if _, err := d.db.ExecContext(ctx, q); err != nil {
				t.Fatal(q, err)
			}
		}
		f := a.Facts()
		rs := newReservations(&f)
		tt := createTurns{batches: 100, singles: 1000, writers: 4}
		d.batches(ctx, rs, createTurns{batches: 20, writers: 4})
		s0, o0 := serverCPU(probePID), ownCPU()
		r, err := d.batches(ctx, rs, tt)
		if err != nil {
			t.Fatal(err)
		}
		s1, o1 := serverCPU(probePID), ownCPU()
		r2, err := d.singles(ctx, a, rs, tt)
		if err != nil {
			t.Fatal(err)
		}
		s2, o2 := serverCPU(probePID), ownCPU()
		fmt.Printf("%-60.60s batch %.0f/s server %.1f us/order client %.1f | single %.0f/s server %.1f client %.1f | cpu ratio %.1f\n", variant, r, (s1-s0)*1e6/10000, (o1-o0)*1e6/10000, r2, (s2-s1)*1e6/1000, (o2-o1)*1e6/1000, ((s2-s1+o2-o1)/1000)/((s1-s0+o1-o0)/10000))
		d.close()
	}
}

func TestProbeClient(t *testing.T) {
	if os.Getenv("PROBEC") == "" {
		t.SkipNow()
	}
	ctx := context.Background()
	dir, _ := os.MkdirTemp("/tmp/hfbench", "probe")
	defer os.RemoveAll(dir)
	d, err := openDatabase(ctx, Options{Dir: dir, Out: io.Discard}, 4)
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	a, _ := d.openSale(ctx, "s", 1000000)
	f := a.Facts()
	rs := newReservations(&f)
	r, err := d.batches(ctx, rs, createTurns{batches: 300, writers: 4})
	fmt.Println(r, err)
}

func TestProbePerf(t *testing.T) {
	if os.Getenv("PROBEP") == "" {
		t.SkipNow()
	}
	ctx := context.Background()
	dir, _ := os.MkdirTemp("/tmp/hfbench", "probe")
	defer os.RemoveAll(dir)
	d, err := openDatabase(ctx, Options{Dir: dir, Out: io.Discard}, 4)
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	a, _ := d.openSale(ctx, "s", 1000000)
	f := a.Facts()
	rs := newReservations(&f)
	d.batches(ctx, rs, createTurns{batches: 20, writers: 4})
	fmt.Println("PID", probePID)
	os.WriteFile("/tmp/hfbench/pid", []byte(fmt.Sprint(probePID)), 0o600)
	for os.Getenv("PROBEP") == "single" {
		d.singles(ctx, a, rs, createTurns{singles: 100, writers: 4})
		if _, err := os.Stat("/tmp/hfbench/pid"); err != nil {
			return
		}
	}
	for {
		d.batches(ctx, rs, createTurns{batches: 20, writers: 4})
		if _, err := os.Stat("/tmp/hfbench/pid"); err != nil {
			return
		}
	}
}
