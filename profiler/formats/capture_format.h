/* SPDX-License-Identifier: MIT */
/*
 * What is where in a capture, for its writer and its reader: docs/capture-format.md.
 *
 * Tables are blocks of equal structs, each block with a column for each member: numbers that are
 * near each other take few bytes, and compress well.
 */
#ifndef PROFILER_FORMATS_CAPTURE_FORMAT_H
#define PROFILER_FORMATS_CAPTURE_FORMAT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "profiler/model/run_numbers.h"

#define CAPTURE_FORMAT "profile capture"
#define CAPTURE_MESSAGE_MAX (1u << 24) /* bytes */
#define CAPTURE_BLOCK 4096u            /* structs in one, at most */
#define CAPTURE_STRUCT_MAX TABLE_ROW_MAX

/*
 * The fields of the file, which is one message of protocol buffers, in gzip. Those from
 * RESULT_TABLES_FIRST on that are not here are of tables that add-ons fill (result_table.h).
 */
enum capture_field {
	CAPTURE_HEADER = 1,
	CAPTURE_STRING = 2,
	CAPTURE_NUMBERS = 3,
	CAPTURE_MODULES = 4, /* from here on, blocks */
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
	CAPTURE_END, /* always the last one in the file */
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

/* The number of a table, without the end. */
static inline uint32_t capture_table_number(uint32_t field)
{
	return field - CAPTURE_FIRST_TABLE - (field > CAPTURE_END);
}

enum capture_header_field { HEADER_FORMAT = 1, HEADER_VERSION, HEADER_PRODUCER };

/* In a block: field N + 1 is the column of member N, as packed values. */
enum { BLOCK_COUNT = 1, BLOCK_FIRST_COLUMN };

/* In the end: the rows of each table, from field 1 on, by their numbers. */

/* ---- what tables hold, with numbers in place of pointers; texts from 1 on, 0: none ---- */

struct capture_module {
	uint32_t path, build_id;
};

struct capture_frame {
	uint32_t class, line, name, short_name, file, module; /* module: from 1 on */
	uint64_t offset;
	uint32_t source;
};

struct capture_process {
	uint32_t id, pid, name, has_rank, rank, has_twin; /* rank: 0 without one */
};

struct capture_rank {
	uint32_t rank, clock, host, exit_status, size, has_wall_clock, reference, aligned_by;
	uint64_t start_ns, elapsed_ns, wall_error_ns, collectives, came_last, alone, undecided;
	uint64_t error_ns, bound_ns, moved_ns, drift; /* of the clock, the last two signed */
};

struct capture_thread {
	uint32_t process, tid, name;
};

struct capture_device {
	uint32_t process, id, is_used, is_described, is_mig, is_mps, gpu_instance, compute_instance,
		name;
	uint64_t uuid[2]; /* in the machine's byte order */
	struct gpu_limits limits;
};

/* `row.device` is the number of the process's device. */
struct capture_gpu_row {
	struct gpu_row row;
	uint32_t process; /* 0: the device of that number, of whatever process */
};

struct capture_api_call {
	uint32_t name, family, kind;
	uint64_t calls, ns, bytes, nested, nested_ns, shortest_ns, longest_ns;
};

/* Of a call, from 0 on. */
struct capture_api_error {
	uint32_t call, code;
	uint64_t count;
};

struct capture_api_bucket {
	uint32_t call, bucket;
	uint64_t count;
};

struct capture_counter_metric {
	uint32_t name, unit;
};

/* Numbers with a fraction as the bits of a double (IEEE 754). */
struct capture_counter_row {
	uint32_t stack, metric;
	uint64_t count, sum, least, most;
};

struct capture_counter_value {
	uint32_t process, correlation, metric;
	uint64_t value;
};

/* Returns the columns of a table; NULL: there is none of that number. */
const struct table_kind *capture_table(uint32_t field);

#endif
