/* SPDX-License-Identifier: MIT */
/*
 * Describes the place of memory in words, for tables.
 */
#ifndef PROFILER_TABLES_MEMORY_PLACE_H
#define PROFILER_TABLES_MEMORY_PLACE_H

#include "profiler/model/memory_use.h"

struct result;

/* Returns the name of a process, which lives as long as the result; "" if unknown. */
const char *memory_process_name(const struct result *result, uint32_t process);

/* Writes and returns "device, GPU 0, app 123". */
#define MEMORY_PLACE_BYTES 256
const char *memory_place_text(const struct result *result, const struct memory_total *total,
			      char text[MEMORY_PLACE_BYTES]);

#endif
