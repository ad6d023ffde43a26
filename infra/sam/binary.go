package sam

import (
	"debug/elf"
	"fmt"
)

// machines names the architectures of Lambda by their Go names.
var machines = map[string]elf.Machine{"arm64": elf.EM_AARCH64, "amd64": elf.EM_X86_64}

// CheckBinary returns an error unless the file is an executable for Linux on goarch ("arm64", "amd64") that needs no dynamic
// linker: Lambda's runtime has another libc than the machine that built it.
func CheckBinary(path, goarch string) error {
	machine, known := machines[goarch]
	if !known {
		return fmt.Errorf("architecture %q is not one of Lambda's", goarch)
	}
	file, err := elf.Open(path)
	if err != nil {
		return fmt.Errorf("%s is no ELF binary: %w", path, err)
	}
	defer func() { _ = file.Close() }() // it was only read
	if file.Machine != machine {
		return fmt.Errorf("%s is built for %v, not for %v", path, file.Machine, machine)
	}
	for _, segment := range file.Progs {
		if segment.Type == elf.PT_INTERP {
			return fmt.Errorf("%s is dynamically linked", path)
		}
	}
	return nil
}
