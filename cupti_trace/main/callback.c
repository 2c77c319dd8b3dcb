// SPDX-License-Identifier: MIT
#include "cupti_trace/main/callback.h"

#include <string.h>
#include "cupti_trace/core/hot_path.h"
#include "cupti_trace/core/guest.h"
#include "cupti_trace/core/overhead.h"
#include "cupti_trace/core/attach_epoch.h"
#include "cupti_trace/hw/hw_counters.h"
#include "cupti_trace/launch/call_probes.h"
#include "cupti_trace/launch/call_stats.h"
#include "cupti_trace/launch/graph_bodies.h"
#include "cupti_trace/launch/launch_log.h"
#include "cupti_trace/launch/launch_stack.h"
#include "cupti_trace/launch/probes.h"
#include "cupti_trace/launch/recorded_range.h"
#include "cupti_trace/launch/stack_sampling.h"
#include "cupti_trace/launch/wait_log.h"
#include "cupti_trace/main/duty_cycle.h"
#include "cupti_trace/main/followed_functions.h"
#include "cupti_trace/main/resources.h"
#include "cupti_trace/main/sync_flush.h"
#include "cupti_trace/memory/followed_memory.h"
#include "cupti_trace/memory/graph_memory.h"
#include "cupti_trace/memory/virtual_memory.h"
#include "symbolize/util/hash.h"

/*
 * Keeps code apart that not all callbacks of a launch need: the others need not save registers for
 * it.
 */
#define NOT_ALWAYS HOT_PATH __attribute__((noinline))

/* A function of the runtime or the driver: in one register. */
struct api_id {
	uint32_t domain, cbid;
};

/*
 * State of the calling thread. One variable: its address is found once a callback. Aligned: all
 * that the library keeps of a thread is on four cache lines, wherever the loader puts it.
 */
static __thread struct own {
	/* the outermost subscribed function that it is in */
	const char *function; /* NULL: none */
	struct api_id id;
	/* the launch that was logged last */
	uint32_t launch_domain, correlation_id;
	uint32_t epoch;          /* its epoch */
	uint32_t until_measured; /* launches until the next measured one */
	/* the thread's state in other modules; NULL: it has launched nothing */
	struct launch_stack_thread *stacks;
	const struct launch_log_thread *log;
	bool is_kernel;
	bool is_in_launch; /* it has not returned */
	bool has_record;   /* it has a record, but is no kernel */
	bool made_node;    /* a node of a graph */
	bool ends_alone;   /* as in struct function, and no node was made */
	uint32_t measured; /* number of measured launches */
	uint32_t awaited;  /* correlation id of the launch that was marked as waited for last */
} own __attribute__((aligned(64)));

/*
 * Distance of `own` from the thread pointer (%fs:0, x86-64 ABI), in each thread; 0: unknown. If
 * there is room, the loader keeps a library's variables in each thread's static block, at one
 * distance. Only there are they between a thread's stack and its thread pointer. Otherwise, and
 * until that is known, each search calls the loader.
 */
static _Atomic ptrdiff_t own_distance HOT_PATH_DATA;

static inline char *thread_pointer(void)
{
	char *pointer;

	__asm__("mov %%fs:0, %0" : "=r"(pointer));
	return pointer;
}

void callback_find_own(void)
{
	ptrdiff_t distance = (char *)&own - thread_pointer();
	ptrdiff_t stack = (char *)__builtin_frame_address(0) - thread_pointer();

	if (distance < 0 && distance > stack)
		atomic_store(&own_distance, distance);
}

static HOT_PATH_INLINE struct own *own_of_thread(void)
{
	ptrdiff_t distance = atomic_load_explicit(&own_distance, memory_order_relaxed);

	return likely(distance) ? (struct own *)(void *)(thread_pointer() + distance)
				: OF_THREAD(own);
}

#define ROOM_TIMEOUT_MS 250

