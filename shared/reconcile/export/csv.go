package export

import (
	"bytes"
	"database/sql"
	"encoding/csv"
	"strings"
	"time"
)

// cell is one value of a line.
type cell struct {
	value string
	free  bool // somebody else chose the text
}

// plain is a value whose form we know: a number, a code, an id.
func plain(s string) cell { return cell{value: s} }

// text is a value that somebody else chose.
func text(s string) cell { return cell{value: s, free: true} }

func instant(t time.Time) cell { return plain(t.UTC().Format("2006-01-02T15:04:05.000Z")) }

func instantOrNone(t sql.NullTime) cell {
	if !t.Valid {
		return plain("")
	}
	return instant(t.Time)
}

// written is the value as it stands in a file. A spreadsheet computes what begins like a formula; with an apostrophe before it, it shows
// the text.
func (c cell) written() string {
	if c.free && c.value != "" && strings.ContainsRune("=+-@\t\r\n|", rune(c.value[0])) {
		return "'" + c.value
	}
	return c.value
}

// appendLines writes lines as RFC 4180 has them.
func appendLines(into *bytes.Buffer, lines [][]cell) error {
	w := csv.NewWriter(into)
	w.UseCRLF = true
	record := []string(nil)
	for _, line := range lines {
		record = record[:0]
		for _, c := range line {
			record = append(record, c.written())
		}
		if err := w.Write(record); err != nil {
			return err
		}
	}
	w.Flush()
	return w.Error()
}

// head is the first line of a kind.
func head(kind Kind) [][]cell {
	line := make([]cell, len(columns[kind]))
	for i, name := range columns[kind] {
		line[i] = plain(name)
	}
	return [][]cell{line}
}
