// Package s3 is the object store of the local stack: an HTTP handler, addressed by path, that keeps objects in memory.
//
//	GET, HEAD /bucket/key            the object
//	PUT /bucket/key                  writes it whole
//	POST /bucket/key?uploads         begins one that is written in parts
//	PUT …?partNumber=&uploadId=      writes a part, in place of an earlier one of its number
//	POST …?uploadId=                 makes the object of the parts that the body lists, each of them 5 MiB or more but for the last
//
// Buckets need not be made. Signatures are not checked, but a presigned address is refused once its time is over by the injected clock.
// Everything else that S3 has is refused with NotImplemented.
package s3
