// SPDX-License-Identifier: MIT
#include "cupti_trace/launch/call_stats.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "cupti_trace/core/api_function.h"
#include "cupti_trace/core/guest.h"
#include "cupti_trace/core/timeout.h"
#include "cupti_trace/launch/launch_log.h"

#define SETS 8u                           /* sets of sums: a power of two */
#define ERRORS (GPU_CALL_LINE_ERRORS - 1) /* codes with a count of their own */

/* Numbers only grow, so that the numbers sent can be subtracted. */
struct sums {
	_Atomic uint64_t calls, ns, bytes, nested, nested_ns, longest;
	_Atomic uint64_t shortest; /* plus 1; 0: none */
	_Atomic uint64_t buckets[GPU_CALL_BUCKETS];
};

/* Sum of all sets at one time. */
struct totals {
	uint64_t calls, ns, bytes, nested, nested_ns, longest, shortest;
	uint64_t buckets[GPU_CALL_BUCKETS], errors[ERRORS + 1];
};

/* A function, or its copies of one kind. */
struct called {
	uint8_t domain, kind;       /* as in struct gpu_event_calls */
	bool returns_earlier_error; /* returns the error of another call, which has counted it */
	const char *name;           /* CUPTI's */
	struct sums *_Atomic sets[SETS];
	_Atomic uint32_t codes[ERRORS];      /* error codes; 0: free */
	_Atomic uint64_t errors[ERRORS + 1]; /* counts; the last one: all other codes */
	struct totals *sent;
};

/* Index of a function's first place. With kinds, one place for each follows. */
#define PLACES 4096u
static struct {
	struct api_amount amounts[2][CBIDS];
	uint16_t first[2][CBIDS]; /* 0: unknown */
	uint32_t count;
	struct called *list[PLACES];
} functions = {.count = 1};

/* Correlation id of the runtime call that the thread is in. */
static __thread uint32_t outer_correlation;

static uint32_t index_of(uint32_t domain)
{
	return domain == CUPTI_ABI_DOMAIN_DRIVER_API;
}

void call_stats_add_function(uint32_t domain, uint32_t cbid, const char *name)
{
	uint32_t index = index_of(domain), kinds;
	struct api_amount amount = api_function_amount(name);
	bool returns_earlier_error;

	if (cbid >= CBIDS || functions.first[index][cbid])
		return;
	returns_earlier_error = api_function_of(name).returns_earlier_error;
	kinds = amount.kind_at ? GPU_CALL_KINDS : 1;
	if (functions.count + kinds > PLACES)
		return;
	functions.amounts[index][cbid] = amount;
	functions.first[index][cbid] = (uint16_t)functions.count;
	for (uint32_t kind = 0; kind < kinds; kind++) {
		struct called *called = calloc(1, sizeof(*called));

		if (called) {
			called->domain = (uint8_t)(index ? GPU_LAUNCH_DRIVER : GPU_LAUNCH_RUNTIME);
			called->kind = (uint8_t)kind;
			called->returns_earlier_error = returns_earlier_error;
			called->name = name;
		}
		functions.list[functions.count++] = called;
	}
}

static struct called *find(uint32_t domain, uint32_t cbid,
			   const struct cupti_abi_callback_data *data)
{
	const struct api_amount *amount;
	uint32_t at, kind = 0;

	if (cbid >= CBIDS)
		return NULL;
	at = functions.first[index_of(domain)][cbid];
	amount = &functions.amounts[index_of(domain)][cbid];
	if (amount->kind_at && data->function_params)
		kind = 1 + api_amount_kind(amount, data->function_params);
	return functions.list[at + (kind < GPU_CALL_KINDS ? kind : 0)];
}

static __attribute__((noinline, cold)) struct sums *make_sums(struct sums *_Atomic *set)
{
	struct sums *made, *none = NULL;
	struct guest guest;

	guest_enter(&guest);
	made = calloc(1, sizeof(*made));
	if (made && !atomic_compare_exchange_strong(set, &none, made)) {
		free(made);
		made = none;
	}
	guest_leave(&guest);
	return made;
}

