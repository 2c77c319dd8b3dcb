/* SPDX-License-Identifier: MIT */
/*
 * Where memory is, in words for tables.
 */
#ifndef PROFILER_TABLES_MEMORY_PLACE_H
#define PROFILER_TABLES_MEMORY_PLACE_H

#include "profiler/model/memory_use.h"

struct result;

/* Returns the name of a process, as long as the result lives; "": it is not known. */
const char *memory_process_name(const struct result *result, uint32_t process);

/* Returns `text`: "device, GPU 0, app 123". */
#define MEMORY_PLACE_BYTES 256
const char *memory_place_text(const struct result *result, const struct memory_total *total,
			      char text[MEMORY_PLACE_BYTES]);

#endif
