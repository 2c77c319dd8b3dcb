// SPDX-License-Identifier: MIT
#include "profiler/formats/capture_format.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define COLUMN(type, member) TABLE_COLUMN(type, member)
#define DELTA(type, member) TABLE_COLUMN(type, member, .is_delta = true)

static const struct table_column modules[] = {COLUMN(capture_module, path),
					      COLUMN(capture_module, build_id)};
static const struct table_column frames[] = {
	COLUMN(capture_frame, class),  COLUMN(capture_frame, line),
	DELTA(capture_frame, name),    DELTA(capture_frame, short_name),
	COLUMN(capture_frame, file),   COLUMN(capture_frame, module),
	COLUMN(capture_frame, offset), COLUMN(capture_frame, source)};
static const struct table_column stacks[] = {DELTA(stack_info, outer), DELTA(stack_info, frame)};
static const struct table_column places[] = {COLUMN(place, part[0]), COLUMN(place, part[1]),
					     COLUMN(place, part[2]), COLUMN(place, part[3]),
					     COLUMN(place, part[4])};
static const struct table_column processes[] = {
	COLUMN(capture_process, id),   COLUMN(capture_process, pid),
	COLUMN(capture_process, name), COLUMN(capture_process, has_rank),
	COLUMN(capture_process, rank), COLUMN(capture_process, has_twin)};
static const struct table_column ranks[] = {
	COLUMN(capture_rank, rank),          COLUMN(capture_rank, clock),
	COLUMN(capture_rank, host),          COLUMN(capture_rank, start_ns),
	COLUMN(capture_rank, elapsed_ns),    COLUMN(capture_rank, exit_status),
	COLUMN(capture_rank, size),          COLUMN(capture_rank, has_wall_clock),
	COLUMN(capture_rank, wall_error_ns), COLUMN(capture_rank, collectives),
	COLUMN(capture_rank, came_last),     COLUMN(capture_rank, alone),
	COLUMN(capture_rank, undecided),     COLUMN(capture_rank, reference),
	COLUMN(capture_rank, aligned_by),    COLUMN(capture_rank, error_ns),
	COLUMN(capture_rank, bound_ns),      COLUMN(capture_rank, moved_ns),
	COLUMN(capture_rank, drift)};
static const struct table_column threads[] = {
	COLUMN(capture_thread, process), COLUMN(capture_thread, tid), COLUMN(capture_thread, name)};
static const struct table_column devices[] = {COLUMN(capture_device, process),
					      COLUMN(capture_device, id),
					      COLUMN(capture_device, is_used),
					      COLUMN(capture_device, is_described),
					      COLUMN(capture_device, is_mig),
					      COLUMN(capture_device, is_mps),
					      COLUMN(capture_device, gpu_instance),
					      COLUMN(capture_device, compute_instance),
					      COLUMN(capture_device, name),
					      COLUMN(capture_device, uuid[0]),
					      COLUMN(capture_device, uuid[1]),
					      COLUMN(capture_device, limits.multiprocessors),
					      COLUMN(capture_device, limits.warps),
					      COLUMN(capture_device, limits.blocks),
					      COLUMN(capture_device, limits.registers),
					      COLUMN(capture_device, limits.shared_bytes),
					      COLUMN(capture_device, limits.major),
					      COLUMN(capture_device, limits.minor)};
static const struct table_column rows[] = {COLUMN(row, kind),  DELTA(row, stack),
					   COLUMN(row, place), COLUMN(row, count),
					   COLUMN(row, ns),    COLUMN(row, bytes)};
static const struct table_column gpu_rows[] = {
	COLUMN(capture_gpu_row, row.device),       COLUMN(capture_gpu_row, row.work),
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
static const struct table_column records[] = {
	COLUMN(timeline_record, kind),        DELTA(timeline_record, start_ns),
	COLUMN(timeline_record, duration_ns), COLUMN(timeline_record, bytes),
	DELTA(timeline_record, graph_node),   COLUMN(timeline_record, place),
	DELTA(timeline_record, stack),        COLUMN(timeline_record, shape),
	DELTA(timeline_record, correlation),  COLUMN(timeline_record, work),
	COLUMN(timeline_record, is_waited),   COLUMN(timeline_record, error)};

static const struct table_column api_calls[] = {
	COLUMN(capture_api_call, name),        COLUMN(capture_api_call, family),
	COLUMN(capture_api_call, kind),        COLUMN(capture_api_call, calls),
	COLUMN(capture_api_call, ns),          COLUMN(capture_api_call, bytes),
	COLUMN(capture_api_call, nested),      COLUMN(capture_api_call, nested_ns),
	COLUMN(capture_api_call, shortest_ns), COLUMN(capture_api_call, longest_ns)};
static const struct table_column api_errors[] = {COLUMN(capture_api_error, call),
						 COLUMN(capture_api_error, code),
						 COLUMN(capture_api_error, count)};
static const struct table_column api_buckets[] = {COLUMN(capture_api_bucket, call),
						  DELTA(capture_api_bucket, bucket),
						  COLUMN(capture_api_bucket, count)};

static const struct table_column counter_metrics[] = {COLUMN(capture_counter_metric, name),
						      COLUMN(capture_counter_metric, unit)};
static const struct table_column counter_rows[] = {
	DELTA(capture_counter_row, stack),  COLUMN(capture_counter_row, metric),
	COLUMN(capture_counter_row, count), COLUMN(capture_counter_row, sum),
	COLUMN(capture_counter_row, least), COLUMN(capture_counter_row, most)};
static const struct table_column counter_values[] = {
	COLUMN(capture_counter_value, process), DELTA(capture_counter_value, correlation),
	COLUMN(capture_counter_value, metric), COLUMN(capture_counter_value, value)};

#define SMALL(type) _Static_assert(sizeof(struct type) <= CAPTURE_STRUCT_MAX, "fits into a block")
SMALL(capture_device);
SMALL(capture_gpu_row);
SMALL(timeline_record);

#define TABLE(name, type, list) [CAPTURE_##name - CAPTURE_FIRST_TABLE] = {TABLE_KIND(type, list)}

static const struct table_kind kinds[] = {
	TABLE(MODULES, capture_module, modules),
	TABLE(FRAMES, capture_frame, frames),
	TABLE(STACKS, stack_info, stacks),
	TABLE(PLACES, place, places),
	TABLE(PROCESSES, capture_process, processes),
	TABLE(THREADS, capture_thread, threads),
	TABLE(DEVICES, capture_device, devices),
	TABLE(ROWS, row, rows),
	TABLE(GPU_ROWS, capture_gpu_row, gpu_rows),
	TABLE(SHAPES, timeline_shape, shapes),
	TABLE(RECORDS, timeline_record, records),
	TABLE(API_CALLS, capture_api_call, api_calls),
	TABLE(API_ERRORS, capture_api_error, api_errors),
	TABLE(API_BUCKETS, capture_api_bucket, api_buckets),
	TABLE(COUNTER_METRICS, capture_counter_metric, counter_metrics),
	TABLE(COUNTER_ROWS, capture_counter_row, counter_rows),
	TABLE(RANKS, capture_rank, ranks),
	TABLE(COUNTER_VALUES, capture_counter_value, counter_values),
};

const struct table_kind *capture_table(uint32_t field)
{
	const struct table_kind *kind = table_kind_of_field(field);

	if (kind || field < CAPTURE_FIRST_TABLE || field - CAPTURE_FIRST_TABLE >= COUNT(kinds))
		return kind;
	kind = &kinds[field - CAPTURE_FIRST_TABLE];
	return kind->columns ? kind : NULL;
}
