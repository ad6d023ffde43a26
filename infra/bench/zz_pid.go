package bench

var probePID int
