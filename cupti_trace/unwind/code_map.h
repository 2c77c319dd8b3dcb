/* SPDX-License-Identifier: MIT */
/*
 * Reads the process's own executable mappings from /proc/self/maps. They are exact, whatever
 * happened to the files since, and in the profiler's format.
 *
 * Zero-initialised is empty. Not thread-safe: the caller locks. All maps share one descriptor,
 * which stays open. Bounded: addresses of mappings beyond the limit are sent without one.
 */
#ifndef CUPTI_TRACE_UNWIND_CODE_MAP_H
#define CUPTI_TRACE_UNWIND_CODE_MAP_H

#include <stdbool.h>
#include <stdint.h>
#include "cupti_trace/wire/gpu_event.h"

#define CODE_MAP_MAX 8192
#define CODE_MAP_PATH_BYTES (1u << 20)
#define CODE_MAP_FILES \
	64u /* limit of files beside memory without a file; further such memory is not examined */

struct code_map_entry {
	struct gpu_event_code code;
	uint64_t head, head_end; /* mapping of the file's first bytes; 0: unknown */
	bool is_cuda;            /* CUPTI, the driver, libcudart, or this library */
	bool is_runtime;         /* libcudart */
	bool sent;               /* free for use by the caller */
	/*
	 * mappings of files before and after memory without a file, as positions in `files`,
	 * counted from 1; 0: unknown
	 */
	uint8_t before, behind;
};

struct code_map {
	struct code_map_entry *entries; /* sorted by address, as the kernel lists them */
	uint32_t count;
	char *paths;
	uint32_t paths_used;
	uint64_t next_read_ns; /* earliest time of the next read, CLOCK_MONOTONIC */
	struct gpu_event_code files[CODE_MAP_FILES];
	uint32_t file_count;
};

/*
 * Returns the mapping that holds `pc`, or NULL. If no known mapping does, the mappings are read
 * again, and their `sent` is reset. That takes up to a millisecond. After a futile read there is
 * none for CODE_MAP_PAUSE times its duration: this bounds the cost to 1 % for a program that asks
 * for such addresses at each launch. Until then new code is not found either.
 */
#define CODE_MAP_PAUSE 100
struct code_map_entry *code_map_look(struct code_map *map, uint64_t pc);

/*
 * Examines an entry that is memory without a file. If a file's text has been moved there, `entry`
 * becomes a mapping of that file, with a hash of the text (moved_code.h). The rest of the memory
 * gets entries of its own. Returns the entry with `pc`.
 */
struct code_map_entry *code_map_resolve(struct code_map *map, struct code_map_entry *entry,
					uint64_t pc);

/* Has the next look-up read the mappings again, because they have changed. */
void code_map_expire(struct code_map *map);

/* Opens the file before it is needed: later the program may have restricted itself. */
void code_map_open(void);

/* Closes the file, which is opened again when it is needed. */
void code_map_close(void);

#endif
