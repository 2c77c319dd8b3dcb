/* SPDX-License-Identifier: MIT */
/*
 * The files with the code of a result's frames, each once, as formats need them that describe code
 * by mappings: from the file's first byte to the last page in which a function was seen.
 */
#ifndef PROFILER_SHAPE_MODULE_TABLE_H
#define PROFILER_SHAPE_MODULE_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include "profiler/model/result.h"
#include "symbolize/util/record_set.h"

struct module_entry {
	const char *path;     /* as in frames: any bytes */
	const char *build_id; /* NULL: unknown */
	uint64_t last;        /* offset seen in it */
	bool is_library;      /* by its name */
};

#define NO_MODULE UINT32_MAX

struct module_table {
	uint32_t *of_frame; /* by frame: its file's number, or NO_MODULE */
	RECORD_SET(struct module_entry) modules;
};

/* 0 or -ENOMEM; release it in any case. Paths are the result's. */
int module_table_init(struct module_table *table, const struct result *result);
void module_table_release(struct module_table *table);

/* The end of the pages that were seen. */
uint64_t module_end(const struct module_entry *module);

#endif
