// SPDX-License-Identifier: MIT
// As chain.c, on two goroutines.
package main

import (
	"os"
	"strconv"
	"sync"
	"time"
)

var sink [2]uint64

//go:noinline
func inner(at int) {
	for i := uint64(0); i < 1000000; i++ {
		sink[at] += i
	}
}

//go:noinline
func middle(at int, end time.Time) {
	for time.Now().Before(end) {
		inner(at)
		sink[at]++
	}
}

//go:noinline
func outer(at int, seconds float64) {
	middle(at, time.Now().Add(time.Duration(seconds*1e9)))
	sink[at]++
}

func main() {
	var group sync.WaitGroup
	seconds, _ := strconv.ParseFloat(os.Args[1], 64)
	for at := range sink {
		group.Add(1)
		go func(at int) {
			defer group.Done()
			outer(at, seconds/2)
		}(at)
	}
	group.Wait()
}
