// Package sqs is the queue service of the local stack: an HTTP server, inside this process and bound to 127.0.0.1, that speaks the protocol
// of aws-sdk-go-v2's SQS client (AWS JSON 1.0), over standard queues kept in memory.
//
// # Use
//
//	server, err := sqs.Start(sqs.Options{Port: 0, Now: clock.Now, Faults: faults})
//	dead, err := server.CreateQueue("orders-dead", map[string]string{"MessageRetentionPeriod": "1209600"})
//	orders, err := server.CreateQueue("orders", map[string]string{
//		"VisibilityTimeout": "180",
//		"RedrivePolicy":     `{"deadLetterTargetArn":"` + dead.ARN() + `","maxReceiveCount":5}`,
//	})
//	client := awssqs.New(awssqs.Options{BaseEndpoint: aws.String(server.Endpoint()), Region: server.Region(), Credentials: anyCredentials})
//
// A [Queue] answers clients through HTTP, and whoever lives in the same process, such as the event source mapping, through its methods. Both
// go the same way and meet the same faults. Errors of both are *[Error], [ErrAnswerLost], [ErrClosed] or the context's own.
//
// # What a queue promises
//
//   - Messages are taken roughly in the order they came in. A taken message is in flight until its visibility timeout has passed, then anyone
//     may take it again under a new receipt handle.
//   - Deleting needs the handle of the latest receive. An older one is answered with success and changes nothing; so does the handle of a
//     message that is gone. A text that is no handle of this queue is refused with ReceiptHandleIsInvalid.
//   - A receive that finds a message which was received maxReceiveCount times moves it to the dead-letter queue and gives out the next one. It
//     keeps its id, its sent time and its receive count, and bears the attribute DeadLetterQueueSourceArn.
//   - A long poll ends with the first message: sent, become visible, or become due after its delay.
//   - A message older than the queue's retention is gone.
//
// All times follow [Options].Now, which may be moved forward: after a jump call [Server.Wake], so that waiting receives see what has become
// visible. How long a long poll itself lasts is real time.
//
// # What it refuses
//
// Batches over 10 entries (TooManyEntriesInBatchRequest), bodies over 1 048 576 bytes with their attributes (InvalidParameterValue), batches
// whose sum is over it (BatchRequestTooLong), characters outside XML's (InvalidMessageContents), delays over 900 s, visibility over 43 200 s.
// FIFO queues, message groups, tags, permissions and encryption are refused with UnsupportedOperation or InvalidAttributeName and never
// taken silently. Signatures are not checked.
//
// # Faults
//
// Before each call the server asks [Faults] what to do. [Points] and [Modes] list what there is:
//
//	mode         queue.send                        queue.receive                     queue.delete
//	refuse       503, nothing stored               503, nothing taken                503, nothing deleted
//	lose-answer  stored, connection cut            taken, connection cut             deleted, connection cut
//	drop         answered as sent, not stored      answered empty after the poll     answered as deleted, kept
//	duplicate    stored twice under one id         given out and at once visible     -
//	hang         no answer until the caller gives up, and no effect
//	fail-entry   batch: entries 3 and 7 fail       -                                 batch: entries 3 and 7 fail
//
// fail-entry fails the last entry of a batch shorter than three, and refuses a call that is no batch.
package sqs