/* Returns the sums of the calling thread; NULL when out of memory. */
static struct sums *sums_of(struct called *called)
{
	struct sums *_Atomic *set = &called->sets[launch_log_tid() % SETS];
	struct sums *sums = atomic_load_explicit(set, memory_order_acquire);

	return sums ? sums : make_sums(set);
}

static void add(_Atomic uint64_t *to, uint64_t value)
{
	atomic_fetch_add_explicit(to, value, memory_order_relaxed);
}

static void raise_to(_Atomic uint64_t *most, uint64_t value)
{
	uint64_t old = atomic_load_explicit(most, memory_order_relaxed);

	while (old < value &&
	       !atomic_compare_exchange_weak_explicit(most, &old, value, memory_order_relaxed,
						      memory_order_relaxed))
		;
}

static void lower_to(_Atomic uint64_t *least, uint64_t value)
{
	uint64_t old = atomic_load_explicit(least, memory_order_relaxed);

	while ((old == 0 || old > value) &&
	       !atomic_compare_exchange_weak_explicit(least, &old, value, memory_order_relaxed,
						      memory_order_relaxed))
		;
}

/* Counts an error. Errors are few, so all threads share the counters. */
static void count_error(struct called *called, uint32_t code)
{
	uint32_t at = 0;

	for (; at < ERRORS; at++) {
		uint32_t there = 0;

		if (atomic_compare_exchange_strong(&called->codes[at], &there, code) ||
		    there == code)
			break;
	}
	add(&called->errors[at], 1);
}

static uint64_t amount_of(uint32_t domain, uint32_t cbid,
			  const struct cupti_abi_callback_data *data)
{
	const struct api_amount *amount = &functions.amounts[index_of(domain)][cbid];

	return data->function_params ? api_amount_bytes(amount, data->function_params) : 0;
}

void call_stats_enter(uint32_t domain, uint32_t cbid, const struct cupti_abi_callback_data *data)
{
	struct called *called = find(domain, cbid, data);
	struct sums *sums = called ? sums_of(called) : NULL;

	if (!sums)
		return;
	add(&sums->calls, 1);
	if (domain == CUPTI_ABI_DOMAIN_RUNTIME_API)
		outer_correlation = data->correlation_id;
	else if (outer_correlation == data->correlation_id)
		add(&sums->nested, 1);
	if (data->correlation_data)
		*data->correlation_data = clock_now_ns();
}

void call_stats_exit(uint32_t domain, uint32_t cbid, const struct cupti_abi_callback_data *data)
{
	uint64_t now = clock_now_ns(), ns;
	const int *result = data->function_return_value;
	struct called *called = find(domain, cbid, data);
	struct sums *sums = called ? sums_of(called) : NULL;
	bool is_nested =
		domain == CUPTI_ABI_DOMAIN_DRIVER_API && outer_correlation == data->correlation_id;

	if (domain == CUPTI_ABI_DOMAIN_RUNTIME_API)
		outer_correlation = 0;
	/* a call that was entered before callbacks were enabled has no time */
	if (!sums || !data->correlation_data || *data->correlation_data == 0 ||
	    *data->correlation_data > now)
		return;
	ns = now - *data->correlation_data;
	*data->correlation_data = 0;
	add(&sums->ns, ns);
	add(&sums->buckets[gpu_call_bucket(ns)], 1);
	raise_to(&sums->longest, ns);
	lower_to(&sums->shortest, ns + 1);
	if (is_nested)
		add(&sums->nested_ns, ns);
	if (!result || *result == 0 || called->returns_earlier_error)
		add(&sums->bytes, amount_of(domain, cbid, data));
	else if (!is_nested) /* otherwise the runtime's call fails, or the program does not see the
				error */
		count_error(called, (uint32_t)*result);
}

/* ---- sending ---- */

