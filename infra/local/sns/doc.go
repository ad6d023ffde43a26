// Package sns is the topic service of the local stack: an HTTP handler that speaks the protocol of aws-sdk-go-v2's SNS client (AWS Query:
// forms in, XML out), over topics that keep what was published to be looked at. Nobody can subscribe.
//
//	topics := sns.New(sns.Options{Now: clock.Now, Faults: faults})
//	arn := topics.Create("notices")
//	client := awssns.New(awssns.Options{BaseEndpoint: …, Region: "us-east-1", Credentials: anyCredentials})
//	seen := topics.Published(arn)
//
// # What it takes
//
// Publish and PublishBatch with Message, Subject and MessageAttributes. A batch holds 1 to 10 entries of different ids; a message is not
// empty and with its attributes at most 262 144 bytes, a batch in all. A topic that does not exist is NotFound; everything else that SNS
// has is refused with InvalidAction. Signatures are not checked.
//
// # Faults
//
// Before each call the service asks its faults what to do:
//
//	mode         topic.publish
//	refuse       503, nothing kept
//	lose-answer  kept, connection cut
//	drop         answered as published, not kept
//	duplicate    kept twice under one message id, as a subscriber may get it twice
//	hang         no answer until the caller gives up, and no effect
//	fail-entry   batch: entries 3 and 7 fail, or the last of a shorter one; a call that is no batch is refused
package sns
