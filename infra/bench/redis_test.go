package bench

import "testing"

const commandstats = "# Commandstats\r\n" +
	"cmdstat_eval:calls=1,usec=90,usec_per_call=90.00,rejected_calls=0,failed_calls=0\r\n" +
	"cmdstat_evalsha:calls=240,usec=2899,usec_per_call=12.08,rejected_calls=0,failed_calls=0\r\n" +
	"cmdstat_hset:calls=720,usec=500,usec_per_call=0.69,rejected_calls=0,failed_calls=0\r\n"

func TestCommandStatsAreThoseOfTheVeryCommand(t *testing.T) {
	got, err := commandStats(commandstats, "evalsha")
	if err != nil || got != (spent{240, 2899}) {
		t.Errorf("got %+v (%v), want 240 calls and 2899 us", got, err)
	}
	if got, err := commandStats(commandstats, "fcall"); err != nil || got != (spent{}) {
		t.Errorf("a command never called has cost %+v (%v)", got, err)
	}
	if _, err := commandStats("cmdstat_evalsha:calls=many,usec=1", "evalsha"); err == nil {
		t.Error("nonsense was read as a number")
	}
}

func TestInfoNumberIsFoundByItsWholeName(t *testing.T) {
	got, err := infoNumber("# Memory\r\nused_memory_peak:9\r\nused_memory:1042568\r\nused_memory_human:1018.13K\r\n", "used_memory")
	if err != nil || got != 1042568 {
		t.Errorf("got %d (%v), want 1042568", got, err)
	}
	if _, err := infoNumber("# Memory\r\n", "used_memory"); err == nil {
		t.Error("what INFO does not tell was found")
	}
}
