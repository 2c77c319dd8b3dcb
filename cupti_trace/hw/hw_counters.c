// SPDX-License-Identifier: MIT
#include "cupti_trace/hw/hw_counters.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "cupti_trace/core/api_function.h"
#include "cupti_trace/core/guest.h"
#include "cupti_trace/hw/counted_times.h"
#include "cupti_trace/hw/counter_choice.h"
#include "cupti_trace/hw/counter_output.h"
#include "cupti_trace/hw/counter_ranges.h"
#include "symbolize/util/text.h"

#define CONTEXTS 64u
#define FAILURES 3u           /* limit for a context, in a row: afterwards it is not measured */
#define MEASURED 8192u        /* launches that are remembered: a power of two */
#define DESCRIBED_LAUNCHES 20 /* launches described with -v */
#define POLL_NS 20000         /* interval of checks whether launches have returned */

enum role { ROLE_NONE, ROLE_LAUNCH, ROLE_GRAPH, ROLE_BEGIN_CAPTURE, ROLE_END_CAPTURE };

struct context {
	void *handle; /* NULL: free */
	struct counter_ranges ranges;
	uint32_t metrics[GPU_METRICS_MAX]; /* indexes into `names` of the host's metrics */
	uint32_t failures;                 /* in a row */
	bool has_failed;
};

/* State of the process. */
static struct {
	uint8_t roles[2][CBIDS]; /* enum role: the runtime's, the driver's */
	char *list;              /* list of metrics, split into names */
	const char *names[GPU_METRICS_MAX];
	uint32_t count, shown; /* `shown` excludes a duration that was not requested */
	uint32_t duration;     /* index of the duration; GPU_METRICS_MAX: there was no room */
	bool is_default[GPU_METRICS_MAX]; /* part of "default" */
	bool is_sent[GPU_METRICS_MAX];    /* its name has been sent */
	bool is_missing[GPU_METRICS_MAX]; /* a notice about it has been sent */
	struct profiler_api api;
	struct counter_choice choice;
	pthread_mutex_t choice_lock;
	/* held while a kernel is measured; protects the contexts */
	pthread_mutex_t range_lock;
	struct context contexts[CONTEXTS];
	uint32_t described_launches;
	/* other threads wait for the end of a measurement */
	pthread_mutex_t wait_lock;
	pthread_cond_t closed;
	_Atomic bool is_open;
	_Atomic int captures; /* stream captures under way */
	_Atomic int inside;   /* launches of kernels and graphs that have not returned */
	int stuck; /* launches of `inside` for which no thread waits; protected by the range lock */
	/* correlation ids, by their last bits, and whether the kernel's record has come */
	_Atomic uint64_t measured[MEASURED];
	_Atomic uint64_t lost[GPU_UNMEASURED_REASONS]; /* not sent yet */
} counters = {
	.choice_lock = PTHREAD_MUTEX_INITIALIZER,
	.range_lock = PTHREAD_MUTEX_INITIALIZER,
	.wait_lock = PTHREAD_MUTEX_INITIALIZER,
	.closed = PTHREAD_COND_INITIALIZER,
};

/* Launch that the calling thread measures. */
static __thread struct {
	bool is_open, is_inside;
	uint32_t correlation_id, kernel;
	struct context *context;
	int cancel_state;
	uint64_t opened_ns, launched_ns;
} mine;

static void count_lost(enum gpu_unmeasured reason)
{
	atomic_fetch_add(&counters.lost[reason], 1);
}

/* ---- metrics ---- */

/* Adds a name. Returns its index; GPU_METRICS_MAX: no room. */
static uint32_t add_name(const char *name, bool is_default)
{
	for (uint32_t i = 0; i < counters.count; i++)
		if (strcmp(counters.names[i], name) == 0)
			return i;
	if (counters.count == GPU_METRICS_MAX)
		return GPU_METRICS_MAX;
	counters.is_default[counters.count] = is_default;
	counters.names[counters.count] = name;
	return counters.count++;
}

