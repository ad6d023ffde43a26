package local

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// errProtocol is returned for bytes that are no RESP, the protocol of Redis.
var errProtocol = errors.New("not the protocol of Redis")

// maxNesting bounds how deep values may contain values.
const maxNesting = 32

// copyValue copies one value of RESP 2 or 3, with all that it contains, from one side to the other as it stands.
func copyValue(to *bufio.Writer, from *bufio.Reader) error { return copyNested(to, from, 0) }

func copyNested(to *bufio.Writer, from *bufio.Reader, depth int) error {
	if depth > maxNesting {
		return errProtocol
	}
	line, err := from.ReadSlice('\n')
	if err != nil {
		return err
	}
	if len(line) < 3 {
		return errProtocol
	}
	kind, count := line[0], string(line[1:len(line)-2])
	if _, err := to.Write(line); err != nil {
		return err
	}
	switch kind {
	case '+', '-', ':', '_', '#', ',', '(':
		return nil // the line is the value
	case '$', '!', '=':
		n, err := strconv.ParseInt(count, 10, 64)
		if err != nil || n < 0 {
			return err // -1 is null
		}
		_, err = io.CopyN(to, from, n+2)
		return err
	}
	items, known := map[byte]int64{'*': 1, '~': 1, '>': 1, '%': 2, '|': 2}[kind]
	n, err := strconv.ParseInt(count, 10, 64)
	if !known || err != nil {
		return fmt.Errorf("%w: a value of kind %q", errProtocol, kind)
	}
	n *= items
	if kind == '|' {
		n++ // attributes stand before the value that they belong to
	}
	for range n {
		if err := copyNested(to, from, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// readCommand reads one command, an array of texts, and returns its raw bytes and its first two words.
func readCommand(from *bufio.Reader) (raw []byte, verb, first string, err error) {
	line, err := from.ReadSlice('\n')
	if err != nil {
		return nil, "", "", err
	}
	raw = append(raw, line...)
	words, err := header('*', line)
	if err != nil {
		return nil, "", "", err
	}
	for i := range words {
		line, err := from.ReadSlice('\n')
		if err != nil {
			return nil, "", "", err
		}
		raw = append(raw, line...)
		size, err := header('$', line)
		if err != nil {
			return nil, "", "", err
		}
		start := len(raw)
		raw = append(raw, make([]byte, size+2)...)
		if _, err := io.ReadFull(from, raw[start:]); err != nil {
			return nil, "", "", err
		}
		switch word := raw[start : start+size]; i {
		case 0:
			verb = string(word)
		case 1:
			first = string(word)
		}
	}
	return raw, verb, first, nil
}

// header reads the number in a line such as "*3\r\n".
func header(kind byte, line []byte) (int, error) {
	if len(line) < 4 || line[0] != kind {
		return 0, errProtocol
	}
	n, err := strconv.Atoi(string(line[1 : len(line)-2]))
	if err != nil || n < 0 || n > 512<<20 {
		return 0, errProtocol
	}
	return n, nil
}
