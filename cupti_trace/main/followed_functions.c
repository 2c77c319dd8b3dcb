// SPDX-License-Identifier: MIT
#include "cupti_trace/main/followed_functions.h"

#include <string.h>
#include "cupti_trace/launch/recorded_range.h"
#include "cupti_trace/memory/graph_memory.h"
#include "cupti_trace/memory/virtual_memory.h"

/* CUDA 12.4. CUPTI of 11.8 has no callbacks of the driver's launches. */
#define CUPTI_CALLS_FOR_DRIVER 22

struct followed_functions followed_functions;

/* Returns the name of a launch function; NULL: no room, so the callback's data is used. */
static const char *keep_name(const char *cupti_name, size_t *used)
{
	char *kept = followed_functions.names + *used;

	if (*used + strlen(cupti_name) >= FUNCTION_NAMES_ROOM)
		return NULL;
	api_function_name(cupti_name, kept, FUNCTION_NAMES_ROOM - *used);
	*used += strlen(kept) + 1;
	return kept;
}

/* Returns whether calls of a function change memory that CUPTI may not record. */
static bool is_of_memory(uint32_t domain, const char *name)
{
	return (domain == DRV && virtual_memory_has(name)) || graph_memory_has(name);
}

static bool begins_with(const char *name, const char *runtime, const char *driver)
{
	return strncmp(name, runtime, strlen(runtime)) == 0 ||
	       strncmp(name, driver, strlen(driver)) == 0;
}

/*
 * Returns whether runtime calls of the program are followed where they call the driver. CUPTI's
 * callback for a runtime function takes four times as long as that for the driver function inside
 * (docs/performance.md). The profiler names the program's call by the stack.
 *
 * With CUPTI 13.0 it is also safer. When a profiler leaves, it turns callbacks off. A thread may be
 * in a runtime function whose callback is turned off. Then everything that this thread does later
 * has the correlation id of that call. So this is chosen once, and nothing is turned off while the
 * library is in use.
 *
 * A timeline shows the runtime's own calls, even those that fail without calling the driver. It
 * does not in a process that continues, where the next profiler would meet the confused ids.
 */
static bool can_follow_in_driver(const struct tracer *tracer)
{
	return tracer->api.version >= CUPTI_CALLS_FOR_DRIVER && tracer->config.stacks &&
	       (!tracer->config.timeline || tracer_is_late(tracer)) && !tracer->config.api &&
	       !tracer->config.memory && !tracer_reads_counters(tracer) && !tracer->config.errors;
}

/* Returns FUNCTION_IGNORED if it is no special one. */
static enum function_role special_role(uint32_t domain, uint32_t cbid, const char *name)
{
	if (domain == RT && cbid == CUPTI_ABI_RT_cudaDeviceReset)
		return FUNCTION_RESETS;
	if (recorded_range_has_cuda() && begins_with(name, "cudaProfilerStart", "cuProfilerStart"))
		return FUNCTION_STARTS_RANGE;
	if (recorded_range_has_cuda() && begins_with(name, "cudaProfilerStop", "cuProfilerStop"))
		return FUNCTION_ENDS_RANGE;
	return FUNCTION_IGNORED;
}

static enum function_role role_of(const struct trace_config *config,
				  const struct api_function *known, uint32_t domain, uint32_t cbid,
				  const char *name)
{
	static const uint8_t roles[] = {[API_NOTHING] = FUNCTION_IGNORED,
					[API_KERNEL] = FUNCTION_KERNEL,
					[API_GRAPH] = FUNCTION_GRAPH,
					[API_OTHER] = FUNCTION_OTHER,
					[API_NODE] = FUNCTION_NODES};
	enum function_role role = roles[known->meaning];

	if (role == FUNCTION_IGNORED && !known->waits && known->is_enqueued &&
	    api_function_is_new(domain, cbid))
		return FUNCTION_NEW;
	if (role == FUNCTION_IGNORED && config->memory && is_of_memory(domain, name))
		role = FUNCTION_OTHER;
	if (role == FUNCTION_OTHER && config->kernels_only)
		role = FUNCTION_IGNORED;
	if (role == FUNCTION_IGNORED)
		role = special_role(domain, cbid, name);
	/* an allocation waits, but finished work need not be sent */
	if (role == FUNCTION_IGNORED && known->waits && !config->budget &&
	    (config->waits || !known->allocates))
		role = FUNCTION_WAITS;
	return role;
}

