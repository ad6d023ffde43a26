package sam

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// writeELF makes the smallest file that is an executable for the machine, with one program header of the given kind.
func writeELF(t *testing.T, machine elf.Machine, segment elf.ProgType) string {
	t.Helper()
	header := elf.Header64{
		Ident: [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)},
		Type:  uint16(elf.ET_EXEC), Machine: uint16(machine), Version: uint32(elf.EV_CURRENT),
		Phoff: 64, Ehsize: 64, Phentsize: 56, Phnum: 1, Shentsize: 64,
	}
	var file bytes.Buffer
	for _, part := range []any{header, elf.Prog64{Type: uint32(segment)}} {
		if err := binary.Write(&file, binary.LittleEndian, part); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "bootstrap")
	if err := os.WriteFile(path, file.Bytes(), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestStaticBinaryOfTheRightArchitectureIsAccepted(t *testing.T) {
	if err := CheckBinary(writeELF(t, elf.EM_AARCH64, elf.PT_LOAD), "arm64"); err != nil {
		t.Fatal(err)
	}
}

func TestWrongBinariesAreRefused(t *testing.T) {
	text := filepath.Join(t.TempDir(), "bootstrap")
	if err := os.WriteFile(text, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, wrong := range []struct{ name, path, goarch, says string }{
		{"other architecture", writeELF(t, elf.EM_X86_64, elf.PT_LOAD), "arm64", "is built for"},
		{"dynamic", writeELF(t, elf.EM_AARCH64, elf.PT_INTERP), "arm64", "dynamically linked"},
		{"script", text, "arm64", "no ELF binary"},
		{"missing", text + ".gone", "arm64", "no ELF binary"},
		{"unknown architecture", text, "riscv64", "not one of Lambda's"},
	} {
		t.Run(wrong.name, func(t *testing.T) {
			err := CheckBinary(wrong.path, wrong.goarch)
			if err == nil || !strings.Contains(err.Error(), wrong.says) {
				t.Fatalf("want an error that says %q, got %v", wrong.says, err)
			}
		})
	}
}