/*
 * Waits a little: too many buffers are filled, so the profiler is behind. The launching thread
 * holds no lock of CUPTI here, and no records are lost. It waits longer only while the sink, which
 * has a limit of its own, waits too. If no buffer comes back meanwhile, the GPU itself may wait for
 * this thread.
 */
static SELDOM void wait_for_buffers(struct tracer *tracer)
{
	bool returned = true, has_room = false;
	struct guest guest;

	if (sink_is_stalled(&tracer->sink))
		return;
	guest_enter(&guest);
	do
		has_room = buffers_wait(&tracer->buffers, ROOM_TIMEOUT_MS, &returned);
	while (!has_room && sink_waits(&tracer->sink) && !sink_is_stalled(&tracer->sink));
	if (!has_room && !returned && !sink_is_stalled(&tracer->sink))
		buffers_give_up_waiting(&tracer->buffers);
	guest_leave(&guest);
}

/*
 * A call of a launch function. Functions that are not inlined take it by value: so it is in memory
 * only if one of them is called. For that it also has no padding.
 */
struct launch {
	const struct function *called;
	const char *function; /* its name */
	const struct cupti_abi_callback_data *data;
	const void *frame; /* the callback's */
	const struct own *me;
	uint32_t domain;
	uint32_t has_record; /* 1: it has a record, but is no kernel; otherwise 0 */
};
_Static_assert(sizeof(struct launch) == 5 * sizeof(void *) + 2 * sizeof(uint32_t), "no padding");

static inline uint32_t take(struct tracer *tracer, const struct launch *launch)
{
	return launch_stack_capture(launch->me->stacks, &tracer->sink, launch->function,
				    launch->frame, launch->data->context_uid);
}

/* Captures a stack and measures the time. */
static SELDOM uint32_t capture_timed(struct tracer *tracer, struct launch launch)
{
	uint64_t start = clock_now_ns();
	uint32_t id = take(tracer, &launch);

	atomic_fetch_add(&tracer->captures, 1);
	atomic_fetch_add(&tracer->capture_ns, clock_now_ns() - start);
	return id;
}

/*
 * Returns a number for the launched object: a kernel, a graph, or copies of one kind by one
 * function.
 */
static uint64_t number_of(const struct launch *launch)
{
	const struct function *f = launch->called;
	const uint8_t *params = launch->data->function_params;
	uint64_t what = 0;

	if (params && f->role < FUNCTION_OTHER)
		memcpy(&what, params + f->kernel_at, sizeof(what));
	else if (params && f->kind_at)
		memcpy(&what, params + f->kind_at, sizeof(int32_t));
	return hash_step(hash_seed.first, what, (uint64_t)(uintptr_t)launch->function);
}

/*
 * Captures a stack if needed. A call that waits for the GPU is in no hurry, and its wait needs the
 * stack. Memory is followed by the stack of its allocation.
 */
static __attribute__((noinline)) uint32_t capture_limited(struct tracer *tracer,
							  struct launch launch)
{
	uint32_t stands_for = 1, id;
	bool is_timed = false;
	uint64_t start;

	if (!launch.called->waits && !launch.called->allocates)
		stands_for = stack_sampling_choose(number_of(&launch), &is_timed);
	if (stands_for == 0)
		return LAUNCH_LOG_SKIPPED;
	if (stands_for > 1)
		launch_log_weigh(&tracer->sink, launch.data->correlation_id, stands_for);
	if (!is_timed)
		return take(tracer, &launch);
	start = clock_now_ns();
	id = take(tracer, &launch);
	stack_sampling_spent(clock_now_ns() - start);
	return id;
}

static inline uint32_t capture(struct tracer *tracer, const struct launch *launch)
{
	if (likely(!tracer_minds_stacks(tracer)))
		return take(tracer, launch);
	return tracer->config.max_overhead ? capture_limited(tracer, *launch)
					   : capture_timed(tracer, *launch);
}

