// Command checkbuild looks at what `sam build` left behind: one static binary of the right architecture per function.
//
//	checkbuild <build folder> <goarch> <logical id>...
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"holdfast/infra/sam"
)

func main() {
	if len(os.Args) < 4 {
		fmt.Fprintln(os.Stderr, "usage: checkbuild <build folder> <goarch> <logical id>...")
		os.Exit(2)
	}
	folder, goarch, functions := os.Args[1], os.Args[2], os.Args[3:]
	failed := false
	for _, function := range functions {
		path := filepath.Join(folder, function, "bootstrap")
		if err := sam.CheckBinary(path, goarch); err != nil {
			fmt.Fprintln(os.Stderr, err)
			failed = true
			continue
		}
		if info, err := os.Stat(path); err == nil {
			fmt.Printf("  %-28s %s, static, %.1f MiB\n", function, goarch, float64(info.Size())/(1<<20))
		}
	}
	if failed {
		os.Exit(1)
	}
}
