package mutants

import "slices"

// All is every mutant, part by part.
func All() []Mutant {
	return slices.Concat(scriptMutants(), loadingMutants(), transactionMutants(), passMutants(), layerMutants(), fullMutants(),
		edgeMutants(), moneyMutants(), seatMutants())
}