/* Returns the id of the launch's stack, 0 if it was not taken. */
static inline __attribute__((always_inline)) uint32_t
on_launch(struct tracer *tracer, struct own *me, const struct launch *launch)
{
	uint32_t stack = 0;

	if (buffers_are_short(&tracer->buffers))
		wait_for_buffers(tracer);
	/* only kernel launches have probes that could take the stack instead */
	if (likely(tracer->config.stacks || launch->called->role >= FUNCTION_OTHER))
		stack = capture(tracer, launch);
	launch_log_add(
		me->log, &tracer->sink,
		(struct launch_log_launch){
			.correlation_id = launch->data->correlation_id,
			.family = launch->domain == RT ? GPU_LAUNCH_RUNTIME : GPU_LAUNCH_DRIVER,
			.flags = launch->called->flags |
				 (launch->has_record ? GPU_LAUNCH_HAS_RECORD : 0),
			.stack_id = stack,
		});
	me->until_measured--;
	me->is_kernel = launch->called->role <= FUNCTION_KERNEL;
	me->is_in_launch = true;
	me->has_record = launch->has_record || launch->called->role == FUNCTION_GRAPH;
	me->made_node = false;
	me->ends_alone = launch->called->ends_alone;
	me->launch_domain = launch->domain;
	me->correlation_id = launch->data->correlation_id;
	me->epoch = attach_epoch_now();
	return stack;
}

/* Handles a measured launch, or the thread's first one. */
static SELDOM uint32_t on_measured_launch(struct tracer *tracer, struct own *me,
					  struct launch launch)
{
	struct overhead_mark mark;
	uint32_t stack, stands_for;

	if (!me->stacks) {
		me->stacks = launch_stack_thread();
		me->log = launch_log_thread();
		me->until_measured = overhead_first(launch_log_tid());
		if (me->until_measured > 0)
			return on_launch(tracer, me, &launch);
	}
	me->until_measured = stands_for = overhead_next(me->measured++);
	mark = overhead_begin();
	stack = on_launch(tracer, me, &launch);
	overhead_end_launch(&mark, stands_for);
	return stack;
}

/*
 * Returns whether a call is part of the last launch: a runtime call makes the driver's, with its
 * id. A later call with that id is another launch, in a thread whose ids CUPTI confuses.
 */
static inline bool is_nested(const struct own *me, uint32_t domain,
			     const struct cupti_abi_callback_data *data)
{
	if (likely(!me->is_in_launch))
		return false;
	return domain == DRV && me->correlation_id == data->correlation_id &&
	       me->epoch == attach_epoch_now();
}

/* Sends that a launch has no record; after the launch itself. */
static SELDOM void send_void(struct tracer *tracer, uint32_t correlation_id)
{
	const struct gpu_event event = {.type = GPU_EVENT_VOID,
					.voids = {.correlation_id = correlation_id}};
	struct guest guest;

	guest_enter(&guest);
	launch_log_drain(&tracer->sink);
	sink_put(&tracer->sink, &event);
	guest_leave(&guest);
}

/*
 * Returns whether a launch that has returned started no kernel: it failed, or a stream is captured,
 * where it makes a node of a graph instead. Every other launch must have a record.
 */
static bool started_nothing(const struct own *me, const struct cupti_abi_callback_data *data)
{
	return me->made_node || cupti_abi_result(data) != 0;
}

static void on_launched(struct tracer *tracer, const struct own *me,
			const struct cupti_abi_callback_data *data, uint64_t now_ns)
{
	if (tracer->config.timeline)
		launch_log_end(&tracer->sink, data->correlation_id, now_ns,
			       (uint32_t)cupti_abi_result(data));
	if (!started_nothing(me, data))
		return;
	if (me->is_kernel)
		atomic_fetch_add(&tracer->void_launches, 1);
	else if (me->has_record)
		send_void(tracer, data->correlation_id);
}

void callback_send_voids(struct tracer *tracer)
{
	struct gpu_event event = {
		.type = GPU_EVENT_VOID,
		.voids = {.launches = atomic_exchange(&tracer->void_launches, 0)},
	};

	if (event.voids.launches)
		sink_put(&tracer->sink, &event);
}

