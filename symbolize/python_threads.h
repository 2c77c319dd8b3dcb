/* SPDX-License-Identifier: MIT */
/*
 * Reads the names that Python gives its threads: threading.Thread(name=...), t.name = ....
 *
 * Before 3.14 CPython does not tell the kernel these names, and later cuts them to 15 bytes. They
 * are read from the dictionary threading._active. A thread is in it from its first Python code to
 * its end: module `threading` of each interpreter -> _active -> Thread -> _name, _native_id.
 *
 * Memory is read through a callback while the process runs on, and nothing is trusted: types and
 * lengths are checked, and all walks are bounded. A name counts only if its thread is in the
 * dictionary, under that name, before and after the name was read. Does not allocate.
 */
#ifndef SYMBOLIZE_PYTHON_THREADS_H
#define SYMBOLIZE_PYTHON_THREADS_H

#include <stdbool.h>
#include <stdint.h>
#include "symbolize/python_frames.h"

#define PYTHON_THREADS_MAX 4096u        /* threads read at once; further ones are omitted */
#define PYTHON_THREADS_ENTRIES 16384u   /* entries of the dictionary, including ended threads */
#define PYTHON_THREAD_NAME_BYTES 128u   /* bytes of a name, with the NUL; longer names are cut */
#define PYTHON_THREADS_INTERPRETERS 16u /* interpreters whose threads are read */

struct python_thread_name {
	uint32_t tid; /* id in the process's own pid namespace */
	char text[PYTHON_THREAD_NAME_BYTES];
};

/* Addresses found in a process, for the next reading. Zero-initialise. */
struct python_threads_places {
	struct {
		uint64_t interpreter;
		uint64_t active; /* dictionary threading._active */
	} interpreters[PYTHON_THREADS_INTERPRETERS];
	uint64_t name_key, tid_key; /* names of the attributes; 0: not found yet */
};

struct python_threads {
	uint32_t count; /* threads with a telling name: not "MainThread", nor "Dummy-1" */
	struct python_thread_name names[PYTHON_THREADS_MAX];
	/* values of one dictionary, before and after names are read */
	uint64_t threads[PYTHON_THREADS_ENTRIES], again[PYTHON_THREADS_ENTRIES];
};

/*
 * Reads the names of all threads. `runtime`: address of _PyRuntime. The memory needs a callback.
 * Omits unreadable names.
 */
void python_threads_read(const struct python_memory *memory, const struct python_offsets *offsets,
			 const struct python_types *types, uint64_t runtime,
			 struct python_threads_places *places, struct python_threads *threads);

#endif
