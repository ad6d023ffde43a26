// Package export writes tables for people who reckon with them: CSV files in an object store, each asked for as a job.
//
// # Words
//
// An export is one file of one kind. Its job is claimed by one run at a time, which writes it part by part; after each part the job's row
// says how far the file is, so that the next run goes on there, with the same hash. A part that a run did not finish is written again
// under its number, which replaces it.
//
//	kind          one line per                       with the buyer's user id
//	orders        order                              yes: it is what orders are handed out by
//	units         unit of a PAID order               yes
//	ledger        entry of the ledger                no: the order leads there
//	deposits      deposit                            no
//	differences   difference                         where it is a user's wallet that differs
//
// # What always holds
//
// A TEST sale is in no file but the differences. A cell of text that a spreadsheet would take for a formula begins with an apostrophe.
// Instants are UTC, amounts decimal with a column for the currency. from is inclusive and to exclusive, by the instant at which the row
// was made. Rows that come while a file is written may be missing in it.
package export