/* Adds up a function's sums of all threads. Returns false if it was not called. */
static bool sum_up(const struct called *called, struct totals *all)
{
	bool any = false;

	memset(all, 0, sizeof(*all));
	for (uint32_t s = 0; s < SETS; s++) {
		const struct sums *sums =
			atomic_load_explicit(&called->sets[s], memory_order_acquire);
		uint64_t shortest;

		if (!sums)
			continue;
		any = true;
		all->calls += sums->calls;
		all->ns += sums->ns;
		all->bytes += sums->bytes;
		all->nested += sums->nested;
		all->nested_ns += sums->nested_ns;
		if (sums->longest > all->longest)
			all->longest = sums->longest;
		shortest = sums->shortest;
		if (shortest && (all->shortest == 0 || shortest < all->shortest))
			all->shortest = shortest;
		for (uint32_t i = 0; i < GPU_CALL_BUCKETS; i++)
			all->buckets[i] += sums->buckets[i];
	}
	for (uint32_t i = 0; i <= ERRORS; i++)
		all->errors[i] = called->errors[i];
	return any;
}

/* Sends the lines of a function: one, or more if there are many buckets. */
static void send_buckets(struct sink *sink, struct gpu_event *event, const struct totals *all,
			 const struct totals *sent)
{
	struct gpu_call_bucket buckets[GPU_CALL_LINE_BUCKETS];
	struct gpu_event_calls *e = &event->calls;

	e->buckets = buckets;
	for (uint32_t i = 0; i < GPU_CALL_BUCKETS; i++) {
		uint64_t more = all->buckets[i] - sent->buckets[i];

		if (more == 0)
			continue;
		if (e->bucket_count == GPU_CALL_LINE_BUCKETS) {
			sink_put(sink, event);
			/* everything else was in the first line */
			*e = (struct gpu_event_calls){.function = e->function,
						      .family = e->family,
						      .kind = e->kind,
						      .buckets = buckets};
		}
		buckets[e->bucket_count++] = (struct gpu_call_bucket){i, more};
	}
	sink_put(sink, event);
}

static void send_function(struct sink *sink, const struct called *called, const struct totals *all,
			  const struct totals *sent)
{
	char name[GPU_CALL_NAME_BYTES];
	struct gpu_call_error errors[ERRORS + 1];
	struct gpu_event event = {.type = GPU_EVENT_CALLS,
				  .calls = {.function = name,
					    .family = called->domain,
					    .kind = called->kind,
					    .calls = all->calls - sent->calls,
					    .ns = all->ns - sent->ns,
					    .bytes = all->bytes - sent->bytes,
					    .nested = all->nested - sent->nested,
					    .nested_ns = all->nested_ns - sent->nested_ns,
					    .longest_ns = all->longest,
					    .shortest_ns = all->shortest ? all->shortest - 1 : 0,
					    .errors = errors}};

	api_function_name(called->name, name, sizeof(name));
	for (uint32_t i = 0; i <= ERRORS; i++) {
		uint64_t more = all->errors[i] - sent->errors[i];

		if (more)
			errors[event.calls.error_count++] = (struct gpu_call_error){
				i < ERRORS ? called->codes[i] : GPU_CALL_OTHER_ERROR, more};
	}
	send_buckets(sink, &event, all, sent);
}

static void send_all(struct sink *sink)
{
	static struct totals all;

	for (uint32_t i = 1; i < functions.count; i++) {
		struct called *called = functions.list[i];

		if (!called || !sum_up(called, &all))
			continue;
		if (!called->sent)
			called->sent = calloc(1, sizeof(*called->sent));
		if (!called->sent || memcmp(called->sent, &all, sizeof(all)) == 0)
			continue; /* out of memory; perhaps later */
		send_function(sink, called, &all, called->sent);
		*called->sent = all;
	}
}

void call_stats_send(struct sink *sink)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

	/* the flusher may wait for room in the pipe */
	if (functions.count == 1 || !timeout_lock(&lock, TIMEOUT_MS))
		return;
	send_all(sink);
	pthread_mutex_unlock(&lock);
}
