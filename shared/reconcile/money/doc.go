// Package money holds all that is written about money against each other, once a day: orders, deposits, payments and refunds against the
// ledger, the ledger against itself, and the provider's own list against payments and refunds. It writes differences and how far it is, and
// never money: what contradicts is kept with what each side says, and is left to a person, who puts it right by another movement with a
// reference of its own. Settle adds up one sale's money.
//
// # Words
//
// A round goes over everything once; it is a row of job. It is done by one or several runs, each of which goes on where the last one
// stopped; one run at a time does a round, which it shows by signs of life in the row. A run whose whole time was not enough to come any
// further is an error; after three of them the round has FAILED, so that another one can begin.
//
//	ORDERS     orders by id, page by page, with the deposits and entries of the same ids
//	WALLETS    wallets by key, page by page, with their entries
//	ACCOUNTS   the sums over all, which are of one moment: this part is done by one run or begun again
//	PROVIDER   what the provider lists of the time since the last round, and what we have of that time, chunk by chunk; then, as
//	           PROVIDER_AGAIN, the differences with it that earlier rounds have left open, one by one
//
// # What is compared
//
//	DEPOSIT_DIFFERS       consumed + penalty + refunded = deposit, nothing of it while FROZEN; each part = its entry, of the same user,
//	                      currency and club; entries of deposits have a deposit; a TEST deposit has none
//	DEPOSIT_STALE         FROZEN for 48 hours past the deadline or longer
//	ORDER_MONEY_DIFFERS   paid - refunded = what its entries brought to HOUSE; a TEST order has none
//	WALLET_DIFFERS        available, frozen and version = those of its entries, whose versions run from 1 without gaps
//	ACCOUNT_DIFFERS       account = its entries; HOUSE = paid - refunded of all orders; a club = penalties - what was given back;
//	                      SUSPENSE = successes that are not decided + refunds that failed; PROVIDER = - (successes - refunds that did not
//	                      fail); FROZEN = deposits that are FROZEN; all accounts together 0
//	PROVIDER_DIFFERS      each success that the provider lists = a success here, of the same amount: else NEWS_LOST, FAILED_HERE, NOT_ASKED,
//	                      OTHER_AMOUNT or OTHER_CHARGE; each success here that a provider was asked for is listed: else NOT_LISTED
//
// # How the provider is asked
//
// A round asks for the interval from where the last one stopped up to ten minutes ago: what is younger may be on its way to us, or into the
// list. The first asks for thirty days, because not every provider lists more, and older money was paid out and looked at long ago. A chunk
// of the list is read in pages, from ten minutes before its begin, and each page is held against our rows. Then those rows whose success we
// learnt in that time are looked for in it, up to five minutes before its end, since our clock may be behind by so much: no edge makes a
// difference. A row that is not in the chunk, because its news came late, is looked for where else it can be listed.
//
// A provider that does not answer, refuses, or is too slow ends the part and not the round, which says so; the next one begins there. What it
// listed before that is judged and kept. It is never asked while a snapshot is open.
//
// # What always holds
//
// Whatever is compared is read from one snapshot, so that a movement between two reads is never taken for a difference. A round that is
// complete marks as GONE what it did not find again; a difference with the provider is GONE when it was looked at again and is over. Every
// instant of the provider's list is looked at by some round. What a person has decided to leave alone is neither opened nor counted again while it
// says the same. Two runs at once, or one that is repeated, change nothing but counts.
package money
