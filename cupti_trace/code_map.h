/* SPDX-License-Identifier: MIT */
/*
 * The process's own executable mappings, from /proc/self/maps: exact, whatever happened to the
 * files since, and in the form that the profiler uses.
 *
 * Zero-initialised is empty. Not thread-safe: the caller locks. Bounded: addresses of mappings that
 * do not fit are sent without one.
 */
#ifndef CUPTI_TRACE_CODE_MAP_H
#define CUPTI_TRACE_CODE_MAP_H

#include <stdbool.h>
#include <stdint.h>
#include "cupti_trace/gpu_event.h"

#define CODE_MAP_MAX 8192
#define CODE_MAP_PATH_BYTES (1u << 20)

struct code_map_entry {
	struct gpu_event_code code;
	bool is_cuda; /* CUPTI, the driver, libcudart, or this library */
	bool sent;    /* for the caller */
};

struct code_map {
	struct code_map_entry *entries; /* sorted by address, as the kernel lists them */
	uint32_t count;
	char *paths;
	uint32_t paths_used;
};

/* Reads the mappings anew; nothing is marked sent then. 0 or -errno. */
int code_map_read(struct code_map *map);

/* The mapping that holds `pc`, or NULL. */
struct code_map_entry *code_map_find(struct code_map *map, uint64_t pc);

#endif
