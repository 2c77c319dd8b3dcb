// SPDX-License-Identifier: MIT
#include "cupti_trace/launch/call_probes.h"

#include <stdlib.h>
#include <string.h>
#include "cupti_trace/core/api_function.h"
#include "cupti_trace/core/guest.h"
#include "cupti_trace/core/hot_path.h"
#include "cupti_trace/launch/call_params.h"
#include "cupti_trace/launch/launch_log.h"
#include "cupti_trace/launch/probes.h"
#include "cupti_trace/unwind/unwind_thread.h"

#define DOMAINS 2

/* Functions by callback id, of the driver and of the runtime. */
struct probed {
	const char *name; /* name as programs write it; NULL: no such function */
	struct call_layout layout;
	bool is_kernel;             /* launches a kernel, whose name CUPTI has */
	bool is_enabled;            /* subscribed for a probe or for errors */
	bool is_probed;             /* wanted by a probe; any thread reads it */
	bool returns_earlier_error; /* returns the error of another call, which has fired for it */
};
_Static_assert(sizeof(struct probed) == 16, "found by a shift, at each call");
static struct probed functions[DOMAINS][CBIDS];
static bool is_indexed;

/* Outermost call that the thread is in. */
static __thread struct own {
	bool is_open;
	uint32_t domain, correlation_id;
	uint64_t start_ns; /* entry, if a probe wants it */
} own;

static struct probed *function_of(uint32_t domain, uint32_t cbid)
{
	return &functions[domain == CUPTI_ABI_DOMAIN_DRIVER_API][cbid];
}

static const char *keep_name(const char *cupti_name)
{
	size_t size = strlen(cupti_name) + 1;
	char *name = malloc(size);

	if (name)
		api_function_name(cupti_name, name, size);
	return name;
}

/*
 * Indexes the functions. Names live as long as the process: a thread may be at a probe at any time.
 */
static void index_functions(const struct tracer *tracer)
{
	for (uint32_t i = 0; i < DOMAINS * CBIDS; i++) {
		uint32_t domain =
			i % DOMAINS ? CUPTI_ABI_DOMAIN_DRIVER_API : CUPTI_ABI_DOMAIN_RUNTIME_API;
		struct probed *f = function_of(domain, i / DOMAINS);
		const char *name = cupti_api_function(&tracer->api, domain, i / DOMAINS);
		struct api_function function;

		if (!name || strncmp(name, "cu", 2) != 0)
			continue;
		f->layout = call_layout_of(name);
		function = api_function_of(name);
		f->is_kernel = function.meaning == API_KERNEL;
		f->returns_earlier_error = function.returns_earlier_error;
		f->name = keep_name(name);
	}
	is_indexed = true;
}

static bool is_probed(const struct probed *f, uint32_t probes)
{
	static const uint32_t bits[] = {
		[CALL_LAUNCH] = PROBE_BIT(launch), [CALL_COPY] = PROBE_BIT(memcpy),
		[CALL_ALLOC] = PROBE_BIT(malloc),  [CALL_FREE] = PROBE_BIT(free),
		[CALL_SYNC] = PROBE_BIT(sync),     [CALL_OTHER] = 0,
	};

	return f->name && (probes & bits[f->layout.sort]);
}

static bool is_needed(const struct tracer *tracer, const struct probed *f, uint32_t probes)
{
	if (!f->name)
		return false;
	return (tracer->config.errors && f->layout.sort != CALL_OTHER) || is_probed(f, probes) ||
	       (probes & PROBE_BIT(api_error));
}

/* Selects callbacks. A callback stays enabled until the end. */
static void choose(struct tracer *tracer, uint32_t probes,
		   bool (*is_followed)(uint32_t domain, uint32_t cbid), bool is_end)
{
	for (uint32_t i = 0; i < DOMAINS * CBIDS; i++) {
		uint32_t domain =
			i % DOMAINS ? CUPTI_ABI_DOMAIN_DRIVER_API : CUPTI_ABI_DOMAIN_RUNTIME_API;
		struct probed *f = function_of(domain, i / DOMAINS);
		bool enable = !is_end && (f->is_enabled || is_needed(tracer, f, probes));

		__atomic_store_n(&f->is_probed, is_probed(f, probes), __ATOMIC_RELAXED);
		if (enable == f->is_enabled)
			continue;
		f->is_enabled = enable;
		if (!is_followed(domain, i / DOMAINS))
			tracer->api.cuptiEnableCallback(enable, tracer->subscriber, domain,
							i / DOMAINS);
	}
}

void call_probes_enable(struct tracer *tracer, uint32_t probes,
			bool (*is_followed)(uint32_t domain, uint32_t cbid))
{
	if (!is_indexed && ((probes & PROBES_OF_CALLS) || tracer->config.errors))
		index_functions(tracer);
	choose(tracer, probes, is_followed, false);
}

void call_probes_end(struct tracer *tracer, bool (*is_followed)(uint32_t domain, uint32_t cbid))
{
	choose(tracer, 0, is_followed, true);
}

/* ---- the stack, as a chain of frame pointers ---- */

/* Frames that tracers follow; the kernel's limit is lower by default. */
#define CHAIN_MOST 254

struct link {
	uint64_t next, return_address;
};

struct chain {
	struct unwind_stack stack;
	struct link links[CHAIN_MOST];
};

/* Builds the chain of callers, from the caller of the callback on; NULL: unknown. */
static const void *make_chain(struct chain *chain, const void *frame)
{
	uint32_t count;

	unwind_from(frame, &chain->stack, NULL);
	count = chain->stack.count < CHAIN_MOST ? chain->stack.count : CHAIN_MOST;
	for (uint32_t i = 0; i < count; i++)
		chain->links[i] = (struct link){
			.next = i + 1 < count ? (uint64_t)(uintptr_t)&chain->links[i + 1] : 0,
			.return_address = chain->stack.pcs[i]};
	return count ? chain->links : frame;
}