static bool parse_names(const char *list)
{
	char *rest = NULL, *name;

	counters.list = strdup(list);
	if (!counters.list)
		return false;
	for (name = strtok_r(counters.list, ",; ", &rest); name;
	     name = strtok_r(NULL, ",; ", &rest)) {
		if (strcmp(name, "default") != 0) {
			add_name(name, false);
			continue;
		}
		for (const char *const *d = counter_host_default; *d; d++)
			add_name(*d, true);
	}
	counters.shown = counters.count;
	counters.duration = add_name(COUNTED_TIMES_METRIC, true);
	return counters.shown > 0;
}

/* Parses a limit. Returns false if the text is none. */
static bool parse_limit(const char *text, uint32_t *limit)
{
	unsigned long value = 0;
	char *end;

	*limit = COUNTERS_LAUNCHES;
	if (!text || !*text)
		return true;
	if (strcmp(text, "all") != 0) {
		/* saturates; strtoul would accept a sign or blanks before the number */
		value = strtoul(text, &end, 10);
		if (*text < '0' || *text > '9' || *end)
			return false;
	}
	*limit = value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
	return true;
}

bool counters_init(struct tracer *tracer, const struct counters_options *options)
{
	uint32_t limit;

	if (!parse_names(options->metrics))
		return false;
	if (!parse_limit(options->launches, &limit)) {
		tracer_notice(tracer, GPU_NOTICE_COUNTERS, "'%s' is no number of launches, nor all",
			      options->launches);
		return false;
	}
	if (counter_choice_init(&counters.choice, options->kernels, limit) == 0)
		return true;
	tracer_notice(tracer, GPU_NOTICE_COUNTERS, "'%s' is no regular expression",
		      options->kernels);
	return false;
}

/* ---- functions ---- */

static enum role role_of(const char *name)
{
	if (starts_with(name, "cuStreamBeginCapture") ||
	    starts_with(name, "cudaStreamBeginCapture"))
		return ROLE_BEGIN_CAPTURE;
	if (starts_with(name, "cuStreamEndCapture") || starts_with(name, "cudaStreamEndCapture"))
		return ROLE_END_CAPTURE;
	return ROLE_NONE;
}

/*
 * Registers a function. Launches are measured in the driver's function: every launch of the runtime
 * calls one.
 */
void counters_add_function(uint32_t domain, uint32_t cbid, const char *name)
{
	bool is_driver = domain == CUPTI_ABI_DOMAIN_DRIVER_API;
	enum role role = role_of(name);
	enum api_meaning meaning = api_function_of(name).meaning;

	if (is_driver && meaning == API_KERNEL)
		role = ROLE_LAUNCH;
	else if (is_driver && meaning == API_GRAPH)
		role = ROLE_GRAPH;
	if (cbid < CBIDS)
		counters.roles[is_driver][cbid] = (uint8_t)role;
}

static enum role role_at(uint32_t domain, uint32_t cbid)
{
	return cbid < CBIDS ? counters.roles[domain == CUPTI_ABI_DOMAIN_DRIVER_API][cbid]
			    : ROLE_NONE;
}

bool counters_follows(uint32_t domain, uint32_t cbid)
{
	return role_at(domain, cbid) != ROLE_NONE;
}

/* ---- contexts; with the range lock ---- */

