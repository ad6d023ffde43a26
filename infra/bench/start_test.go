package bench

import "testing"

const emulatorLog = `30 Nov 2026 04:33:14,811 [INFO] (rapid) INIT START(type: on-demand, phase: init)
30 Nov 2026 04:33:14,829 [INFO] (rapid) INIT RTDONE(status: success)
30 Nov 2026 04:33:14,829 [INFO] (rapid) INIT REPORT(durationMs: 17.595000)
REPORT RequestId: f547a444 Init Duration: 3.35 ms	Duration: 23.61 ms
`

func TestInitIsReadFromItsReport(t *testing.T) {
	got, err := initMilliseconds(emulatorLog)
	if err != nil || got != 17.595 {
		t.Errorf("got %v (%v), want 17.595", got, err)
	}
	if _, err := initMilliseconds("REPORT RequestId: f547a444 Init Duration: 3.35 ms"); err == nil {
		t.Error("another duration was taken for that of INIT")
	}
}

func TestLogicalIDIsTheTemplates(t *testing.T) {
	if got := logicalID("reserve-ticket"); got != "ReserveTicketFunction" {
		t.Errorf("got %s", got)
	}
}