/* ---- firing ---- */

/* Entry or exit of a call. */
struct moment {
	const struct probed *called;
	const struct cupti_abi_callback_data *data;
	const void *frame;
	struct own *own;
};

static uint64_t id_of(const struct moment *at)
{
	return at->data->correlation_id;
}

static uint64_t name_of(const struct moment *at)
{
	return probe_text(at->called->name);
}

static void tell_launch(const struct moment *at)
{
	const char *kernel = at->called->is_kernel ? at->data->symbol_name : NULL;
	struct call_launch launch;
	struct chain chain;

	call_params_launch(at->called->layout, at->data->function_params, &launch);
	probe_fire_launch((const uint64_t[]){id_of(at), name_of(at), probe_text(kernel),
					     probe_extent(launch.grid), probe_extent(launch.block),
					     launch.stream},
			  make_chain(&chain, at->frame));
}

static void tell_copy(const struct moment *at)
{
	struct chain chain;

	probe_fire_memcpy((const uint64_t[]){id_of(at), name_of(at),
					     call_params_copied(at->called->layout,
								at->data->function_params)},
			  make_chain(&chain, at->frame));
}

static void tell_allocation(const struct moment *at)
{
	struct call_memory memory;
	struct chain chain;

	call_params_memory(at->called->layout, at->data->function_params, &memory);
	probe_fire_malloc((const uint64_t[]){id_of(at), name_of(at), memory.bytes, memory.address,
					     memory.stream},
			  make_chain(&chain, at->frame));
}

static void tell_release(const struct moment *at)
{
	struct call_memory memory;
	struct chain chain;

	call_params_memory(at->called->layout, at->data->function_params, &memory);
	if (memory.address)
		probe_fire_free(
			(const uint64_t[]){id_of(at), name_of(at), memory.address, memory.stream},
			make_chain(&chain, at->frame));
}

static void tell_sync(const struct moment *at)
{
	uint64_t now = clock_now_ns();
	struct chain chain;

	probe_fire_sync((const uint64_t[]){id_of(at), name_of(at), at->own->start_ns, now,
					   call_params_awaited(at->called->layout,
							       at->data->function_params)},
			make_chain(&chain, at->frame));
}

static void tell_error(const struct moment *at, int result)
{
	struct chain chain;

	probe_fire_api_error((const uint64_t[]){id_of(at), name_of(at), (uint64_t)result},
			     make_chain(&chain, at->frame));
}

static void send_error(struct tracer *tracer, const struct moment *at, int result)
{
	const struct gpu_event event = {.type = GPU_EVENT_ERROR,
					.error = {.code = (uint32_t)result,
						  .tid = launch_log_tid(),
						  .correlation_id = at->data->correlation_id,
						  .function = at->called->name}};
	struct guest guest;

	guest_enter(&guest);
	sink_put(&tracer->sink, &event);
	guest_leave(&guest);
}

static SELDOM void on_entry(const struct moment *at)
{
	switch ((enum call_sort)at->called->layout.sort) {
	case CALL_LAUNCH:
		if (probe_is_on(PROBE_launch))
			tell_launch(at);
		break;
	case CALL_COPY:
		if (probe_is_on(PROBE_memcpy))
			tell_copy(at);
		break;
	case CALL_FREE:
		/* before another thread may be given this memory */
		if (probe_is_on(PROBE_free))
			tell_release(at);
		break;
	case CALL_SYNC:
		at->own->start_ns = clock_now_ns();
		break;
	default:
		break;
	}
}

static SELDOM void on_exit_of(struct tracer *tracer, const struct moment *at)
{
	int result = cupti_abi_result(at->data);

	if (result != 0 && tracer->config.errors && at->called->layout.sort != CALL_OTHER &&
	    tracer_records_now(tracer))
		send_error(tracer, at, result);
	if (result != 0 && probe_is_on(PROBE_api_error) && !at->called->returns_earlier_error)
		tell_error(at, result);
	if (at->called->layout.sort == CALL_ALLOC && result == 0 && probe_is_on(PROBE_malloc))
		tell_allocation(at);
	if (at->called->layout.sort == CALL_SYNC && at->own->start_ns && probe_is_on(PROBE_sync))
		tell_sync(at);
}

void call_probes_on_call(struct tracer *tracer, uint32_t domain, uint32_t cbid,
			 const struct cupti_abi_callback_data *data, const void *frame)
{
	const struct probed *called = cbid < CBIDS ? function_of(domain, cbid) : NULL;
	struct own *me;
	bool is_own, probed;

	if (!called || !called->name)
		return;
	probed = __atomic_load_n(&called->is_probed, __ATOMIC_RELAXED);
	me = OF_THREAD(own);
	is_own = me->is_open && me->correlation_id == data->correlation_id;
	if (data->callback_site == CUPTI_ABI_API_ENTER) {
		/* part of the outer call */
		if (is_own && me->domain == CUPTI_ABI_DOMAIN_RUNTIME_API &&
		    domain == CUPTI_ABI_DOMAIN_DRIVER_API)
			return;
		*me = (struct own){true, domain, data->correlation_id, 0};
		if (probed)
			on_entry(&(struct moment){called, data, frame, me});
	} else if (is_own && me->domain == domain) {
		me->is_open = false;
		if (probed || cupti_abi_result(data) != 0)
			on_exit_of(tracer, &(struct moment){called, data, frame, me});
	}
}
