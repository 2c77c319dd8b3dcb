// SPDX-License-Identifier: MIT
#include "profiler/formats/capture_format.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define COLUMN(type, member) TABLE_COLUMN(type, member)
#define DELTA(type, member) TABLE_COLUMN(type, member, .is_delta = true)
#define BELOW(type, member, limit) TABLE_COLUMN(type, member, .below = (limit))
#define FLAG(type, member) BELOW(type, member, 2)
#define REAL(type, member) TABLE_COLUMN(type, member, .cell = CELL_REAL)
#define TEXT(type, member, ...) TABLE_COLUMN(type, member, .cell = CELL_TEXT, __VA_ARGS__)
#define NAME(type, member, ...) \
	TEXT(type, member, .is_positive = true, __VA_ARGS__) /* never NULL */

static const struct table_column modules[] = {TEXT(module_entry, path),
					      TEXT(module_entry, build_id)};
static const struct table_column frames[] = {BELOW(capture_frame, class, FRAME_CLASSES),
					     COLUMN(capture_frame, line),
					     NAME(capture_frame, name, .is_delta = true),
					     NAME(capture_frame, short_name, .is_delta = true),
					     TEXT(capture_frame, file),
					     COLUMN(capture_frame, module),
					     COLUMN(capture_frame, offset),
					     TEXT(capture_frame, source)};
static const struct table_column stacks[] = {DELTA(stack_info, outer), DELTA(stack_info, frame)};
static const struct table_column places[] = {COLUMN(place, part[0]), COLUMN(place, part[1]),
					     COLUMN(place, part[2]), COLUMN(place, part[3]),
					     COLUMN(place, part[4])};
static const struct table_column processes[] = {
	COLUMN(process_info, id),     COLUMN(process_info, pid),  NAME(process_info, name),
	FLAG(process_info, has_rank), COLUMN(process_info, rank), FLAG(process_info, has_twin)};
static const struct table_column ranks[] = {COLUMN(rank_info, rank),
					    COLUMN(rank_info, clock),
					    TEXT(rank_info, host),
					    COLUMN(rank_info, start_ns),
					    COLUMN(rank_info, elapsed_ns),
					    COLUMN(rank_info, exit_status),
					    COLUMN(rank_info, size),
					    FLAG(rank_info, has_wall_clock),
					    COLUMN(rank_info, wall_error_ns),
					    COLUMN(rank_info, collectives),
					    COLUMN(rank_info, came_last),
					    COLUMN(rank_info, alone),
					    COLUMN(rank_info, undecided),
					    COLUMN(rank_info, alignment.reference),
					    COLUMN(rank_info, alignment.collectives),
					    COLUMN(rank_info, alignment.error_ns),
					    COLUMN(rank_info, alignment.bound_ns),
					    COLUMN(rank_info, alignment.moved_ns),
					    COLUMN(rank_info, alignment.drift)};
static const struct table_column threads[] = {COLUMN(thread_info, process),
					      COLUMN(thread_info, tid), NAME(thread_info, name)};
static const struct table_column devices[] = {COLUMN(capture_device, process),
					      COLUMN(capture_device, id),
					      COLUMN(capture_device, is_used),
					      COLUMN(capture_device, is_described),
					      COLUMN(capture_device, is_mig),
					      COLUMN(capture_device, is_mps),
					      COLUMN(capture_device, gpu_instance),
					      COLUMN(capture_device, compute_instance),
					      NAME(capture_device, name),
					      COLUMN(capture_device, uuid[0]),
					      COLUMN(capture_device, uuid[1]),
					      COLUMN(capture_device, limits.multiprocessors),
					      COLUMN(capture_device, limits.warps),
					      COLUMN(capture_device, limits.blocks),
					      COLUMN(capture_device, limits.registers),
					      COLUMN(capture_device, limits.shared_bytes),
					      COLUMN(capture_device, limits.major),
					      COLUMN(capture_device, limits.minor)};
static const struct table_column rows[] = {
	BELOW(row, kind, ROW_KINDS),
	TABLE_COLUMN(row, stack, .cell = CELL_STACK, .is_delta = true),
	COLUMN(row, place),
	COLUMN(row, count),
	COLUMN(row, ns),
	COLUMN(row, bytes)};
static const struct table_column gpu_rows[] = {
	COLUMN(capture_gpu_row, row.device),       BELOW(capture_gpu_row, row.work, GPU_WORKS),
	COLUMN(capture_gpu_row, row.count),        COLUMN(capture_gpu_row, row.ns),
	COLUMN(capture_gpu_row, row.bytes),        COLUMN(capture_gpu_row, row.unmatched),
	COLUMN(capture_gpu_row, row.unmatched_ns), COLUMN(capture_gpu_row, row.bad_times),
	COLUMN(capture_gpu_row, row.staged),       COLUMN(capture_gpu_row, row.before),
	COLUMN(capture_gpu_row, row.before_ns),    COLUMN(capture_gpu_row, row.after),
	COLUMN(capture_gpu_row, row.after_ns),     COLUMN(capture_gpu_row, process)};
static const struct table_column shapes[] = {
	COLUMN(timeline_shape, grid[0]),       COLUMN(timeline_shape, grid[1]),
	COLUMN(timeline_shape, grid[2]),       COLUMN(timeline_shape, block[0]),
	COLUMN(timeline_shape, block[1]),      COLUMN(timeline_shape, block[2]),
	COLUMN(timeline_shape, static_shared), COLUMN(timeline_shape, dynamic_shared),
	COLUMN(timeline_shape, registers)};
