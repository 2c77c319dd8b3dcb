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
#define CODE_MAP_FILES                                                            \
	64u /* beside memory that is code; further such memory is not looked into \
	     */

struct code_map_entry {
	struct gpu_event_code code;
	uint64_t head, head_end; /* where the file's first bytes are mapped; 0: not known */
	bool is_cuda;            /* CUPTI, the driver, libcudart, or this library */
	bool is_runtime;         /* libcudart */
	bool sent;               /* for the caller */
	/*
	 * The mappings of files before and behind memory without a file, as positions in `files`,
	 * from 1 on; 0: not known
	 */
	uint8_t before, behind;
};

struct code_map {
	struct code_map_entry *entries; /* sorted by address, as the kernel lists them */
	uint32_t count;
	char *paths;
	uint32_t paths_used;
	uint64_t next_read_ns; /* not before then, by CLOCK_MONOTONIC */
	struct gpu_event_code files[CODE_MAP_FILES];
	uint32_t file_count;
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

/*
 * Looks into memory without a file, if `entry` is that: where it is text that the program has
 * moved, `entry` becomes a mapping of the text's file, with a hash of the text (moved_code.h). What
 * else is in that memory stays as it was, in entries of its own. Returns the entry with `pc`.
 */
struct code_map_entry *code_map_resolve(struct code_map *map, struct code_map_entry *entry,
					uint64_t pc);

/* Mappings have changed: they are read at the next look. */
void code_map_expire(struct code_map *map);

/* Opens the file before it is needed: later the program may have shut itself in. */
void code_map_open(void);

/* Closes the file, which is opened again when it is needed. */
void code_map_close(void);

#endif
