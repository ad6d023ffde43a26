package invariant

// Bounds is the interval that a counter of units left must lie in while somebody does not know yet what took effect. An answer that
// never came widens it; learning what happened narrows it again. With nothing unclear both ends are equal.
type Bounds struct {
	Low, High int // units left, at least and at most
}

// NewBounds starts from a known figure.
func NewBounds(left int) *Bounds { return &Bounds{Low: left, High: left} }

// Take and Give move units for certain.
func (b *Bounds) Take(units int) { b.Low, b.High = b.Low-units, b.High-units }

// Give is the other way.
func (b *Bounds) Give(units int) { b.Take(-units) }

// MayTake and MayGive note that units are on their way out or back and that nobody knows whether they have moved.
func (b *Bounds) MayTake(units int) { b.Low -= units }

// MayGive is the other way.
func (b *Bounds) MayGive(units int) { b.High += units }

// Settle says how what was unclear ended. change is what it did to the counter if it happened: negative for a MayTake, positive for
// a MayGive of as many units.
func (b *Bounds) Settle(change int, happened bool) {
	switch {
	case change < 0 && happened:
		b.High += change
	case change < 0:
		b.Low -= change
	case happened:
		b.Low += change
	default:
		b.High -= change
	}
}

// Contains says whether a figure that was read is possible.
func (b *Bounds) Contains(left int) bool { return b.Low <= left && left <= b.High }

// Settled says whether nothing is unclear any more.
func (b *Bounds) Settled() bool { return b.Low == b.High }
