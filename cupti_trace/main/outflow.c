// SPDX-License-Identifier: MIT
#include "cupti_trace/main/outflow.h"

#include <inttypes.h>
#include "cupti_trace/core/guest.h"
#include "cupti_trace/core/output_path.h"
#include "cupti_trace/core/timeout.h"
#include "cupti_trace/hw/hw_counters.h"
#include "cupti_trace/hw/pc_sampling.h"
#include "cupti_trace/launch/call_probes.h"
#include "cupti_trace/launch/call_stats.h"
#include "cupti_trace/launch/launch_log.h"
#include "cupti_trace/launch/launch_stack.h"
#include "cupti_trace/launch/nvtx.h"
#include "cupti_trace/launch/torch_operators.h"
#include "cupti_trace/main/activity.h"
#include "cupti_trace/main/callback.h"
#include "cupti_trace/main/duty_cycle.h"
#include "cupti_trace/main/record_kinds.h"
#include "cupti_trace/main/trace.h"

static struct tracer *receiver; /* CUPTI's buffer hooks carry no context */

/* ---- CUPTI's buffers ---- */

static void on_buffer_requested(uint8_t **buffer, size_t *size, size_t *max_records)
{
	struct guest guest;

	guest_enter(&guest);
	*buffer = buffers_get(&receiver->buffers, clock_now_ns(), size);
	*max_records = 0; /* as many as fit */
	guest_leave(&guest);
}

/* Counts the records that CUPTI had no room for since the last call. */
static void count_dropped(struct tracer *tracer, void *context, uint32_t stream)
{
	struct gpu_event_drops drops = {0};
	size_t dropped = 0;

	if (tracer->api.cuptiActivityGetNumDroppedRecords(context, stream, &dropped) ==
	    CUPTI_ABI_SUCCESS)
		drops.kernels = dropped;
	if (drops.kernels)
		sink_count_drops(&tracer->sink, &drops);
}

static struct clock_map copy_clock(struct tracer *tracer)
{
	struct clock_map clock;

	pthread_mutex_lock(&tracer->clock_lock);
	clock = tracer->clock;
	pthread_mutex_unlock(&tracer->clock_lock);
	return clock;
}

void outflow_measure_clock(struct tracer *tracer)
{
	struct clock_point point;

	if (clock_measure(&tracer->api, &point) != 0)
		return;
	pthread_mutex_lock(&tracer->clock_lock);
	clock_map_add(&tracer->clock, &point);
	pthread_mutex_unlock(&tracer->clock_lock);
}

/*
 * Returns the start of recording: work that ended before has no place in the profile. CUPTI may
 * deliver records that it made for an earlier copy of the library.
 */
static uint64_t recorded_from(const struct tracer *tracer)
{
	uint64_t from = time_range_recorded_from(&tracer->time_range);

	return tracer_is_late(tracer) && from < tracer->began_ns ? tracer->began_ns : from;
}

/*
 * Returns whether only work that begins while this profiler records is sent. A process that
 * continues after the profiler may produce records faster than they can be sent. So there the rest
 * is only counted. Waits are an exception: the awaited work may begin early or late.
 */
static bool sends_epoch_alone(const struct tracer *tracer)
{
	return tracer_is_late(tracer) && !tracer->config.waits;
}

/* Sends all launches logged so far, then the records of a buffer that CUPTI has filled. */
static void send_buffer(struct tracer *tracer, uint8_t *buffer, size_t valid_size)
{
	struct clock_map clock = copy_clock(tracer);
	bool alone = sends_epoch_alone(tracer), saw_device = false;
	uint32_t records;

	if (clock_was_set(&tracer->api, &clock)) {
		outflow_measure_clock(tracer);
		clock = copy_clock(tracer);
	}
	pthread_mutex_lock(&tracer->record_lock);
	records = activity_send_buffer(
		&(struct activity_output){
			&clock, &tracer->api, &tracer->names, &tracer->tally, &tracer->sink,
			tracer->config.verbose, tracer->began_ns, clock_now_ns(), &saw_device,
			tracer->config.memory, tracer_reads_counters(tracer),
			atomic_load(&tracer->skips_unended), recorded_from(tracer),
			alone ? tracer->time_range.to_ns : 0, alone},
		buffer, valid_size);
	pthread_mutex_unlock(&tracer->record_lock);
	duty_cycle_count(records);
	if (saw_device)
		atomic_store(&tracer->devices, DEVICES_SETTLED);
}

void tracer_send_memory(struct tracer *tracer, const struct gpu_event_work *event,
			uint64_t timestamp)
{
	struct clock_map clock = copy_clock(tracer);

	pthread_mutex_lock(&tracer->record_lock);
	activity_send_memory(&(struct activity_output){.clock = &clock,
						       .tally = &tracer->tally,
						       .sink = &tracer->sink,
						       .began_ns = tracer->began_ns,
						       .now_ns = clock_now_ns()},
			     event, timestamp);
	pthread_mutex_unlock(&tracer->record_lock);
}

void tracer_send_context_end(struct tracer *tracer, void *context)
{
	struct clock_map clock = copy_clock(tracer);
	struct gpu_event event = {.type = GPU_EVENT_CONTEXT};
	uint64_t timestamp = 0;

	/* by the clock of the records of its memory */
	if (!tracer->api.cuptiGetContextId ||
	    tracer->api.cuptiGetContextId(context, &event.context.id) != CUPTI_ABI_SUCCESS ||
	    tracer->api.cuptiGetTimestamp(&timestamp) != CUPTI_ABI_SUCCESS)
		return;
	event.context.end_ns = clock_map_convert(&clock, timestamp, clock_now_ns());
	sink_put(&tracer->sink, &event);
}

