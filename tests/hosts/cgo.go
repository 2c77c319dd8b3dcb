// SPDX-License-Identifier: MIT

// cgo: goroutines that launch through C, which runs on a stack of the thread's, and through C that
// calls Go that calls C again. Their own stacks grow and move meanwhile, they change threads, and
// the runtime interrupts them with signals.
package main

/*
#cgo LDFLAGS: -l:cgo_plugin.so -lcudart
#include <stdlib.h>
void launch_from_go(void);
void launch_below_go(void (*go_on)(void));
void wait_from_go(void);
void go_on(void);
*/
import "C"

import (
	"fmt"
	"runtime"
	"sync"
)

const goroutines, rounds = 100, 20

//export go_on
func go_on() {
	grow(50)
	C.launch_from_go()
}

func grow(depth int) byte {
	var here [512]byte
	here[depth] = byte(depth)
	if depth == 0 {
		return here[0]
	}
	return grow(depth-1) + here[depth]
}

func main() {
	var all sync.WaitGroup
	for i := 0; i < goroutines; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			for j := 0; j < rounds; j++ {
				C.launch_from_go()
				runtime.Gosched()
				C.launch_below_go((*[0]byte)(C.go_on))
				if j == rounds/2 {
					runtime.GC()
				}
			}
		}()
	}
	all.Wait()
	C.wait_from_go()
	fmt.Println("launches", goroutines*rounds*3)
	C.exit(0) // Go's own end is that of _exit
}