static void say_why(struct tracer *tracer, const struct counter_ranges *r, int result)
{
	const char *error = result < 0 ? "out of memory" : cupti_api_error(&tracer->api, result);

	switch (result) {
	case CUPTI_ABI_ERROR_INSUFFICIENT_PRIVILEGES:
	case PROFILER_ABI_ERROR_VIRTUAL_PRIVILEGES:
		tracer_notice(tracer, GPU_NOTICE_COUNTERS,
			      "this user may not read them (%s): an administrator allows it with "
			      "`options nvidia NVreg_RestrictProfilingToAdminUsers=0` in "
			      "/etc/modprobe.d and a reboot; or run it as root (sudo profile "
			      "--as-root) or with CAP_SYS_ADMIN",
			      error);
		break;
	case PROFILER_ABI_ERROR_MIG:
		tracer_notice(tracer, GPU_NOTICE_COUNTERS,
			      "CUPTI reads none on a MIG instance (%s)", error);
		break;
	case PROFILER_ABI_ERROR_HARDWARE_BUSY:
		tracer_notice(tracer, GPU_NOTICE_COUNTERS,
			      "another profiler has them (%s): end ncu, nsys or --stalls, or pause "
			      "DCGM's (dcgmi profile --pause)",
			      error);
		break;
	default:
		tracer_notice(tracer, GPU_NOTICE_COUNTERS, "%s: %d (%s)", r->failed, result, error);
	}
}

static void say_missing(struct tracer *tracer, const struct context *c, uint32_t metric, int result)
{
	enum gpu_notice code =
		counters.is_default[metric] ? GPU_NOTICE_VERBOSE : GPU_NOTICE_COUNTERS;
	const char *name = counters.names[metric];
	char endings[COUNTER_ENDINGS_BYTES];

	if (counters.is_missing[metric])
		return;
	counters.is_missing[metric] = true;
	if (counter_host_endings(&c->ranges.host, name, endings))
		tracer_notice(tracer, code,
			      "%s has no metric '%s': %.*s needs one of the endings %s "
			      "(--list-counters shows all)",
			      c->ranges.chip, name, (int)strcspn(name, "."), name, endings);
	else
		tracer_notice(tracer, code,
			      "%s has no metric '%s' (%s); --list-counters shows those there are",
			      c->ranges.chip, name, cupti_api_error(&tracer->api, result));
}

/* Adds the requested metrics that the context's GPU has. Returns their number. */
static uint32_t add_metrics(struct tracer *tracer, struct context *c)
{
	struct counter_host *host = &c->ranges.host;
	uint32_t asked = 0;

	for (uint32_t i = 0; i < counters.count; i++) {
		uint32_t before = host->count;
		int result = counter_host_add(host, counters.names[i]);

		if (host->count > before) {
			c->metrics[before] = i;
			asked += i < counters.shown;
		} else {
			say_missing(tracer, c, i, result);
		}
	}
	return asked;
}

static void open_context(struct tracer *tracer, struct context *c)
{
	uint64_t start = clock_now_ns();
	int result;

	c->has_failed = true;
	if (!profiler_api_resolve(&counters.api, tracer->api.handle, true)) {
		tracer_notice(tracer, GPU_NOTICE_COUNTERS,
			      "%s has no range profiler: that of CUDA 12.6 or later is needed",
			      tracer->api.path);
		return;
	}
	result = counter_ranges_open(&c->ranges, &counters.api, c->handle);
	if (result == CUPTI_ABI_SUCCESS) {
		if (add_metrics(tracer, c) == 0)
			return; /* the duration alone is not worth a measurement */
		result = counter_ranges_begin(&c->ranges);
	}
	if (result != CUPTI_ABI_SUCCESS) {
		say_why(tracer, &c->ranges, result);
		return;
	}
	c->has_failed = false;
	tracer_notice(tracer, GPU_NOTICE_VERBOSE,
		      "hardware counters of %s: %u metrics in %zu passes; configuration %zu bytes, "
		      "data %zu bytes; took %" PRIu64 " us",
		      c->ranges.chip, c->ranges.host.count, c->ranges.host.passes,
		      c->ranges.host.config_size, c->ranges.data_size,
		      (clock_now_ns() - start) / 1000);
}

/* Returns the context's state; NULL: it has no counters. */
static struct context *context_of(struct tracer *tracer, void *handle)
{
	struct context *free_one = NULL;

	for (uint32_t i = 0; i < CONTEXTS; i++) {
		struct context *c = &counters.contexts[i];

		if (c->handle == handle)
			return c->has_failed ? NULL : c;
		if (!c->handle && !free_one)
			free_one = c;
	}
	if (!free_one || !handle)
		return NULL;
	memset(free_one, 0, sizeof(*free_one));
	free_one->handle = handle;
	open_context(tracer, free_one);
	return free_one->has_failed ? NULL : free_one;
}