static SELDOM void on_wait_exit(struct tracer *tracer, struct api_id id,
				const struct cupti_abi_callback_data *data)
{
	wait_log_exit(tracer,
		      &(struct wait_log_call){.domain = id.domain, .cbid = id.cbid, .data = data});
}

/* Sends the work that the outermost call has waited for. */
static SELDOM void send_finished(struct tracer *tracer)
{
	struct guest guest;

	if (atomic_load(&tracer->phase) != TRACER_ON)
		return;
	guest_enter(&guest);
	sync_flush(tracer);
	guest_leave(&guest);
}

/* Does the rest of an exit: nothing for most calls. */
static NOT_ALWAYS void finish(struct tracer *tracer, const struct function *f, struct own *me,
			      struct api_id id, const struct cupti_abi_callback_data *data,
			      bool ends_launch)
{
	uint64_t now = ends_launch && tracer->config.timeline ? clock_now_ns() : 0;

	if (f->role == FUNCTION_STARTS_RANGE)
		recorded_range_set_cuda(true);
	if (f->waits)
		on_wait_exit(tracer, id, data);
	if (f->role == FUNCTION_NODES)
		graph_bodies_call_ends();
	if (ends_launch)
		on_launched(tracer, me, data, now);
	if (f->flushes && !me->function && cupti_abi_result(data) == 0)
		send_finished(tracer);
}

/* Returns whether this is the call whose launch was logged last. */
static HOT_PATH_INLINE bool has_launched(const struct own *me, struct api_id id,
					 const struct cupti_abi_callback_data *data)
{
	return me->launch_domain == id.domain && me->correlation_id == data->correlation_id;
}

/* Returns whether this is the outermost call. */
static HOT_PATH_INLINE bool is_outermost(const struct own *me, struct api_id id)
{
	return me->id.domain == id.domain && me->id.cbid == id.cbid;
}

static inline void on_exit_of(struct tracer *tracer, const struct function *f, struct own *me,
			      struct api_id id, const struct cupti_abi_callback_data *data)
{
	bool ends_launch = me->is_in_launch && has_launched(me, id, data);

	if (likely(ends_launch))
		me->is_in_launch = me->ends_alone = false;
	if (likely(is_outermost(me, id)))
		me->function = NULL;
	if (unlikely(!f->is_plain || f->role == FUNCTION_NODES ||
		     (ends_launch && (tracer->config.timeline || started_nothing(me, data)))))
		finish(tracer, f, me, id, data, ends_launch);
}

/* Reports an unknown function once: it may launch work in an unknown way. */
static SELDOM void report_unknown(struct tracer *tracer, struct function *f, const char *name)
{
	struct guest guest;

	if (__atomic_exchange_n(&f->role, FUNCTION_OTHER, __ATOMIC_RELAXED) != FUNCTION_NEW)
		return;
	guest_enter(&guest);
	tracer_notice(tracer, GPU_NOTICE_NEW_FUNCTION, "%s", name);
	guest_leave(&guest);
}

static SELDOM void on_wait_entry(struct tracer *tracer, const struct function *f,
				 struct wait_log_call call, uint32_t stack)
{
	call.is_stream = f->is_stream;
	wait_log_enter(tracer, &call, stack);
}

/* Marks the last launch as waited for: the thread waits for it, or for later work. */
static SELDOM void on_waited(struct tracer *tracer, struct own *me)
{
	launch_log_waited(&tracer->sink, me->correlation_id);
	me->awaited = me->correlation_id; /* once */
}

/* Does what an entry needs besides a launch: nothing for most functions. */
static SELDOM void do_more(struct tracer *tracer, struct function *f, struct own *me,
			   const char *function, const struct cupti_abi_callback_data *data)
{
	if (f->flushes && me->awaited != me->correlation_id && tracer->config.waited)
		on_waited(tracer, me);
	if (f->role == FUNCTION_NEW)
		report_unknown(tracer, f, function);
	if (f->runs_graph && atomic_load(&tracer->has_conditionals))
		resources_graph_launched(tracer, data);
}

