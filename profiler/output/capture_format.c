// SPDX-License-Identifier: MIT
#include "profiler/output/capture_format.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define COLUMN(type, member)                                                         \
	{                                                                            \
		offsetof(struct type, member), sizeof(((struct type *)0)->member), 0 \
	}
#define DELTA(type, member)                                                          \
	{                                                                            \
		offsetof(struct type, member), sizeof(((struct type *)0)->member), 1 \
	}

static const struct capture_column modules[] = {COLUMN(capture_module, path),
						COLUMN(capture_module, build_id)};
static const struct capture_column frames[] = {
	COLUMN(capture_frame, class), COLUMN(capture_frame, line),
	DELTA(capture_frame, name),   DELTA(capture_frame, short_name),
	COLUMN(capture_frame, file),  COLUMN(capture_frame, module),
	COLUMN(capture_frame, offset)};
static const struct capture_column stacks[] = {DELTA(stack_info, outer), DELTA(stack_info, frame)};
static const struct capture_column places[] = {COLUMN(place, part[0]), COLUMN(place, part[1]),
					       COLUMN(place, part[2]), COLUMN(place, part[3]),
					       COLUMN(place, part[4])};
static const struct capture_column processes[] = {
	COLUMN(capture_process, id), COLUMN(capture_process, pid), COLUMN(capture_process, name)};
static const struct capture_column threads[] = {
	COLUMN(capture_thread, process), COLUMN(capture_thread, tid), COLUMN(capture_thread, name)};
