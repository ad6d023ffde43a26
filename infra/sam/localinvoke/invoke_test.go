package main

import "testing"

func TestAnswersWithoutFailuresAreAccepted(t *testing.T) {
	for _, output := range []string{`{"batchItemFailures":[]}`, "START RequestId\n{\"batchItemFailures\": []}\n"} {
		if _, err := judge(output); err != nil {
			t.Errorf("%q: %v", output, err)
		}
	}
}

func TestAnswersThatSamTakesForSuccessAreRefused(t *testing.T) {
	for _, output := range []string{
		"", "No response from invoke container for CreateOrdersFunction", "Task timed out after 25.00 seconds", "null", "{}",
		`{"errorMessage":"boot: bad environment","errorType":"errorString"}`,
		`{"batchItemFailures":[{"itemIdentifier":"2a4b6c8d"}]}`,
	} {
		if answer, err := judge(output); err == nil {
			t.Errorf("%q was accepted as %s", output, answer)
		}
	}
}
