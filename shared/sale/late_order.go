package sale

// domainLatePayment marks the ids of orders that late payments make.
const domainLatePayment byte = 3

// LateOrderID is the id of the order that a payment makes which came after its order was cancelled: from the old order and the payment,
// so that the same payment makes the same order on any machine, and no user's key can make it.
func (a *Activity) LateOrderID(old OrderID, paymentID string) OrderID {
	return newOrderID(a.Number, a.Salt, domainLatePayment, string(old[:]), paymentID)
}