static const struct capture_column devices[] = {COLUMN(capture_device, process),
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
static const struct capture_column rows[] = {COLUMN(row, kind),  DELTA(row, stack),
					     COLUMN(row, place), COLUMN(row, count),
					     COLUMN(row, ns),    COLUMN(row, bytes)};
static const struct capture_column gpu_rows[] = {
	COLUMN(gpu_row, device),       COLUMN(gpu_row, work),      COLUMN(gpu_row, count),
	COLUMN(gpu_row, ns),           COLUMN(gpu_row, bytes),     COLUMN(gpu_row, unmatched),
	COLUMN(gpu_row, unmatched_ns), COLUMN(gpu_row, bad_times), COLUMN(gpu_row, staged),
	COLUMN(gpu_row, before),       COLUMN(gpu_row, before_ns), COLUMN(gpu_row, after),
	COLUMN(gpu_row, after_ns)};
static const struct capture_column shapes[] = {
	COLUMN(timeline_shape, grid[0]),       COLUMN(timeline_shape, grid[1]),
	COLUMN(timeline_shape, grid[2]),       COLUMN(timeline_shape, block[0]),
	COLUMN(timeline_shape, block[1]),      COLUMN(timeline_shape, block[2]),
	COLUMN(timeline_shape, static_shared), COLUMN(timeline_shape, dynamic_shared),
	COLUMN(timeline_shape, registers)};
static const struct capture_column records[] = {
	COLUMN(timeline_record, kind),        DELTA(timeline_record, start_ns),
	COLUMN(timeline_record, duration_ns), COLUMN(timeline_record, bytes),
	DELTA(timeline_record, graph_node),   COLUMN(timeline_record, place),
	DELTA(timeline_record, stack),        COLUMN(timeline_record, shape),
	DELTA(timeline_record, correlation),  COLUMN(timeline_record, work)};

static const struct capture_column api_calls[] = {
	COLUMN(capture_api_call, name),        COLUMN(capture_api_call, family),
	COLUMN(capture_api_call, kind),        COLUMN(capture_api_call, calls),
	COLUMN(capture_api_call, ns),          COLUMN(capture_api_call, bytes),
	COLUMN(capture_api_call, nested),      COLUMN(capture_api_call, nested_ns),
	COLUMN(capture_api_call, shortest_ns), COLUMN(capture_api_call, longest_ns)};
static const struct capture_column api_errors[] = {COLUMN(capture_api_error, call),
						   COLUMN(capture_api_error, code),
						   COLUMN(capture_api_error, count)};
static const struct capture_column api_buckets[] = {COLUMN(capture_api_bucket, call),
						    DELTA(capture_api_bucket, bucket),
						    COLUMN(capture_api_bucket, count)};

static const struct capture_column memory_totals[] = {
	COLUMN(memory_total, process),     COLUMN(memory_total, device),
	COLUMN(memory_total, kind),        COLUMN(memory_total, peak_bytes),
	COLUMN(memory_total, peak_ns),     COLUMN(memory_total, left_bytes),
	COLUMN(memory_total, left),        COLUMN(memory_total, allocated_bytes),
	COLUMN(memory_total, allocations), COLUMN(memory_total, frees),
	COLUMN(memory_total, ended),       COLUMN(memory_total, unknown)};
static const struct capture_column memory_rows[] = {DELTA(memory_row, stack),
						    COLUMN(memory_row, total),
						    COLUMN(memory_row, peak_bytes),
						    COLUMN(memory_row, at_peak),
						    COLUMN(memory_row, left_bytes),
						    COLUMN(memory_row, left),
						    COLUMN(memory_row, allocated_bytes),
						    COLUMN(memory_row, allocations)};

#define SMALL(type) _Static_assert(sizeof(struct type) <= CAPTURE_STRUCT_MAX, "fits into a block")
SMALL(capture_device);
SMALL(gpu_row);
SMALL(timeline_record);

#define TABLE(field, type, columns)              \
	[CAPTURE_##field - CAPTURE_FIRST_TABLE - \
		(CAPTURE_##field > CAPTURE_END)] = {columns, COUNT(columns), sizeof(struct type)}

const struct capture_table capture_tables[CAPTURE_TABLES] = {
	TABLE(MODULES, capture_module, modules),
	TABLE(FRAMES, capture_frame, frames),
	TABLE(STACKS, stack_info, stacks),
	TABLE(PLACES, place, places),
	TABLE(PROCESSES, capture_process, processes),
	TABLE(THREADS, capture_thread, threads),
	TABLE(DEVICES, capture_device, devices),
	TABLE(ROWS, row, rows),
	TABLE(GPU_ROWS, gpu_row, gpu_rows),
	TABLE(SHAPES, timeline_shape, shapes),
	TABLE(RECORDS, timeline_record, records),
	TABLE(API_CALLS, capture_api_call, api_calls),
	TABLE(API_ERRORS, capture_api_error, api_errors),
	TABLE(API_BUCKETS, capture_api_bucket, api_buckets),
	TABLE(MEMORY_TOTALS, memory_total, memory_totals),
	TABLE(MEMORY_ROWS, memory_row, memory_rows),
};

#define NUMBER(member)                                                \
	{                                                             \
		offsetof(struct capture_numbers, member),             \
			sizeof(((struct capture_numbers *)0)->member) \
	}

const struct capture_number capture_numbers[] = {
	NUMBER(totals.start_ns),
	NUMBER(totals.start_unix_ns),
	NUMBER(totals.elapsed_ns),
	NUMBER(totals.longest_round_ns),
	NUMBER(totals.command_cpu_ns),
	NUMBER(totals.own_cpu_ns),
	NUMBER(totals.own_memory_bytes),
	NUMBER(totals.sample_ns),
	NUMBER(totals.measure.samples_cpu),
	NUMBER(totals.measure.traces_gpu),
	NUMBER(totals.measure.frequency_hz),
	NUMBER(totals.measure.probes_launches),
	NUMBER(totals.measure.kernels_only),
	NUMBER(totals.measure.whole_graphs),
	NUMBER(totals.measure.python_lines),
	NUMBER(totals.measure.native_python),
	NUMBER(totals.measure.nvtx),
	NUMBER(totals.measure.waits),
	NUMBER(totals.measure.devices),
	NUMBER(ledger.cpu.samples),
	NUMBER(ledger.cpu.whole),
	NUMBER(ledger.cpu.dropped),
	NUMBER(ledger.cpu.in_calls),
	NUMBER(ledger.cpu.after_end),
	NUMBER(ledger.launches.kernels),
	NUMBER(ledger.launches.with_stack),
	NUMBER(ledger.launches.by_probe),
	NUMBER(ledger.launches.whole),
	NUMBER(ledger.launches.dropped),
	NUMBER(ledger.launches.unended),
	NUMBER(ledger.launches.probed_functions),
	NUMBER(ledger.gpu.kernels),
	NUMBER(ledger.gpu.kernel_ns),
	NUMBER(ledger.gpu.matched),
	NUMBER(ledger.gpu.unmatched),
	NUMBER(ledger.gpu.unmatched_ns),
	NUMBER(ledger.gpu.bad_times),
	NUMBER(ledger.gpu.unseen_nodes),
	NUMBER(ledger.gpu.dropped),
	NUMBER(ledger.gpu.missing),
	NUMBER(ledger.gpu.unknown_kinds),
	NUMBER(ledger.gpu.sums),
	NUMBER(ledger.gpu.equal),
	NUMBER(ledger.gpu.unreported),
	NUMBER(ledger.gpu.uncompared),
	NUMBER(ledger.gpu.difference_pid),
	NUMBER(ledger.gpu.difference.key.device),
	NUMBER(ledger.gpu.difference.key.context),
	NUMBER(ledger.gpu.difference.key.stream),
	NUMBER(ledger.gpu.difference.key.work),
	NUMBER(ledger.gpu.difference.count),
	NUMBER(ledger.gpu.difference.ns),
	NUMBER(ledger.gpu.difference.bytes),
	NUMBER(ledger.gpu.difference_here.key.device),
	NUMBER(ledger.gpu.difference_here.key.context),
	NUMBER(ledger.gpu.difference_here.key.stream),
	NUMBER(ledger.gpu.difference_here.key.work),
	NUMBER(ledger.gpu.difference_here.count),
	NUMBER(ledger.gpu.difference_here.ns),
	NUMBER(ledger.gpu.difference_here.bytes),
	NUMBER(ledger.pipe.lines),
	NUMBER(ledger.pipe.malformed),
	NUMBER(ledger.pipe.too_long),
	NUMBER(ledger.pipe.refused),
	NUMBER(ledger.pipe.left),
	NUMBER(ledger.pipe.lost_batches),
	NUMBER(ledger.pipe.processes),
	NUMBER(ledger.pipe.without_cupti),
	NUMBER(ledger.pipe.graph_time_bugs),
	NUMBER(ledger.pipe.without_goodbye),
	NUMBER(ledger.pipe.wrong_totals),
	NUMBER(ledger.pipe.foreign_versions),
	NUMBER(ledger.calls.waits),
	NUMBER(ledger.calls.wait_ns),
	NUMBER(ledger.calls.cut_waits),
	NUMBER(ledger.calls.timed),
	NUMBER(ledger.calls.timed_ns),
	NUMBER(ledger.calls.without_stack),
	NUMBER(ledger.calls.unfinished),
	NUMBER(ledger.calls.lost),
	NUMBER(ledger.calls.processes),
	NUMBER(ledger.processes.lost_records),
	NUMBER(ledger.processes.not_followed),
	NUMBER(ledger.processes.never_started),
	NUMBER(ledger.processes.untraced),
	NUMBER(ledger.bounds.stacks),
	NUMBER(ledger.bounds.refused),
	NUMBER(ledger.bounds.out_of_memory),
	NUMBER(ledger.bounds.truncated),
	NUMBER(ledger.measured.count),
	NUMBER(ledger.measured.ns),
	NUMBER(ledger.measured.bytes),
	NUMBER(ledger.reported.count),
	NUMBER(ledger.reported.ns),
	NUMBER(ledger.reported.bytes),
	NUMBER(ledger.timeline.records),
	NUMBER(ledger.timeline.lost),
	NUMBER(ledger.timeline.lost_shapes),
	NUMBER(ledger.timeline.error),
	NUMBER(unnamed.unreadable),
	NUMBER(unnamed.refused),
	NUMBER(unnamed.stuck),
	NUMBER(unnamed.mangled),
	NUMBER(unnamed.not_kept),
	NUMBER(command),
	NUMBER(shown),
	NUMBER(unreadable_path),
	NUMBER(first_malformed),
	NUMBER(first_refused),
	NUMBER(folder),
	NUMBER(totals.measure.device_graphs),
	NUMBER(ledger.launches.copies_unended),
	NUMBER(ledger.launches.graphs_unended),
	NUMBER(ledger.cost.program_ns),
	NUMBER(ledger.cost.kernel_ns),
	NUMBER(ledger.cost.pipe_bytes),
	NUMBER(totals.measure.max_overhead),
	NUMBER(ledger.launches.skipped),
	NUMBER(ledger.spread.operations),
	NUMBER(ledger.spread.ns),
	NUMBER(ledger.spread.borrowed_ns),
	NUMBER(ledger.spread.left),
	NUMBER(ledger.spread.left_ns),
	NUMBER(ledger.spread.error_ns),
	NUMBER(ledger.cpu.used_ns),
	NUMBER(ledger.cpu.not_sampled_ns),
	NUMBER(ledger.python.unordered),
	NUMBER(first_python),
	NUMBER(ledger.unwound.ends[UNWIND_WHOLE]),
	NUMBER(ledger.unwound.ends[UNWIND_GUESSED]),
	NUMBER(ledger.unwound.ends[UNWIND_TOO_DEEP]),
	NUMBER(ledger.unwound.ends[UNWIND_SHORT_COPY]),
	NUMBER(ledger.unwound.ends[UNWIND_NO_INFORMATION]),
	NUMBER(ledger.unwound.ends[UNWIND_BAD_INFORMATION]),
	NUMBER(ledger.unwound.ends[UNWIND_NOT_CODE]),
	NUMBER(ledger.unwound.ends[UNWIND_UNREADABLE]),
	NUMBER(ledger.unwound.ends[UNWIND_LOOP]),
	NUMBER(unnamed.not_asked),
	NUMBER(ledger.cpu.handed),
	NUMBER(ledger.cpu.apart),
	NUMBER(ledger.launches.handed),
	NUMBER(ledger.launches.apart),
	NUMBER(totals.measure.thread_origin),
	NUMBER(ledger.processes.lost_threads),
	NUMBER(totals.measure.unified_memory),
	NUMBER(ledger.gpu.unwatched),
	NUMBER(totals.measure.launch_shapes),
	NUMBER(totals.measure.api),
	NUMBER(totals.measure.memory),
	NUMBER(ledger.bounds.allocations),
	NUMBER(ledger.bounds.late_allocations),
};
const uint32_t capture_number_count = COUNT(capture_numbers);
