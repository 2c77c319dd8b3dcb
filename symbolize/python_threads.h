/* SPDX-License-Identifier: MIT */
/*
 * The names that Python gives its threads: threading.Thread(name=...), t.name = ....
 *
 * Before 3.14 CPython tells the kernel nothing of them, and later a name cut to 15 bytes. They are
 * read from the dictionary threading._active, in which each thread is from when it runs Python code
 * until it ends: module `threading` of each interpreter -> _active -> Thread -> _name, _native_id.
 * Layouts: Objects/dictobject.c, Include/internal/pycore_dict.h, pycore_object.h of 3.8 to 3.15.
 *
 * Memory is read through a callback while the process runs on, and trusted in nothing: types and
 * lengths are checked, all walks are bounded, and a name counts only if its thread is in the
 * dictionary before and after its name was read, under the same name. Does not allocate.
 */
#ifndef SYMBOLIZE_PYTHON_THREADS_H
#define SYMBOLIZE_PYTHON_THREADS_H

#include <stdbool.h>
#include <stdint.h>
#include "symbolize/python_frames.h"

#define PYTHON_THREADS_MAX 4096u        /* read at once; further ones are not read */
#define PYTHON_THREADS_ENTRIES 16384u   /* of the dictionary, with those of threads that ended */
#define PYTHON_THREAD_NAME_BYTES 128u   /* with the NUL; longer names are cut */
#define PYTHON_THREADS_INTERPRETERS 16u /* whose threads are read */

struct python_thread_name {
	uint32_t tid; /* in the process's own pid namespace */
	char text[PYTHON_THREAD_NAME_BYTES];
};

/* Where this was found in a process, for the next reading. Zero-initialise. */
struct python_threads_places {
	struct {
		uint64_t interpreter;
		uint64_t active; /* the dictionary */
	} interpreters[PYTHON_THREADS_INTERPRETERS];
	uint64_t name_key, tid_key; /* the names of the attributes; 0: not found yet */
};

struct python_threads {
	uint32_t count; /* threads whose name says something: not "MainThread", nor "Dummy-1" */
	struct python_thread_name names[PYTHON_THREADS_MAX];
	/* for reading: values of one dictionary, before and after the names were read */
	uint64_t threads[PYTHON_THREADS_ENTRIES], again[PYTHON_THREADS_ENTRIES];
};

/*
 * Reads the names of all threads; `runtime`: the address of _PyRuntime. The memory needs a
 * callback. What cannot be read is left out.
 */
void python_threads_read(const struct python_memory *memory, const struct python_offsets *offsets,
			 const struct python_types *types, uint64_t runtime,
			 struct python_threads_places *places, struct python_threads *threads);

#endif
