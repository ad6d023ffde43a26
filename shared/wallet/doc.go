// Package wallet keeps the ledger: who has how much money, and every movement by which it came about.
//
// # Words
//
// A movement takes an amount above zero from one account to another. A wallet is a user's money of one currency; it is two accounts,
// AVAIL, what the user can spend, and FROZEN, what deposits hold. HOUSE is what sales earned, CLUB:<id> what a club keeps of deposits
// that were not confirmed, PROVIDER what the provider of payments owes us (below zero: has taken for us), SUSPENSE what came from it
// and is not decided yet, OUTSIDE everything beyond this system. An entry is a movement as written down, a row of wallet_log.
//
// # Chart
//
//	type                from      to                           reference
//	TOP_UP              OUTSIDE   AVAIL                        the operator's
//	WITHDRAWAL          AVAIL     OUTSIDE                      the operator's
//	DEPOSIT_FREEZE      AVAIL     FROZEN                       order
//	DEPOSIT_CONSUME     FROZEN    HOUSE                        order
//	DEPOSIT_SUPPLEMENT  AVAIL     HOUSE                        order
//	DEPOSIT_PENALTY     FROZEN    CLUB:<id>                    order
//	DEPOSIT_REFUND      FROZEN    AVAIL                        order
//	PAYMENT_WALLET      AVAIL     HOUSE                        order
//	PAYMENT_MANUAL      OUTSIDE   HOUSE                        order
//	PAYMENT_RECEIVED    PROVIDER  SUSPENSE                     payment
//	PAYMENT_APPLIED     SUSPENSE  HOUSE                        payment
//	REFUND              HOUSE     AVAIL, PROVIDER or OUTSIDE   refund
//	SURPLUS_REFUND      SUSPENSE  PROVIDER                     refund
//	REFUND_FAILED       PROVIDER  SUSPENSE                     refund
//	PENALTY_REVERSAL    CLUB:<id> AVAIL                        refund
//
// A movement is named by its type and its reference and is written once, however often it is asked for.
//
// # Invariants
//
//   - A wallet is what its entries say: available and frozen are those after its last entry, its version is their number, and the
//     versions run from 1 without gaps. Of two entries the one with the higher version is not the earlier one.
//   - Neither part of a wallet is below zero: wallet_gate refuses.
//   - What is taken from FROZEN under a reference was frozen under it before: a deposit that was never taken is never given back, however
//     much other deposits hold.
//   - All accounts of a currency together are zero at every commit.
//   - A movement and its wallet, its entry and its rows of account_inbox are one transaction.
//
// # Two kinds of accounts
//
// A wallet must not go below zero, so each movement locks its row and updates it. The other accounts may, and thousands of movements
// touch one of them at the same time: each adds a row to account_inbox, which queues on nothing. RollUp takes such rows, adds their sum
// to the account and deletes exactly those rows, in one transaction. It keeps no mark of how far it came: a row with a lower number may
// be committed later than one with a higher, and a mark would pass it over for ever. The balance of an account is its row and the rows of
// its inbox, read in one statement.
//
// # Races
//
// Apply locks the wallets in the order of their keys before it reckons, so what it calls too little is too little. A transaction that
// lost a race waits or is run again; it is never told that the balance is too low.
package wallet
