/* SPDX-License-Identifier: MIT */
/*
 * Describes the fields and tables of a capture, for its writer and its reader.
 *
 * docs/capture-format.md has the format. A table is written in blocks of equal structs. A block
 * has a column for each member: numbers near each other take few bytes, and compress well.
 *
 * A table's struct is that of the result where possible. A text (CELL_TEXT) is a pointer in
 * memory. In the file it is a number, from 1 on, or 0 for NULL.
 */
#ifndef PROFILER_FORMATS_CAPTURE_FORMAT_H
#define PROFILER_FORMATS_CAPTURE_FORMAT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "profiler/model/run_numbers.h"
#include "profiler/shape/module_table.h"

#define CAPTURE_FORMAT "profile capture"
#define CAPTURE_MESSAGE_MAX (1u << 24) /* bytes */
#define CAPTURE_BLOCK 4096u            /* most structs in a block */
#define CAPTURE_STRUCT_MAX TABLE_ROW_MAX

/*
 * Fields of the file, which is one message of protocol buffers in gzip. The missing numbers from
 * RESULT_TABLES_FIRST on are fields of add-ons' tables (result_table.h).
 */
enum capture_field {
	CAPTURE_HEADER = 1,
	CAPTURE_STRING = 2,
	CAPTURE_NUMBERS = 3,
	CAPTURE_MODULES = 4, /* the first table; fields below hold blocks */
	CAPTURE_FRAMES,
	CAPTURE_STACKS,
	CAPTURE_PLACES,
	CAPTURE_PROCESSES,
	CAPTURE_THREADS,
	CAPTURE_DEVICES,
	CAPTURE_ROWS,
	CAPTURE_GPU_ROWS,
	CAPTURE_SHAPES,
	CAPTURE_RECORDS,
	CAPTURE_END, /* last in the file; no table */
	CAPTURE_API_CALLS,
	CAPTURE_API_ERRORS,
	CAPTURE_API_BUCKETS,
	CAPTURE_COUNTER_METRICS = 22,
	CAPTURE_COUNTER_ROWS,
	CAPTURE_RANKS,
	CAPTURE_COUNTER_VALUES,
};
#define CAPTURE_FIRST_TABLE CAPTURE_MODULES
#define CAPTURE_FIELDS (RESULT_TABLES_FIRST + RESULT_TABLES_MAX)
#define CAPTURE_TABLES (CAPTURE_FIELDS - CAPTURE_FIRST_TABLE - 1)

/* Returns the number of a table, from 0 on: CAPTURE_END is skipped. */
static inline uint32_t capture_table_number(uint32_t field)
{
	return field - CAPTURE_FIRST_TABLE - (field > CAPTURE_END);
}

enum capture_header_field { HEADER_FORMAT = 1, HEADER_VERSION, HEADER_PRODUCER };

/* Fields of a block. The column of member N, from 1 on, is field N + 1: packed values. */
enum { BLOCK_COUNT = 1, BLOCK_FIRST_COLUMN };

/* CAPTURE_END has the number of rows of each table; field N + 1 is that of table N. */

/* ---- structs of tables that differ from those of the result ---- */

struct capture_frame {
	uint32_t class, line, module; /* module: from 1 on, 0: none */
	const char *name, *short_name, *file, *source;
	uint64_t offset;
};

struct capture_device {
	uint32_t process, id, is_used, is_described, is_mig, is_mps, gpu_instance, compute_instance;
	const char *name;
	uint64_t uuid[2]; /* in the machine's byte order */
	struct gpu_limits limits;
};

/* A row whose `row.device` is the CUDA number of a device, not its key. */
struct capture_gpu_row {
	struct gpu_row row;
	uint32_t process; /* 0: no particular process */
};

/* The members of struct api_call before `returned`, which follows from the others. */
#define CAPTURE_CALL_BYTES offsetof(struct api_call, returned)

struct capture_api_error {
	uint32_t call; /* from 0 on */
	uint32_t code;
	uint64_t count;
};

struct capture_api_bucket {
	uint32_t call, bucket; /* from 0 on */
	uint64_t count;
};

/* Returns the table of a field, or NULL if there is none. */
const struct table_kind *capture_table(uint32_t field);

/* ---- texts of the run ---- */

/* A text and its number, both members of struct run_numbers. */
struct run_text {
	uint16_t number, text; /* offsets */
	uint16_t size;         /* bytes of an array in the ledger; 0: the text is a pointer */
};

extern const struct run_text run_texts[];
extern const uint32_t run_text_count;

#endif