/* Notes the function that the thread is in, unless it is in an outer one. */
static HOT_PATH_INLINE void note_function(struct own *me, const char *function, struct api_id id)
{
	if (unlikely(me->function))
		return;
	me->function = function;
	me->id = id;
}

/* Returns the id of the launch's stack, 0 if there is none. */
static uint32_t on_entry(struct tracer *tracer, struct function *f, struct own *me,
			 struct api_id id, const struct cupti_abi_callback_data *data,
			 const void *frame, bool nested)
{
	const char *function = function_name(f, data);

	if (unlikely(f->does_more))
		do_more(tracer, f, me, function, data);
	if (f->role >= FUNCTION_NODES)
		note_function(me, function, id);
	if (unlikely(f->role < FUNCTION_USUAL || nested))
		return 0;
	const struct launch launch = {
		.domain = id.domain,
		.called = f,
		.function = function,
		.data = data,
		.has_record =
			unlikely(f->size_at) && tracer->records_copies &&
			api_function_has_record(f->size_at, f->kind_at, data->function_params),
		.frame = frame,
		.me = me,
	};
	return likely(me->until_measured > 0) ? on_launch(tracer, me, &launch)
					      : on_measured_launch(tracer, me, launch);
}

/*
 * Handles the entry of a function that waits. Separate, so that other calls need not save all this.
 */
static SELDOM void on_entry_that_waits(struct tracer *tracer, struct function *f, struct own *me,
				       struct api_id id, const struct cupti_abi_callback_data *data,
				       const void *frame, bool nested)
{
	uint32_t stack = on_entry(tracer, f, me, id, data, frame, nested);

	on_wait_entry(tracer, f,
		      (struct wait_log_call){.domain = id.domain,
					     .cbid = id.cbid,
					     .data = data,
					     .function = function_name(f, data)},
		      stack);
}

static SELDOM void on_special(struct tracer *tracer, const struct function *f)
{
	struct guest guest;

	if (f->role == FUNCTION_ENDS_RANGE)
		recorded_range_set_cuda(false);
	if (f->role != FUNCTION_RESETS)
		return;
	guest_enter(&guest);
	tracer_flush(tracer, false);
	guest_leave(&guest);
}

/* Begins a call that is no usual launch, is within another call, or is not followed. */
static NOT_ALWAYS void begin_other_call(struct tracer *tracer, struct function *f, struct own *me,
					struct api_id id,
					const struct cupti_abi_callback_data *data,
					const void *frame)
{
	bool nested = is_nested(me, id.domain, data);

	/* its launch is logged, or its node is made, in the outer call */
	if (unlikely(nested) && f->is_plain)
		return;
	if (unlikely(f->role <= FUNCTION_ENDS_RANGE))
		on_special(tracer, f);
	else if (unlikely(f->waits))
		on_entry_that_waits(tracer, f, me, id, data, frame, nested);
	else
		on_entry(tracer, f, me, id, data, frame, nested);
}

static NOT_ALWAYS void begin_call(struct tracer *tracer, uint32_t domain, uint32_t cbid,
				  const struct cupti_abi_callback_data *data)
{
	const void *frame = __builtin_frame_address(0);
	struct api_id id = {domain, cbid};
	struct function *f;
	struct own *me;

	if (unlikely(cbid >= CBIDS))
		return;
	f = function_of(domain, cbid);
	me = own_of_thread();
	if (likely(f->role == FUNCTION_USUAL && !me->is_in_launch && me->until_measured > 0)) {
		const struct launch launch = {.domain = domain,
					      .called = f,
					      .function = f->name,
					      .data = data,
					      .frame = frame,
					      .me = me};

		note_function(me, f->name, id);
		on_launch(tracer, me, &launch);
	} else {
		begin_other_call(tracer, f, me, id, data, frame);
	}
	__asm__ volatile(""); /* the frame stays until the stack was walked */
}

