// Package objects keeps files in a bucket of Amazon S3: the carrier of export.Store. It speaks the few calls that this takes by itself,
// signed by the SDK's own signer, since the SDK's client of S3 would make every function's binary larger by more than a megabyte.
package objects
