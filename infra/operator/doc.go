// Package operator asks a running system's /ops/v1 what an operator wants to know, and prints the answers for people: the certificate of an
// activity, and the story of an order or a buyer. It knows the system by its contract alone; of a local stack it also knows where its
// address stands and how to get a token there.
package operator