static void on_buffer_completed(void *context, uint32_t stream, uint8_t *buffer, size_t size,
				size_t valid_size)
{
	struct tracer *tracer = receiver;
	struct guest guest;

	(void)size;
	guest_enter(&guest);
	if (!buffers_have(&tracer->buffers, buffer))
		valid_size = 0; /* an earlier copy's, with records for that one */
	if (valid_size > 0 && tracer_is_on(tracer))
		send_buffer(tracer, buffer, valid_size);
	buffers_put(&tracer->buffers, buffer);
	count_dropped(tracer, context, stream);
	if (valid_size > 0 && tracer_is_on(tracer) &&
	    (atomic_load(&tracer->phase) & ~TRACER_FLAGS) == TRACER_LEAVING)
		outflow_send_goodbye(tracer);
	guest_leave(&guest);
}

void tracer_flush(struct tracer *tracer, bool all)
{
	outflow_measure_clock(tracer);
	tracer->api.cuptiActivityFlushAll(all ? CUPTI_ABI_FLUSH_FORCED : 0);
	count_dropped(tracer, NULL, 0); /* records dropped after the last buffer */
	launch_log_drain(&tracer->sink);
	callback_send_voids(tracer);
	call_stats_send(&tracer->sink);
	counters_send(&tracer->sink);
	nvtx_count_missing(&tracer->sink);
	nvtx_send_others(&tracer->sink);
	torch_operators_tell(&tracer->sink);
	sink_flush(&tracer->sink);
}

int outflow_open(struct tracer *tracer)
{
	receiver = tracer;
	return tracer->api.cuptiActivityRegisterCallbacks(on_buffer_requested, on_buffer_completed);
}

void outflow_ask_for_devices(struct tracer *tracer, uint32_t flag)
{
	if (!tracer->api.cuptiActivityEnableAndDump ||
	    !tracer_moves(&tracer->devices, DEVICES_DUE, DEVICES_SETTLED))
		return;
	tracer->api.cuptiActivityEnableAndDump(CUPTI_ABI_ACTIVITY_KIND_DEVICE);
	tracer->api.cuptiActivityFlushAll(flag);
}

/* ---- the end ---- */

void outflow_turn_off(struct tracer *tracer)
{
	atomic_store(&tracer->phase, TRACER_OFF);
	if (tracer->config.stall_period)
		pc_sampling_end(tracer);
	call_probes_end(tracer, callback_follows);
	callback_unsubscribe(tracer);
	record_kinds_disable(tracer);
	torch_operators_stop();
}

void outflow_report_failure(struct tracer *tracer)
{
	int err = sink_file_error(&tracer->sink);

	if (err && tracer->config.verbose)
		output_path_complain(TRACE_ENV, tracer->sink.path, err);
}

static void tell_cost(struct tracer *tracer)
{
	uint64_t count = atomic_load(&tracer->captures);

	if (count > 0)
		tracer_notice(tracer, GPU_NOTICE_VERBOSE,
			      "%" PRIu64 " launch stacks took %" PRIu64 " ns each; %" PRIu64
			      " were walked",
			      count, atomic_load(&tracer->capture_ns) / count,
			      launch_stack_walks());
}

void outflow_send_goodbye(struct tracer *tracer)
{
	/* CUPTI's thread may still be at a buffer */
	bool locked = timeout_lock(&tracer->record_lock, TIMEOUT_MS);

	if (locked)
		activity_send_sums(&(struct activity_output){
			.names = &tracer->names, .tally = &tracer->tally, .sink = &tracer->sink});
	if (tracer->sink.is_file)
		trace_send_time(&tracer->sink);
	sink_goodbye(&tracer->sink);
	if (locked)
		pthread_mutex_unlock(&tracer->record_lock);
}

void outflow_send_rest(struct tracer *tracer)
{
	if (time_range_is_over(&tracer->time_range, clock_now_ns()))
		atomic_store(&tracer->skips_unended, true);
	if (tracer->config.stall_period)
		pc_sampling_end(tracer);
	tracer_flush(tracer, true);
	outflow_ask_for_devices(tracer, CUPTI_ABI_FLUSH_FORCED);
	tell_cost(tracer);
	/* later handlers, destructors and other threads may still use the GPU */
	atomic_store(&tracer->phase, TRACER_LEAVING | (atomic_load(&tracer->phase) & TRACER_FLAGS));
	launch_log_drain(&tracer->sink); /* launches by other threads meanwhile */
	callback_send_voids(tracer);
	call_stats_send(&tracer->sink);
	if (tracer_reads_counters(tracer))
		counters_context_ends(NULL);
	counters_send(&tracer->sink);
}

void tracer_send_late(struct tracer *tracer)
{
	struct guest guest;

	guest_enter(&guest);
	tracer_moves(&tracer->exit, EXIT_CALLED, EXIT_LATE_WORK);
	launch_log_drain(&tracer->sink);
	callback_send_voids(tracer);
	sink_flush(&tracer->sink);
	guest_leave(&guest);
}
