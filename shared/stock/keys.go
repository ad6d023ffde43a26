package stock

import (
	"strconv"

	"holdfast/shared/sale"
)

// keys builds the name of every key in Redis, and nothing else does. All keys of an activity bear its id as hash tag, so that one
// script can touch them in a cluster; an activity split into segments would bear "activityId:segment" there. The five keys of the
// set and its waiters have no TTL: Begin makes the set and an archive job removes it whole, except the facts, once every order is final.
// Nobody but the scripts writes to them, save SetFinal.
type keys struct{ tag string }

func keysOf(activityID string) keys { return keys{tag: "hf:{" + activityID + "}:"} }

// facts is a hash: "sale" JSON of sale.Facts, "final" the status of a sale that is over. It survives archiving.
func (k keys) facts() string { return k.tag + "facts" }

// rules is a hash. "epoch"; "open" the epoch again while selling, "-" while loading; "status" P, S, C or X; "opens" and "closes"
// in ms; "limit" units per user; "version" of the rules; "run" of
// the server, under which the set was last proven whole; "seq" the number of the last movement, in us; "left:<type>" units of a
// type left in all buckets; "left:<type>:<bucket>" units left in one; "fix:<counter>" the number
// of the last correction of a counter.
func (k keys) rules() string { return k.tag + "rules" }

// buyers is a hash: "#" the epoch; "u<user>" a mark, "<units>t" and the 16 bytes of the last order id. A user who has an entry in
// the log has a mark, of 0 units perhaps.
func (k keys) buyers() string { return k.tag + "buyers" }

// log is a hash: "#" the epoch; the other fields are movements, each written once; log.go reads them.
//
//	t<id16>            "<seq> <quantity> <before> <type> <alloc> u<user>"   taken; before is units of the type left, -1 if adopted
//	t<id16>            "<seq> 0 0 <reason> - u<user>"                       dead marker of an id that had not been taken
//	xt<id16>           "<seq> <before> <quantity> <reason>"                 died: the units went back; before is units left then
//	mt<id16>           "<seq> <alloc>"                                      MySQL allocated otherwise, and this holds
//	st<id16>           "<seq>"                                              of a deposit seat: its buyer was promised an order
//	a<adjustmentId>    "<seq> <type> <split>"                               capacity changed
//	ia<adjustmentId>   "<seq> <type> <split>"                               that change was taken back; "- -" if it never was
func (k keys) log() string { return k.tag + "log" }

// pending is a zset: "t<id16>" with the instant of taking in us by the clock, which is the entry's seq unless the clock had gone back;
// from taking until MySQL is known to have the order or its end.
func (k keys) pending() string { return k.tag + "pending" }

// waiters is a set: the 16 bytes of the ids of waitlist entries that wait for a type. It is there while anybody waits and shuts the
// public out; rows of MySQL say who waits.
func (k keys) waiters(ticketType string) string { return k.tag + "waiters:" + ticketType }

// waitersOf gives the waiters' keys of some types, in their order.
func (k keys) waitersOf(types []string) []string {
	out := make([]string, len(types))
	for i, t := range types {
		out[i] = k.waiters(t)
	}
	return out
}

// order is a string, TTL 60 s: a digit for how far the order is on its way, then its JSON with its revision. Reading functions may find it
// gone at any time.
func (k keys) order(id sale.OrderID) string { return k.tag + "order:" + id.String() }

// Names of fields, as the comments above explain them.
func entryField(id sale.OrderID) string          { return "t" + string(id[:]) }
func userField(userID string) string             { return "u" + userID }
func adjustmentField(adjustmentID string) string { return "a" + adjustmentID }
func counterField(ticketType string) string      { return "left:" + ticketType }
func bucketField(ticketType string, bucket int) string {
	return "left:" + ticketType + ":" + strconv.Itoa(bucket)
}
