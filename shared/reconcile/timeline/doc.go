// Package timeline tells what happened, for people: to one order, or to one buyer in a sale.
//
// A story is one list by time, each event with its source and a sentence, merged from the log in Redis, the messages of the queue, the rows
// of MySQL, with what was paid, frozen, given back and told to the buyer, what repair noted, and what operators did. It ends in a verdict, that is how things stand, and in what happens next by itself.
//
// # What can be proved
//
// An order's story holds what the stores keep: nothing in it is guessed. Of a buyer who got nothing the stores cannot tell whether and when
// the buyer asked, since a refusal leaves no trace. What they can tell is what everybody was told at any moment: when units ran out, when
// some came free again, and whether the buyer's own orders used up the limit. The log begins where Redis was last loaded; what was left
// before that moment cannot be told from it, and the story says so.
package timeline