static const struct table_column records[] = {BELOW(timeline_record, kind, TIMELINE_KINDS),
					      DELTA(timeline_record, start_ns),
					      COLUMN(timeline_record, duration_ns),
					      COLUMN(timeline_record, bytes),
					      DELTA(timeline_record, graph_node),
					      COLUMN(timeline_record, place),
					      DELTA(timeline_record, stack),
					      COLUMN(timeline_record, shape),
					      DELTA(timeline_record, correlation),
					      BELOW(timeline_record, work, GPU_WORKS),
					      COLUMN(timeline_record, is_waited),
					      COLUMN(timeline_record, error)};

static const struct table_column api_calls[] = {NAME(api_call, name),
						COLUMN(api_call, family),
						BELOW(api_call, kind, GPU_CALL_KINDS),
						COLUMN(api_call, calls),
						COLUMN(api_call, ns),
						COLUMN(api_call, bytes),
						COLUMN(api_call, nested),
						COLUMN(api_call, nested_ns),
						COLUMN(api_call, shortest_ns),
						COLUMN(api_call, longest_ns)};
static const struct table_column api_errors[] = {COLUMN(capture_api_error, call),
						 COLUMN(capture_api_error, code),
						 COLUMN(capture_api_error, count)};
static const struct table_column api_buckets[] = {
	COLUMN(capture_api_bucket, call),
	TABLE_COLUMN(capture_api_bucket, bucket, .is_delta = true, .below = GPU_CALL_BUCKETS),
	COLUMN(capture_api_bucket, count)};

static const struct table_column counter_metrics[] = {NAME(counter_metric, name),
						      NAME(counter_metric, unit)};
static const struct table_column counter_rows[] = {
	DELTA(counter_row, stack),
	COLUMN(counter_row, metric),
	TABLE_COLUMN(counter_row, count, .is_positive = true),
	REAL(counter_row, sum),
	REAL(counter_row, least),
	REAL(counter_row, most)};
static const struct table_column counter_values[] = {
	COLUMN(counter_value, process), DELTA(counter_value, correlation),
	COLUMN(counter_value, metric), REAL(counter_value, value)};

#define SMALL(type) _Static_assert(sizeof(struct type) <= CAPTURE_STRUCT_MAX, "fits into a block")
SMALL(capture_device);
SMALL(capture_gpu_row);
SMALL(rank_info);
SMALL(timeline_record);

#define TABLE(name, type, list) [CAPTURE_##name - CAPTURE_FIRST_TABLE] = {TABLE_KIND(type, list)}

static const struct table_kind kinds[] = {
	TABLE(MODULES, module_entry, modules),
	TABLE(FRAMES, capture_frame, frames),
	TABLE(STACKS, stack_info, stacks),
	TABLE(PLACES, place, places),
	TABLE(PROCESSES, process_info, processes),
	TABLE(THREADS, thread_info, threads),
	TABLE(DEVICES, capture_device, devices),
	TABLE(ROWS, row, rows),
	TABLE(GPU_ROWS, capture_gpu_row, gpu_rows),
	TABLE(SHAPES, timeline_shape, shapes),
	TABLE(RECORDS, timeline_record, records),
	[CAPTURE_API_CALLS - CAPTURE_FIRST_TABLE] = {.columns = api_calls,
						     .column_count = COUNT(api_calls),
						     .row_size = CAPTURE_CALL_BYTES},
	TABLE(API_ERRORS, capture_api_error, api_errors),
	TABLE(API_BUCKETS, capture_api_bucket, api_buckets),
	TABLE(COUNTER_METRICS, counter_metric, counter_metrics),
	TABLE(COUNTER_ROWS, counter_row, counter_rows),
	TABLE(RANKS, rank_info, ranks),
	TABLE(COUNTER_VALUES, counter_value, counter_values),
};

const struct table_kind *capture_table(uint32_t field)
{
	const struct table_kind *kind = table_kind_of_field(field);

	if (kind || field < CAPTURE_FIRST_TABLE || field - CAPTURE_FIRST_TABLE >= COUNT(kinds))
		return kind;
	kind = &kinds[field - CAPTURE_FIRST_TABLE];
	return kind->columns ? kind : NULL;
}

#define RUN_TEXT(number, text, ...)                                                       \
	{                                                                                 \
		offsetof(struct run_numbers, number), offsetof(struct run_numbers, text), \
			__VA_ARGS__                                                       \
	}
#define LEDGER_TEXT(number, text) RUN_TEXT(number, ledger.text, sizeof(((struct ledger *)0)->text))

const struct run_text run_texts[] = {RUN_TEXT(command, totals.command, 0),
				     RUN_TEXT(shown, totals.shown, 0),
				     RUN_TEXT(folder, totals.folder, 0),
				     RUN_TEXT(host, totals.host, 0),
				     RUN_TEXT(links, totals.links, 0),
				     RUN_TEXT(unreadable_path, unnamed.unreadable_path, 0),
				     RUN_TEXT(unread_path, unnamed.unread_path, 0),
				     LEDGER_TEXT(first_malformed, pipe.first_malformed),
				     LEDGER_TEXT(first_refused, pipe.first_refused),
				     LEDGER_TEXT(first_python, python.first_file)};
const uint32_t run_text_count = COUNT(run_texts);