static bool has_failed(const void *handle)
{
	for (uint32_t i = 0; handle && i < CONTEXTS; i++)
		if (counters.contexts[i].handle == handle)
			return counters.contexts[i].has_failed;
	return false;
}

static void close_context(struct context *c)
{
	counter_ranges_close(&c->ranges, false);
	memset(c, 0, sizeof(*c));
}

void counters_context_ends(void *context)
{
	/* another thread is measuring in this context, which the program destroys anyway */
	if (pthread_mutex_trylock(&counters.range_lock) != 0)
		return;
	for (uint32_t i = 0; i < CONTEXTS; i++)
		if (counters.contexts[i].handle &&
		    (!context || counters.contexts[i].handle == context))
			close_context(&counters.contexts[i]);
	pthread_mutex_unlock(&counters.range_lock);
}

/* ---- events ---- */

static void send_names(struct tracer *tracer, const struct context *c)
{
	for (uint32_t i = 0; i < c->ranges.host.count; i++) {
		uint32_t metric = c->metrics[i];
		struct gpu_event event = {.type = GPU_EVENT_METRIC,
					  .metric = {metric, counters.names[metric], ""}};
		struct counter_properties properties;

		if (counters.is_sent[metric] || metric >= counters.shown)
			continue;
		counters.is_sent[metric] = true;
		if (counter_host_describe(&c->ranges.host, counters.names[metric], &properties) ==
		    CUPTI_ABI_SUCCESS)
			event.metric.unit = properties.unit;
		sink_put(&tracer->sink, &event);
	}
}

static void send_state(struct tracer *tracer, uint32_t correlation_id, uint32_t state,
		       const double *values)
{
	const struct gpu_event event = {.type = GPU_EVENT_COUNTERS,
					.counters = {.correlation_id = correlation_id,
						     .state = state,
						     .count = values ? counters.shown : 0,
						     .values = values}};

	sink_put(&tracer->sink, &event);
}

/* Sends values, indexed by metric; NAN: the context's GPU has no such metric. */
static void send_values(struct tracer *tracer, const struct context *c, const double *values,
			const char *kernel)
{
	if (tracer_is_alone(tracer)) {
		counter_output_launch(kernel ? kernel : "", mine.correlation_id, counters.names,
				      values, counters.shown);
		return;
	}
	send_names(tracer, c);
	send_state(tracer, mine.correlation_id, GPU_COUNTERS_READ, values);
}

void counters_send(struct sink *sink)
{
	struct gpu_event event = {.type = GPU_EVENT_UNMEASURED};
	uint64_t any = 0;

	for (uint32_t i = 0; i < GPU_UNMEASURED_REASONS; i++)
		any |= event.unmeasured.counts[i] = atomic_exchange(&counters.lost[i], 0);
	if (any)
		sink_put(sink, &event);
}

void counters_write_rest(void)
{
	static const char *const reasons[] = {
		[GPU_UNMEASURED_CAPTURED] = "during_capture",
		[GPU_UNMEASURED_GRAPH] = "graphs",
		[GPU_UNMEASURED_BUSY] = "busy",
		[GPU_UNMEASURED_PEERS] = "peers",
		[GPU_UNMEASURED_FAILED] = "failed",
	};
	uint64_t counts[GPU_UNMEASURED_REPLAY];

	for (uint32_t i = 0; i < GPU_UNMEASURED_REPLAY; i++)
		counts[i] = atomic_load(&counters.lost[i]);
	counter_output_unmeasured(reasons, counts, GPU_UNMEASURED_REPLAY);
}

/* ---- records ---- */

static void remember(uint32_t correlation_id)
{
	atomic_store(&counters.measured[correlation_id % MEASURED], (uint64_t)correlation_id << 1);
}

