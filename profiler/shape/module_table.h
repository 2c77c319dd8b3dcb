/* SPDX-License-Identifier: MIT */
/*
 * Numbers the files with the code of a result's frames, for formats that describe code by mappings.
 *
 * Each file is listed once. Its mapping goes from the first byte to the last page in which a
 * function was seen.
 */
#ifndef PROFILER_SHAPE_MODULE_TABLE_H
#define PROFILER_SHAPE_MODULE_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include "profiler/model/result.h"
#include "symbolize/util/record_set.h"

struct module_entry {
	const char *path;     /* borrowed from the result; any bytes */
	const char *build_id; /* NULL: unknown */
	uint64_t last;        /* largest offset of a function seen */
	bool is_library;      /* its name contains ".so" */
};

#define NO_MODULE UINT32_MAX

struct module_table {
	uint32_t *of_frame; /* file number by frame, or NO_MODULE */
	RECORD_SET(struct module_entry) modules;
};

/* Fills the table. Returns 0, or -ENOMEM. Release the table in both cases. */
int module_table_init(struct module_table *table, const struct result *result);
void module_table_release(struct module_table *table);

/* Returns the end of the last page with a function. */
uint64_t module_end(const struct module_entry *module);

#endif
