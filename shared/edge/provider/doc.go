// Package provider speaks with the company that charges buyers, over a small protocol of its own: JSON over HTTP, signed by a key that
// both sides have. Another company's protocol is another implementation of payment.Provider; nothing else has to know.
//
// # Calls to the provider
//
//	POST {url}/charges {"paymentId","orderId","amount":{"amount","currency"},"returnUrl"?,"expiresAt"?}
//	  -> 200 or 201 {"reference","action":{"type":"REDIRECT"|"SDK","url"?,"clientToken"?}}
//	POST {url}/refunds {"refundId","paymentId","amount":{…}}
//	  -> 200 or 201 {"status":"PENDING"|"SUCCEEDED"|"FAILED","failure"?}
//	POST {url}/list    {"from","to","after"?,"limit"}
//	  -> 200 or 201 {"entries":[{"paymentId" or "refundId","amount":{…},"at","reference"?}],"next"?}
//
// The first two are idempotent by our id: sent again they answer how it stands. 400, 404, 409 and 422 are a refusal for good; everything
// else, and no answer, leaves it open. A call is made once: whoever calls tries again later under the same id.
//
// The list has every charge and every refund that succeeded at an instant from "from" on and before "to", once each, by the provider's
// clock, the earliest first, whatever was notified of it and heard. A page has "limit" entries at most, 1 to 500; "next" is there when
// there are more, and goes back as "after". What is listed once stays listed at its instant, and shows in the list within ten minutes.
// The clocks of both sides are less than five minutes apart. "reference" of a charge is what was answered when it was begun.
//
// # Calls from the provider
//
//	POST /v1/payments/notifications {"paymentId","status":"SUCCEEDED"|"FAILED","amount":{…},"reference"?,"failure"?}
//	POST /v1/payments/notifications {"refundId","status":"SUCCEEDED"|"FAILED","amount":{…},"failure"?}
//	  -> 204, and until then sent again
//
// # Signatures
//
// Every call of either side carries Holdfast-Timestamp, seconds since 1970, and Holdfast-Signature, the hexadecimal HMAC-SHA256 of the
// timestamp's text, a full stop, and the body's bytes. A call whose timestamp is more than five minutes off is refused, so that one that
// somebody has recorded cannot be sent again for long; what is sent again within them changes nothing.
package provider