bool counters_is_replay(uint32_t correlation_id, bool is_kernel)
{
	_Atomic uint64_t *slot = &counters.measured[correlation_id % MEASURED];
	uint64_t value = atomic_load(slot);

	if (correlation_id == 0 || value >> 1 != correlation_id)
		return false;
	if (is_kernel && !(value & 1)) {
		atomic_store(slot, value | 1);
		return false;
	}
	count_lost(GPU_UNMEASURED_REPLAY);
	return true;
}

/* ---- a launch ---- */

/* Waits while another thread measures a kernel: a launch would be measured with it. */
static void wait_until_closed(void)
{
	struct timespec until = clock_in_ms(COUNTERS_TIMEOUT_MS);
	struct guest guest;
	int err = 0;

	if (!atomic_load(&counters.is_open) || mine.is_open)
		return;
	guest_enter(&guest);
	pthread_mutex_lock(&counters.wait_lock);
	while (atomic_load(&counters.is_open) && err == 0)
		err = pthread_cond_clockwait(&counters.closed, &counters.wait_lock, CLOCK_MONOTONIC,
					     &until);
	if (atomic_load(&counters.is_open)) { /* no thread waits for this one again */
		atomic_store(&counters.is_open, false);
		pthread_cond_broadcast(&counters.closed);
	}
	pthread_mutex_unlock(&counters.wait_lock);
	guest_leave(&guest);
}

static void leave_launch(void)
{
	if (mine.is_inside)
		atomic_fetch_sub(&counters.inside, 1);
	mine.is_inside = false;
}

/*
 * Counts the launch. Then either the measuring thread sees this launch, or this launch sees
 * `is_open`.
 */
static void enter_launch(void)
{
	leave_launch(); /* one whose return was not reported */
	for (;;) {
		mine.is_inside = true;
		atomic_fetch_add(&counters.inside, 1);
		if (!atomic_load(&counters.is_open) || mine.is_open)
			return;
		leave_launch();
		wait_until_closed();
	}
}

/*
 * Waits until other threads' launches have returned, with the range lock, before a range is opened.
 * Returns false if they do not, or if a stream is captured. A launch that is cancelled, or waits
 * for something else, is not waited for again.
 */
static bool others_return(void)
{
	uint64_t until = clock_now_ns() + COUNTERS_RETURN_MS * UINT64_C(1000000);
	const struct timespec pause = {.tv_nsec = POLL_NS};
	int inside;

	for (;;) {
		inside = atomic_load(&counters.inside);
		if (inside < counters.stuck)
			counters.stuck = inside;
		if (atomic_load(&counters.captures) > 0)
			return false;
		if (inside <= counters.stuck)
			return true;
		if (clock_now_ns() >= until)
			break;
		nanosleep(&pause, NULL);
	}
	counters.stuck = inside;
	return false;
}

static void set_open(bool is_open)
{
	pthread_mutex_lock(&counters.wait_lock);
	atomic_store(&counters.is_open, is_open);
	if (!is_open)
		pthread_cond_broadcast(&counters.closed);
	pthread_mutex_unlock(&counters.wait_lock);
}

static void note_done(uint32_t kernel, bool is_measured)
{
	pthread_mutex_lock(&counters.choice_lock);
	counter_choice_done(&counters.choice, kernel, is_measured);
	pthread_mutex_unlock(&counters.choice_lock);
}

static void note_failure(struct tracer *tracer, struct context *c, int result)
{
	if (c->failures++ == 0)
		say_why(tracer, &c->ranges, result);
	c->has_failed = c->failures >= FAILURES;
	count_lost(GPU_UNMEASURED_FAILED);
}

