package bench

import (
	"fmt"
	"io"
	"testing"
)

// tooLarge names the binaries over the limit.
func tooLarge(sizes map[string]int64, limit int64) []string {
	var found []string
	for name, size := range sizes {
		if size > limit {
			found = append(found, fmt.Sprintf("%s has %d bytes, at most %d", name, size, limit))
		}
	}
	return found
}

func TestBinariesAreSmall(t *testing.T) {
	sizes, err := binarySizes(t.Context(), Options{Dir: t.TempDir(), Out: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	if sizes["reserve-ticket"] == 0 {
		t.Fatalf("reserve-ticket was not among the %d that were built", len(sizes))
	}
	t.Log(sizes)
	for _, fault := range tooLarge(sizes, maxBinary) {
		t.Error(fault)
	}
}

func TestPlantedLargeBinaryIsFound(t *testing.T) {
	if got := tooLarge(map[string]int64{"a": maxBinary, "b": maxBinary + 1}, maxBinary); len(got) != 1 {
		t.Errorf("found %v, want b alone", got)
	}
}
