// SPDX-License-Identifier: MIT
#include "cupti_trace/launch/wait_log.h"

#include <string.h>
#include "cupti_trace/core/guest.h"
#include "cupti_trace/core/attach_epoch.h"
#include "cupti_trace/launch/launch_log.h"
#include "cupti_trace/launch/launch_stack.h"

/* The outermost call that the thread is in. */
static __thread struct {
	bool open;
	uint32_t epoch; /* epoch in which it was opened */
	uint32_t domain, cbid;
	uint64_t ran_ns; /* the thread's CPU time when the wait began; 0: unknown */
	struct gpu_event_wait wait;
} own;

/* Begins the wait now. */
static void begin(void)
{
	own.wait.start_ns = clock_now_ns();
	own.ran_ns = clock_own_cpu_ns();
}

static bool is_own(const struct wait_log_call *call)
{
	return own.open && own.epoch == attach_epoch_now() && own.domain == call->domain &&
	       own.cbid == call->cbid;
}

/*
 * Notes the stream that is waited for, as CUPTI numbers it. Handles up to 2 stand for default
 * streams: the legacy one also waits for earlier work on others.
 */
static void note_stream(const struct tracer *tracer, const struct wait_log_call *call)
{
	const struct cupti_abi_callback_data *data = call->data;
	void *stream;

	own.wait.has_stream = 0;
	own.wait.context_id = 0;
	own.wait.stream_id = 0;
	if (!call->is_stream || !data->function_params || !tracer->api.cuptiGetStreamIdEx)
		return;
	memcpy(&stream, data->function_params, sizeof(stream)); /* the only parameter */
	if ((uintptr_t)stream <= 2 ||
	    tracer->api.cuptiGetStreamIdEx(data->context, stream, 0, &own.wait.stream_id) !=
		    CUPTI_ABI_SUCCESS)
		return;
	own.wait.has_stream = 1;
	own.wait.context_id = data->context_uid;
}

void wait_log_enter(struct tracer *tracer, const struct wait_log_call *call, uint32_t stack)
{
	if (own.open && own.epoch == attach_epoch_now() && !is_own(call))
		return; /* part of the outer call */
	own.open = true;
	own.epoch = attach_epoch_now();
	own.domain = call->domain;
	own.cbid = call->cbid;
	own.wait.tid = launch_log_tid();
	own.wait.stack_id =
		stack ? stack
		      : launch_stack_capture(launch_stack_thread(), &tracer->sink, call->function,
					     __builtin_frame_address(0), 0);
	note_stream(tracer, call);
	begin();
}

void wait_log_context_created(void)
{
	if (own.open && own.epoch == attach_epoch_now())
		begin();
}

void wait_log_exit(struct tracer *tracer, const struct wait_log_call *call)
{
	struct gpu_event event = {.type = GPU_EVENT_WAIT};
	uint64_t ran_ns;
	struct guest guest;

	if (!is_own(call))
		return;
	own.open = false;
	ran_ns = clock_own_cpu_ns();
	event.wait = own.wait;
	event.wait.duration_ns = clock_now_ns() - own.wait.start_ns;
	if (own.ran_ns && ran_ns > own.ran_ns)
		event.wait.computed_ns = ran_ns - own.ran_ns;
	if (event.wait.computed_ns > event.wait.duration_ns) /* both clocks differ a little */
		event.wait.computed_ns = event.wait.duration_ns;
	event.wait.error = (uint32_t)cupti_abi_result(call->data);
	guest_enter_briefly(&guest);
	sink_put(&tracer->sink, &event);
	guest_leave(&guest);
}