/* Opens a range, with the range lock. If it returns true, it keeps the lock, and is_open is set. */
static bool open_range(struct tracer *tracer, const struct cupti_abi_callback_data *data,
		       uint32_t kernel)
{
	struct context *c = context_of(tracer, data->context);
	int result;

	if (!c) {
		count_lost(GPU_UNMEASURED_FAILED);
		return false;
	}
	mine.context = c;
	mine.correlation_id = data->correlation_id;
	mine.kernel = kernel;
	mine.opened_ns = clock_now_ns();
	remember(data->correlation_id);
	send_state(tracer, data->correlation_id, GPU_COUNTERS_BEGIN, NULL);
	result = counter_ranges_start(&c->ranges);
	mine.launched_ns = clock_now_ns();
	if (result == CUPTI_ABI_SUCCESS) {
		counted_times_begin(mine.correlation_id);
		return true;
	}
	send_state(tracer, data->correlation_id, GPU_COUNTERS_NONE, NULL);
	note_failure(tracer, c, result);
	return false;
}

/*
 * Keeps other launches out until set_open(false), with the range lock. Returns false if that fails.
 */
static bool keep_others_out(void)
{
	leave_launch(); /* our own launch is not waited for */
	set_open(true);
	if (others_return())
		return true;
	set_open(false);
	count_lost(atomic_load(&counters.captures) > 0 ? GPU_UNMEASURED_CAPTURED
						       : GPU_UNMEASURED_BUSY);
	return false;
}

/*
 * Begins a measurement. The thread is not cancelled before the launch has returned, because it
 * holds the lock.
 */
static void begin(struct tracer *tracer, const struct cupti_abi_callback_data *data,
		  uint32_t kernel)
{
	int cancel_state;
	struct guest guest;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
	guest_enter(&guest);
	if (pthread_mutex_trylock(&counters.range_lock) != 0) {
		count_lost(GPU_UNMEASURED_BUSY);
	} else if (has_failed(data->context)) { /* other threads need not wait for that */
		pthread_mutex_unlock(&counters.range_lock);
		count_lost(GPU_UNMEASURED_FAILED);
		note_done(kernel, false);
	} else if (!keep_others_out()) {
		pthread_mutex_unlock(&counters.range_lock);
	} else if (open_range(tracer, data, kernel)) {
		mine.is_open = true;
		mine.cancel_state = cancel_state;
	} else {
		set_open(false);
		pthread_mutex_unlock(&counters.range_lock);
		note_done(kernel, false);
	}
	guest_leave(&guest);
	if (!mine.is_open) {
		enter_launch();
		pthread_setcancelstate(cancel_state, NULL);
	}
}

static void on_launch(struct tracer *tracer, const struct cupti_abi_callback_data *data)
{
	enum counter_verdict verdict;
	uint32_t kernel = 0;

	if (mine.is_open) /* never: launches are not nested */
		return;
	enter_launch();
	if (atomic_load(&counters.captures) > 0) {
		count_lost(GPU_UNMEASURED_CAPTURED);
		return;
	}
	pthread_mutex_lock(&counters.choice_lock);
	verdict = counter_choice_launch(&counters.choice, data->symbol_name, &kernel);
	pthread_mutex_unlock(&counters.choice_lock);
	if (verdict == COUNTER_MEASURE)
		begin(tracer, data, kernel);
	else if (verdict == COUNTER_LEFT_OUT)
		count_lost(GPU_UNMEASURED_PEERS);
}

void counters_enter(struct tracer *tracer, uint32_t domain, uint32_t cbid,
		    const struct cupti_abi_callback_data *data)
{
	switch (role_at(domain, cbid)) {
	case ROLE_LAUNCH:
		on_launch(tracer, data);
		break;
	case ROLE_GRAPH:
		enter_launch();
		count_lost(GPU_UNMEASURED_GRAPH);
		break;
	case ROLE_BEGIN_CAPTURE:
		atomic_fetch_add(&counters.captures, 1);
		wait_until_closed();
		break;
	default:
		break;
	}
}