static struct function describe(const struct tracer *tracer, uint32_t domain, uint32_t cbid,
				const char *name)
{
	const struct trace_config *config = &tracer->config;
	struct api_function known = {.meaning = API_NOTHING};
	struct function f;

	memset(&f, 0, sizeof(f)); /* it is compared as bytes */
	if (tracer_is_alone(tracer))
		return f;
	if (domain == DRV || !can_follow_in_driver(tracer))
		known = api_function_of(name);
	f.role = (uint8_t)role_of(config, &known, domain, cbid, name);
	f.waits = known.waits && config->waits;
	f.is_stream = known.is_stream;
	f.runs_graph = known.runs_graph;
	f.flushes = known.waits && !known.allocates && !config->budget;
	f.allocates = config->memory && (known.allocates || is_of_memory(domain, name));
	f.is_plain = !f.waits && !f.flushes && !f.runs_graph && f.role > FUNCTION_ENDS_RANGE &&
		     f.role != FUNCTION_NEW;
	f.does_more = (f.flushes && config->waited) || f.role == FUNCTION_NEW || f.runs_graph;
	f.ends_alone = f.is_plain && f.role >= FUNCTION_USUAL && !config->timeline;
	if (f.role == FUNCTION_GRAPH)
		f.flags = GPU_LAUNCH_IS_GRAPH;
	else if (f.role != FUNCTION_KERNEL) /* a batch of copies is many operations */
		f.flags = GPU_LAUNCH_IS_GRAPH | GPU_LAUNCH_IS_OTHER |
			  (f.flushes && config->waited ? GPU_LAUNCH_WAITED : 0);
	f.size_at = known.size_at;
	f.kind_at = known.kind_at;
	f.kernel_at = known.kernel_at;
	return f;
}

/*
 * Returns the function's number in the list. Some 60 of all known functions differ. Each unknown
 * one has an entry of its own, so that each is reported, unless the list is nearly full.
 */
static uint8_t number_function(const struct function *f)
{
	struct followed_functions *all = &followed_functions;
	bool is_own = f->role == FUNCTION_NEW && all->count < FUNCTIONS_MAX / 2;
	uint32_t at = 1;

	while (at < all->count && (is_own || memcmp(&all->list[at], f, sizeof(*f)) != 0))
		at++;
	if (at == FUNCTIONS_MAX)
		return 0;
	if (at == all->count)
		memcpy(&all->list[all->count++], f, sizeof(*f));
	return (uint8_t)(2 * at);
}

static void index_functions(const struct tracer *tracer, bool of_launches, size_t *used)
{
	for (uint32_t i = 2; i < 2 * CBIDS; i++) {
		uint32_t cbid = i / 2, domain = i % 2 ? DRV : RT;
		const char *name = cupti_api_function(&tracer->api, domain, cbid);
		struct function f;

		if (!name)
			continue;
		f = describe(tracer, domain, cbid, name);
		if (f.role == FUNCTION_IGNORED ||
		    (f.role == FUNCTION_KERNEL || f.role == FUNCTION_GRAPH) != of_launches)
			continue;
		if (of_launches)
			f.name = keep_name(name, used);
		if (f.role == FUNCTION_KERNEL && f.is_plain && f.name)
			f.role = FUNCTION_USUAL;
		followed_functions.number[cbid][domain == DRV] = number_function(&f);
	}
}

void followed_functions_index(const struct tracer *tracer)
{
	size_t used = 0;

	memset(&followed_functions, 0, sizeof(followed_functions));
	followed_functions.count = 1;
	followed_functions.follows_all = tracer->config.api;
	index_functions(tracer, true, &used);
	index_functions(tracer, false, &used);
}
