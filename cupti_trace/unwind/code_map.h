/* SPDX-License-Identifier: MIT */
/*
 * The process's own executable mappings, from /proc/self/maps: exact, whatever happened to the
 * files since, and in the form that the profiler uses.
 *
 * Zero-initialised is empty. Not thread-safe: the caller locks; several share one descriptor, which
 * stays open. Bounded: addresses of mappings that do not fit are sent without one.
 */
#ifndef CUPTI_TRACE_UNWIND_CODE_MAP_H
#define CUPTI_TRACE_UNWIND_CODE_MAP_H

#include <stdbool.h>
#include <stdint.h>
#include "cupti_trace/wire/gpu_event.h"

#define CODE_MAP_MAX 8192
#define CODE_MAP_PATH_BYTES (1u << 20)

struct code_map_entry {
	struct gpu_event_code code;
	uint64_t head, head_end; /* where the file's first bytes are mapped; 0: not known */
	bool is_cuda;            /* CUPTI, the driver, libcudart, or this library */
	bool is_runtime;         /* libcudart */
	bool sent;               /* for the caller */
};

struct code_map {
	struct code_map_entry *entries; /* sorted by address, as the kernel lists them */
	uint32_t count;
	char *paths;
	uint32_t paths_used;
	uint64_t next_read_ns; /* not before then, by CLOCK_MONOTONIC */
};

/*
 * The mapping that holds `pc`, or NULL. If it is in none, the mappings are read anew, which takes
 * up to a millisecond, and nothing is marked sent then. After a reading that did not find what it
 * was for, there is none for CODE_MAP_PAUSE times as long as it took: a program may ask for such
 * addresses at each launch, and this bounds what that costs it to 1 %. Until then, code that is
 * new is not found either.
 */
#define CODE_MAP_PAUSE 100
struct code_map_entry *code_map_look(struct code_map *map, uint64_t pc);

/* Mappings have changed: they are read at the next look. */
void code_map_expire(struct code_map *map);

/* Opens the file before it is needed: later the program may have shut itself in. */
void code_map_open(void);

/* Closes the file, which is opened again when it is needed. */
void code_map_close(void);

#endif