static void tell_launch(struct tracer *tracer, const struct counter_ranges *r, const char *name,
			uint64_t returned_ns, size_t kernels)
{
	if (!tracer->config.verbose || counters.described_launches >= DESCRIBED_LAUNCHES)
		return;
	counters.described_launches++;
	tracer_notice(tracer, GPU_NOTICE_VERBOSE,
		      "measured %s (correlation %u): %zu kernels in %zu passes; start %" PRIu64
		      " us, launch %" PRIu64 " us, stop and read %" PRIu64 " us",
		      name ? name : "a kernel", mine.correlation_id, kernels, r->host.passes,
		      (mine.launched_ns - mine.opened_ns) / 1000,
		      (returned_ns - mine.launched_ns) / 1000,
		      (clock_now_ns() - returned_ns) / 1000);
}

/*
 * Reads the values, with the range lock. Returns whether there are any. values[] is indexed by
 * metric; missing ones are NAN.
 */
static bool read_range(struct tracer *tracer, const struct cupti_abi_callback_data *data,
		       bool has_launched, uint64_t returned_ns, double values[GPU_METRICS_MAX + 1])
{
	struct context *c = mine.context;
	double read[GPU_METRICS_MAX];
	size_t kernels = 0;
	int result = counter_ranges_stop(&c->ranges);

	for (uint32_t i = 0; i <= GPU_METRICS_MAX; i++)
		values[i] = NAN;
	if (result == CUPTI_ABI_SUCCESS)
		result = counter_ranges_read(&c->ranges, read, &kernels);
	tell_launch(tracer, &c->ranges, data->symbol_name, returned_ns, kernels);
	if (result != CUPTI_ABI_SUCCESS) {
		note_failure(tracer, c, result);
		return false;
	}
	c->failures = 0;
	if (kernels == 1 && has_launched) {
		for (uint32_t i = 0; i < c->ranges.host.count; i++)
			values[c->metrics[i]] = read[i];
		return true;
	}
	count_lost(has_launched ? GPU_UNMEASURED_BUSY : GPU_UNMEASURED_FAILED);
	return false;
}

/* Reads and sends the values. */
static bool take_range(struct tracer *tracer, const struct cupti_abi_callback_data *data,
		       bool has_launched)
{
	double values[GPU_METRICS_MAX + 1]; /* the last entry is for metrics that are not counted */
	uint64_t returned_ns = clock_now_ns();
	bool is_measured = read_range(tracer, data, has_launched, returned_ns, values);

	if (is_measured)
		send_values(tracer, mine.context, values, data->symbol_name);
	else
		send_state(tracer, mine.correlation_id, GPU_COUNTERS_NONE, NULL);
	counted_times_end(mine.correlation_id, &values[counters.duration], mine.launched_ns,
			  returned_ns);
	return is_measured;
}

static void end(struct tracer *tracer, const struct cupti_abi_callback_data *data)
{
	const int *launched = data->function_return_value;
	int cancel_state = mine.cancel_state;
	bool is_measured;
	struct guest guest;

	guest_enter(&guest);
	is_measured = take_range(tracer, data, launched && *launched == 0);
	mine.is_open = false;
	set_open(false);
	pthread_mutex_unlock(&counters.range_lock);
	note_done(mine.kernel, is_measured);
	guest_leave(&guest);
	pthread_setcancelstate(cancel_state, NULL);
}

static void end_capture(void)
{
	int captures = atomic_load(&counters.captures);

	while (captures > 0 &&
	       !atomic_compare_exchange_weak(&counters.captures, &captures, captures - 1))
		;
}

void counters_exit(struct tracer *tracer, uint32_t domain, uint32_t cbid,
		   const struct cupti_abi_callback_data *data)
{
	const int *result = data->function_return_value;

	switch (role_at(domain, cbid)) {
	case ROLE_LAUNCH:
		if (mine.is_open && mine.correlation_id == data->correlation_id)
			end(tracer, data);
		leave_launch();
		break;
	case ROLE_GRAPH:
		leave_launch();
		break;
	case ROLE_BEGIN_CAPTURE:
		if (result && *result != 0)
			end_capture();
		break;
	case ROLE_END_CAPTURE:
		end_capture();
		break;
	default:
		break;
	}
}