/* Returns whether this is the end of an ordinary launch. */
static HOT_PATH_INLINE bool is_end_of_launch(const struct own *me, struct api_id id,
					     const struct cupti_abi_callback_data *data)
{
	return me->ends_alone && has_launched(me, id, data) && is_outermost(me, id) &&
	       cupti_abi_result(data) == 0;
}

static NOT_ALWAYS void end_other_call(struct tracer *tracer, struct own *me, struct api_id id,
				      const struct cupti_abi_callback_data *data)
{
	const struct function *f = followed_function(id.domain, id.cbid);

	if (likely(f))
		on_exit_of(tracer, f, me, id, data);
}

static NOT_ALWAYS void end_call(struct tracer *tracer, uint32_t domain, uint32_t cbid,
				const struct cupti_abi_callback_data *data)
{
	struct own *me = own_of_thread();

	if (unlikely(!is_end_of_launch(me, (struct api_id){domain, cbid}, data))) {
		end_other_call(tracer, me, (struct api_id){domain, cbid}, data);
		return;
	}
	me->is_in_launch = me->ends_alone = false;
	me->function = NULL;
}

/*
 * Handles calls outside the recorded range. Returns whether the call is followed anyway. Calls that
 * began before are ended, and with --alloc allocations need their callers. For other calls only the
 * function is noted, which may make nodes of a graph.
 */
static SELDOM bool follows_idle(uint32_t domain, uint32_t cbid,
				const struct cupti_abi_callback_data *data)
{
	const struct function *f = followed_function(domain, cbid);
	struct own *me;

	if (!f)
		return false;
	me = own_of_thread();
	if (data->callback_site != CUPTI_ABI_API_ENTER || f->allocates)
		return true;
	if (f->role >= FUNCTION_NODES)
		note_function(me, function_name(f, data), (struct api_id){domain, cbid});
	return false;
}

static SELDOM void on_resource(struct tracer *tracer, uint32_t cbid,
			       const struct cupti_abi_resource_data *data)
{
	struct guest guest;

	guest_enter(&guest);
	if (cbid == CUPTI_ABI_RESOURCE_GRAPHNODE_CREATED) {
		own.made_node = true;
		own.ends_alone = false;
		/* a call that is captured allocates nothing, whatever CUPTI records */
		if (own.is_in_launch && tracer->config.memory)
			followed_memory_note(own.correlation_id);
		resources_node_created(tracer, data->descriptor, own.function ? own.function : "",
				       __builtin_frame_address(0));
	} else {
		resources_on_callback(tracer, cbid, data);
	}
	guest_leave(&guest);
}

/* Handles a call. The last step is a tail call, and saves registers only if needed. */
static HOT_PATH_INLINE void on_call(struct tracer *tracer, uint32_t domain, uint32_t cbid,
				    const void *cbdata)
{
	const struct cupti_abi_callback_data *data = cbdata;

	if (unlikely(domain == CUPTI_ABI_DOMAIN_RESOURCE))
		on_resource(tracer, cbid, cbdata);
	else if (data->callback_site == CUPTI_ABI_API_ENTER)
		begin_call(tracer, domain, cbid, data);
	else
		end_call(tracer, domain, cbid, data);
}

/* Handles a call under a budget: of the calls that launch, those in a window. */
static SELDOM void on_call_in_window(struct tracer *tracer, int phase, uint32_t domain,
				     uint32_t cbid, const struct cupti_abi_callback_data *data)
{
	const struct function *f = followed_function(domain, cbid);
	bool launches =
		f && f->role >= FUNCTION_USUAL && data->callback_site == CUPTI_ABI_API_ENTER;
	const struct own *me = own_of_thread();
	bool was_in_launch = me->is_in_launch, is_taken;

	is_taken = launches && !(phase & TRACER_IDLE) && duty_cycle_takes_launch();
	if (is_taken && f->role == FUNCTION_GRAPH)
		duty_cycle_launches_graph(data->correlation_id);
	if (is_taken || (!launches && !(phase & TRACER_IDLE)) || follows_idle(domain, cbid, data))
		on_call(tracer, domain, cbid, data);
	if (is_taken ? was_in_launch || !me->is_in_launch : was_in_launch && !me->is_in_launch)
		duty_cycle_launch_ends();
}

