package bench

import (
	"context"
	"os"
	"sync"

	"holdfast/infra/progress"
)

// deployedArch is the architecture of the template.
const deployedArch = "arm64"

// maxBinary bounds the binary of every function, in bytes: what is larger takes longer to fetch and to start. A single library can
// add 8 MiB unnoticed, so there is less room than that.
const maxBinary = 14 << 20

// buildsAtOnce is how many binaries are linked at a time.
const buildsAtOnce = 2

// measureSizes builds every function as it is deployed.
func measureSizes(ctx context.Context, o Options) ([]Figure, error) {
	sizes, err := binarySizes(ctx, o)
	if err != nil {
		return nil, err
	}
	var largest string
	for name, size := range sizes {
		if size > sizes[largest] || size == sizes[largest] && name < largest {
			largest = name
		}
	}
	return []Figure{
		{Key: "reserve_binary_bytes", Title: "binary of reserve-ticket for " + deployedArch, Value: float64(sizes["reserve-ticket"]),
			Unit: "bytes", Target: Target{atMost, maxBinary}},
		{Key: "largest_binary_bytes", Title: "the largest binary, " + largest, Value: float64(sizes[largest]), Unit: "bytes",
			Target: Target{atMost, maxBinary}},
	}, nil
}

// binarySizes gives the size of each function's binary in bytes, by name.
func binarySizes(ctx context.Context, o Options) (map[string]int64, error) {
	root, err := sourceTree(ctx)
	if err != nil {
		return nil, err
	}
	names, err := functionNames(root)
	if err != nil {
		return nil, err
	}
	bar := progress.Bar(o.Out, len(names), "binaries for "+deployedArch)
	defer func() { _ = bar.Finish() }()
	var mu sync.Mutex
	sizes := make(map[string]int64, len(names))
	err = inParallel(len(names), buildsAtOnce, func(_, i int) error {
		path, err := buildFunction(ctx, root, names[i], deployedArch, o.Dir)
		if err != nil {
			return err
		}
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		sizes[names[i]] = info.Size()
		_ = bar.Add(1)
		return os.Remove(path)
	})
	return sizes, err
}
