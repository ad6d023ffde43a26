package mapping

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"holdfast/infra/local/sqs"
)

// readFailures returns the ids of the messages that the answer reports failed. An error means that the answer is malformed and the whole batch
// counts as failed. encoding/json would take field names in any letter case, Lambda does not; hence the maps.
func readFailures(answer []byte, messages []sqs.Message) (map[string]bool, error) {
	if bytes.Equal(bytes.TrimSpace(answer), []byte("null")) {
		return nil, nil
	}
	var response map[string]json.RawMessage
	if err := json.Unmarshal(answer, &response); err != nil {
		return nil, errors.New("the answer is no JSON object")
	}
	list, reported := response["batchItemFailures"]
	if !reported {
		return nil, nil
	}
	var items []map[string]json.RawMessage
	if err := json.Unmarshal(list, &items); err != nil {
		return nil, errors.New("batchItemFailures is no list of objects")
	}
	known := make(map[string]bool, len(messages))
	for i := range messages {
		known[messages[i].ID] = true
	}
	failed := make(map[string]bool, len(items))
	for i, item := range items {
		var id string // a missing, null or misnamed identifier leaves it empty
		if text, ok := item["itemIdentifier"]; ok {
			if err := json.Unmarshal(text, &id); err != nil {
				return nil, fmt.Errorf("itemIdentifier %d is no text", i)
			}
		}
		if id == "" {
			return nil, fmt.Errorf("itemIdentifier %d is empty", i)
		}
		if !known[id] {
			return nil, fmt.Errorf("itemIdentifier %d is no message of the batch", i)
		}
		failed[id] = true
	}
	return failed, nil
}