/* Handles a call in any phase but TRACER_ON. */
static NOT_ALWAYS void on_call_in(struct tracer *tracer, int phase, uint32_t domain, uint32_t cbid,
				  const void *cbdata, const void *frame)
{
	if (phase & TRACER_PROBES_CALLS) {
		if (domain != CUPTI_ABI_DOMAIN_RESOURCE)
			call_probes_on_call(tracer, domain, cbid, cbdata, frame);
	} else if (phase == TRACER_OFF) {
		return;
	}
	if (phase & TRACER_IN_WINDOWS && domain != CUPTI_ABI_DOMAIN_RESOURCE)
		on_call_in_window(tracer, phase, domain, cbid, cbdata);
	else if (!(phase & TRACER_IDLE) || domain == CUPTI_ABI_DOMAIN_RESOURCE ||
		 follows_idle(domain, cbid, cbdata))
		on_call(tracer, domain, cbid, cbdata);
	if ((phase & ~TRACER_FLAGS) == TRACER_LEAVING)
		tracer_send_late(tracer);
}

static HOT_PATH void on_callback(void *userdata, uint32_t domain, uint32_t cbid, const void *cbdata)
{
	struct tracer *tracer = userdata;
	int phase = atomic_load_explicit(&tracer->phase, memory_order_relaxed);

	if (likely(phase == TRACER_ON)) {
		on_call(tracer, domain, cbid, cbdata);
		return;
	}
	on_call_in(tracer, phase, domain, cbid, cbdata, __builtin_frame_address(0));
	__asm__ volatile(""); /* the frame stays until the stack was walked */
}

static void follow_memory_entry(struct tracer *tracer, uint32_t domain, uint32_t cbid,
				const struct cupti_abi_callback_data *data)
{
	if (domain == DRV)
		virtual_memory_enter(tracer, cbid, data);
	graph_memory_enter(domain, cbid, data);
}

static void follow_memory_exit(struct tracer *tracer, uint32_t domain, uint32_t cbid,
			       const struct cupti_abi_callback_data *data)
{
	if (domain == DRV)
		virtual_memory_exit(tracer, cbid, data);
	graph_memory_exit(tracer, domain, cbid, data);
}

/*
 * Handles a callback in a program whose calls, memory or counters are followed (--api, --alloc,
 * --counters).
 */
static void on_followed_callback(void *userdata, uint32_t domain, uint32_t cbid, const void *cbdata)
{
	struct tracer *tracer = userdata;
	const struct cupti_abi_callback_data *data = cbdata;
	bool is_api = (domain == RT || domain == DRV) &&
		      atomic_load_explicit(&tracer->phase, memory_order_relaxed) != TRACER_OFF;
	bool is_entry = is_api && data->callback_site == CUPTI_ABI_API_ENTER;
	bool is_exit = is_api && !is_entry;

	if (graph_memory_asks())
		return; /* the library's own call */
	if (is_exit && tracer_reads_counters(tracer))
		counters_exit(tracer, domain, cbid, data);
	if (is_exit && tracer->config.api)
		call_stats_exit(domain, cbid, data);
	on_callback(userdata, domain, cbid, cbdata);
	if (is_entry && tracer->config.memory)
		follow_memory_entry(tracer, domain, cbid, data);
	if (is_exit && tracer->config.memory)
		follow_memory_exit(tracer, domain, cbid, data);
	if (!is_entry || !tracer_records_now(tracer))
		return;
	if (tracer->config.api)
		call_stats_enter(domain, cbid, data);
	if (tracer_reads_counters(tracer))
		counters_enter(tracer, domain, cbid, data);
}

