package crowd

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"

	"holdfast/shared/sale"
)

// Promise is one 202: what a buyer was told is held. The stores cannot be asked for lost promises, so the crowd keeps its own.
type Promise struct {
	At       time.Time    `json:"at"`
	OrderID  sale.OrderID `json:"orderId"`
	UserID   string       `json:"userId"`
	Type     string       `json:"ticketType"`
	Quantity int          `json:"quantity"`
	Replayed bool         `json:"replayed,omitempty"`
}

// Journal appends promises to a file, a JSON line each, as they come.
type Journal struct {
	mu   sync.Mutex
	file *os.File
	out  *bufio.Writer
}

// CreateJournal makes or empties the file at path.
func CreateJournal(path string) (*Journal, error) {
	file, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("the crowd's journal: %w", err)
	}
	return &Journal{file: file, out: bufio.NewWriter(file)}, nil
}

// Add writes one promise.
func (j *Journal) Add(p Promise) error {
	line, err := json.Marshal(p)
	if err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	_, err = j.out.Write(append(line, '\n'))
	return err
}

// Close writes what is left and closes the file.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.out.Flush(); err != nil {
		_ = j.file.Close()
		return err
	}
	return j.file.Close()
}

// ReadJournal reads the promises at path.
func ReadJournal(path string) ([]Promise, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("the crowd's journal: %w", err)
	}
	defer file.Close()
	var promises []Promise
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var p Promise
		if err := json.Unmarshal(lines.Bytes(), &p); err != nil {
			return nil, fmt.Errorf("line %d of the crowd's journal: %w", len(promises)+1, err)
		}
		promises = append(promises, p)
	}
	return promises, lines.Err()
}