/* Subscribes to all functions that have a name. */
static void follow_functions(struct tracer *tracer)
{
	for (uint32_t i = 2; i < 2 * CBIDS; i++) {
		uint32_t cbid = i / 2, domain = i % 2 ? DRV : RT;
		const char *name = cupti_api_function(&tracer->api, domain, cbid);

		if (!name)
			continue;
		if (tracer->config.api)
			call_stats_add_function(domain, cbid, name);
		if (tracer_reads_counters(tracer))
			counters_add_function(domain, cbid, name);
		if (domain == DRV)
			virtual_memory_add_function(cbid, name);
		graph_memory_add_function(domain, cbid, name);
	}
}

bool callback_follows(uint32_t domain, uint32_t cbid)
{
	return followed_functions.follows_all ||
	       function_of(domain, cbid)->role != FUNCTION_IGNORED ||
	       counters_follows(domain, cbid);
}

static void enable_all(struct tracer *tracer, uint32_t enable)
{
	const struct cupti_api *api = &tracer->api;
	cupti_abi_subscriber subscriber = tracer->subscriber;

	/* a CUPTI refuses unknown functions one by one, which affects nothing else */
	for (uint32_t i = 0; i < 2 * CBIDS; i++)
		if (callback_follows(i % 2 ? DRV : RT, i / 2))
			api->cuptiEnableCallback(enable, subscriber, i % 2 ? DRV : RT, i / 2);
	resources_enable(tracer, enable);
}

void callback_switch_launches(struct tracer *tracer, bool on)
{
	for (uint32_t cbid = 1; cbid < CBIDS; cbid++)
		if (function_of(DRV, cbid)->role >= FUNCTION_USUAL)
			tracer->api.cuptiEnableCallback(on, tracer->subscriber, DRV, cbid);
}

int callback_subscribe(struct tracer *tracer)
{
	bool follows = tracer->config.api || tracer->config.memory || tracer_reads_counters(tracer);
	int result = tracer->api.cuptiSubscribe(
		&tracer->subscriber, follows ? on_followed_callback : on_callback, tracer);

	if (result != CUPTI_ABI_SUCCESS) {
		tracer->subscriber = NULL;
		return result;
	}
	followed_functions_index(tracer);
	if (follows)
		follow_functions(tracer);
	enable_all(tracer, 1);
	return CUPTI_ABI_SUCCESS;
}

void callback_serve(struct tracer *tracer, uint32_t on)
{
	call_probes_enable(tracer, on, callback_follows);
	if ((on & PROBES_OF_CALLS) || tracer->config.errors)
		atomic_fetch_or(&tracer->phase, TRACER_PROBES_CALLS);
	else
		atomic_fetch_and(&tracer->phase, ~TRACER_PROBES_CALLS);
	tracer->probes = on;
}

const char *callback_other_subscriber(struct tracer *tracer)
{
	static char name[CUPTI_ABI_OLD_SUBSCRIBER_NAME_SIZE];
	struct cupti_abi_subscriber_params params = {.struct_size = sizeof(params),
						     .subscriber_name = "profile",
						     .old_subscriber_name = name,
						     .old_subscriber_size = sizeof(name) - 1};
	cupti_abi_subscriber subscriber;

	if (!tracer->api.cuptiSubscribe_v2)
		return tracer->api.path;
	/* it has gone in between, so its name is lost */
	if (tracer->api.cuptiSubscribe_v2(&subscriber, on_callback, tracer, &params) ==
	    CUPTI_ABI_SUCCESS)
		tracer->api.cuptiUnsubscribe(subscriber);
	name[sizeof(name) - 1] = '\0';
	return name[0] ? name : tracer->api.path;
}

void callback_unsubscribe(struct tracer *tracer)
{
	if (!tracer->subscriber)
		return;
	enable_all(tracer, 0);
	tracer->api.cuptiUnsubscribe(tracer->subscriber);
	tracer->subscriber = NULL;
}
