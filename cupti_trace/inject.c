// SPDX-License-Identifier: MIT
/*
 * The injection library's entry and exit.
 *
 * The CUDA driver loads the library named by CUDA_INJECTION64_PATH inside cuInit, calls
 * InitializeInjection, and only then lets the application go on, so whatever happens here happens
 * before the first launch. Start: pipe, libcupti, subscription, hello, wait for the profiler's
 * probes, activity records, flusher thread. Every failure goes into the pipe, and leaves the
 * application as if the library were not there: nothing is printed, nothing exits or aborts.
 *
 * Where there is no pipe, the library was injected without a profiler, for tracers that attach to
 * its probes (probes.h). Then a thread looks for them now and then, and CUPTI is used only as long
 * as there are some.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "cupti_trace/activity.h"
#include "cupti_trace/call_probes.h"
#include "cupti_trace/call_stats.h"
#include "cupti_trace/callback.h"
#include "cupti_trace/exit_guard.h"
#include "cupti_trace/guest.h"
#include "cupti_trace/instance.h"
#include "cupti_trace/launch_log.h"
#include "cupti_trace/launch_stack.h"
#include "cupti_trace/own_cost.h"
#include "cupti_trace/probes.h"
#include "cupti_trace/python_stack.h"
#include "cupti_trace/stack_sampling.h"
#include "cupti_trace/tracer.h"
#include "symbolize/text.h"

#define OLDEST_CUPTI 18          /* CUDA 11.8: the record layouts in cupti_abi.h */
#define CUPTI_REFUSAL_IS_SAFE 27 /* CUDA 12.9: can go without a buffer */
#define CUPTI_DECOMPRESSES 26    /* CUDA 12.8: has CUPTI_ABI_ACTIVITY_KIND_MEM_DECOMPRESS */
#define TICK_MS 50               /* launches go out this often */
#define END_PATIENCE_MS 2000     /* at exit, for what may sit inside CUPTI */
#define TICKS_PER_FLUSH 5        /* activity records this often: 250 ms */
#define IDLE_TICK_MS 250         /* without a profiler, tracers are looked for this often */

int InitializeInjection(void);

/* CUPTI's buffer hooks and atexit carry no context: the one global state of this library. */
static struct tracer the_tracer = {
	.clock_lock = PTHREAD_MUTEX_INITIALIZER,
	.record_lock = PTHREAD_MUTEX_INITIALIZER,
	.flusher_lock = PTHREAD_MUTEX_INITIALIZER,
	.flusher_wake = PTHREAD_COND_INITIALIZER,
};
static pthread_mutex_t ask_lock = PTHREAD_MUTEX_INITIALIZER;

static void send_notice(struct tracer *tracer, enum gpu_notice code, const char *detail)
{
	struct gpu_event event = {.type = GPU_EVENT_NOTICE, .notice = {code, detail}};

	sink_put(&tracer->sink, &event);
}

/* The hello comes first: lines of a program without one are refused. */
static void defer_notice(struct tracer *tracer, enum gpu_notice code, const char *detail)
{
	char *copy = tracer->deferred_count < DEFERRED_NOTICES_MAX ? strdup(detail) : NULL;

	if (copy)
		tracer->deferred[tracer->deferred_count++] = (struct deferred_notice){code, copy};
}

static void send_deferred(struct tracer *tracer)
{
	for (uint32_t i = 0; i < tracer->deferred_count; i++) {
		send_notice(tracer, tracer->deferred[i].code, tracer->deferred[i].detail);
		free(tracer->deferred[i].detail);
	}
	tracer->deferred_count = 0;
}

void tracer_notice(struct tracer *tracer, enum gpu_notice code, const char *format, ...)
{
	char detail[GPU_WIRE_LINE_MAX];
	va_list args;

	if (code == GPU_NOTICE_VERBOSE && !tracer->verbose)
		return;
	va_start(args, format);
	vsnprintf(detail, sizeof(detail), format, args);
	va_end(args);
	if (probe_is_on(PROBE_notice))
		probe_fire_notice((const uint64_t[]){probe_text(detail)}, NULL);
	if (tracer->is_alone)
		return;
	if (atomic_load(&tracer->has_said_hello))
		send_notice(tracer, code, detail);
	else
		defer_notice(tracer, code, detail);
}

/* ---- asking the profiler ---- */

static int open_ack_pipe(const struct tracer *tracer, char *path, size_t size)
{
	const char *slash = strrchr(tracer->pipe_path, '/');
	int n = snprintf(path, size, "%.*s/" GPU_WIRE_ACK_FORMAT,
			 slash ? (int)(slash - tracer->pipe_path) : 1,
			 slash ? tracer->pipe_path : ".", tracer->sink.instance);

	if (n < 0 || (size_t)n >= size)
		return -ENAMETOOLONG;
	if (mkfifo(path, 0600) != 0)
		return -errno;
	/* both ends, so that it neither blocks nor reports end of file before the answer */
	return guest_open(path, O_RDWR | O_NONBLOCK | O_NOFOLLOW);
}

/*
 * Once a question was not answered, nobody waits for the profiler again until it has read all that
 * was written: it may be stopped, and each module that is loaded asks.
 */
static bool is_worth_waiting(const struct tracer *tracer)
{
	int unread = 0;

	return !tracer->lacks_answer || ioctl(tracer->sink.fd, FIONREAD, &unread) != 0 ||
	       unread == 0;
}

static void wait_for_answer(struct tracer *tracer, int ack)
{
	uint64_t deadline = clock_now_ns() + ACK_PATIENCE_MS * UINT64_C(1000000);
	uint64_t now;

	while ((now = clock_now_ns()) < deadline) {
		struct pollfd p[2] = {{.fd = ack, .events = POLLIN}, {.fd = tracer->sink.fd}};

		if (poll(p, 2, (int)((deadline - now) / 1000000) + 1) < 0 && errno != EINTR)
			return;
		if (p[0].revents || p[1].revents) {
			tracer->lacks_answer = false;
			return;
		}
	}
	tracer->lacks_answer = true;
	tracer_notice(tracer, GPU_NOTICE_OTHER,
		      "no answer from the profiler within %d ms; launches before its probes are on "
		      "are not captured",
		      ACK_PATIENCE_MS);
}

void tracer_ask(struct tracer *tracer, const struct gpu_event *event)
{
	char path[CUPTI_API_PATH_MAX + 32] = "";
	bool waits;
	int ack;

	pthread_mutex_lock(&ask_lock);
	waits = is_worth_waiting(tracer);
	ack = open_ack_pipe(tracer, path, sizeof(path));
	sink_put(&tracer->sink, event);
	sink_flush(&tracer->sink);
	if (waits && ack >= 0 && !sink_is_off(&tracer->sink))
		wait_for_answer(tracer, ack);
	if (ack >= 0) {
		close(ack);
		unlink(path);
	}
	pthread_mutex_unlock(&ask_lock);
}

static int note_count(struct dl_phdr_info *info, size_t size, void *data)
{
	(void)size;
	*(uint64_t *)data = info->dlpi_adds;
	return 1;
}

uint64_t tracer_count_mapped(void)
{
	uint64_t count = 0;

	dl_iterate_phdr(note_count, &count);
	return count;
}

struct library_list {
	char text[1500];
	size_t used;
};

static int note_library(struct dl_phdr_info *info, size_t size, void *data)
{
	struct library_list *list = data;
	const char *base = base_name(info->dlpi_name);
	int n;

	(void)size;
	if (!starts_with(base, "libcuda") && !starts_with(base, "libcupti"))
		return 0;
	n = snprintf(list->text + list->used, sizeof(list->text) - list->used, "%s%s",
		     list->used ? "\n" : "", info->dlpi_name);
	if (n > 0 && (size_t)n < sizeof(list->text) - list->used)
		list->used += (size_t)n;
	else
		list->text[list->used] = '\0';
	return 0;
}

/* Waits in any case: the profiler may have probes to attach, above all where CUPTI is missing. */
static void say_hello(struct tracer *tracer, const struct instance *instance, bool will_trace)
{
	struct library_list libraries = {.used = 0};
	char executable[CUPTI_API_PATH_MAX] = "";
	ssize_t n = readlink("/proc/self/exe", executable, sizeof(executable) - 1);
	struct gpu_event event = {
		.type = GPU_EVENT_HELLO,
		.hello = {.version = GPU_WIRE_VERSION,
			  .pid = tracer->sink.pid,
			  .instance = instance->id,
			  .pid_namespace = instance->pid_namespace,
			  .start_ticks = instance->start_ticks,
			  .executable = executable,
			  .cupti_path = tracer->api.path,
			  .cupti_version = tracer->api.version,
			  .clock_offset_ns = tracer->clock.newer.offset_ns,
			  .clock_error_ns = tracer->clock.newer.error_ns,
			  .libraries = libraries.text,
			  .wants_ack = 1,
			  .is_off = !will_trace},
	};

	executable[n > 0 ? n : 0] = '\0';
	dl_iterate_phdr(note_library, &libraries);
	atomic_store(&tracer->code_generation, tracer_count_mapped());
	tracer_ask(tracer, &event);
	atomic_store(&tracer->has_said_hello, true);
	send_deferred(tracer);
}

/* ---- CUPTI's buffers ---- */

static void send_totals(struct tracer *tracer);

static bool is_mine(struct tracer *tracer)
{
	return atomic_load(&tracer->phase) != TRACER_OFF && atomic_load(&tracer->owner) == getpid();
}

static void on_buffer_requested(uint8_t **buffer, size_t *size, size_t *max_records)
{
	struct guest guest;

	guest_enter(&guest);
	*buffer = buffers_get(&the_tracer.buffers, clock_now_ns(), size);
	*max_records = 0; /* as many as fit */
	guest_leave(&guest);
}

/* CUPTI counts the records it had no room for, from one asking to the next. */
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

static void measure_clock(struct tracer *tracer)
{
	struct clock_point point;

	if (clock_measure(&tracer->api, &point) != 0)
		return;
	pthread_mutex_lock(&tracer->clock_lock);
	clock_map_add(&tracer->clock, &point);
	pthread_mutex_unlock(&tracer->clock_lock);
}

/* Sends all launches logged so far, then the records of a buffer CUPTI has filled. */
static void send_buffer(struct tracer *tracer, uint8_t *buffer, size_t valid_size)
{
	struct clock_map clock = copy_clock(tracer);

	if (clock_was_set(&tracer->api, &clock)) {
		measure_clock(tracer);
		clock = copy_clock(tracer);
	}
	pthread_mutex_lock(&tracer->record_lock);
	activity_send_buffer(&(struct activity_output){&tracer->api, &tracer->names, &tracer->tally,
						       &tracer->sink, tracer->verbose,
						       tracer->began_ns, clock_now_ns(),
						       &tracer->saw_device, tracer->follows_memory},
			     &clock, buffer, valid_size);
	pthread_mutex_unlock(&tracer->record_lock);
}

void tracer_send_memory(struct tracer *tracer, const struct gpu_event_work *event,
			uint64_t timestamp)
{
	struct clock_map clock = copy_clock(tracer);

	pthread_mutex_lock(&tracer->record_lock);
	activity_send_memory(&(struct activity_output){.tally = &tracer->tally,
						       .sink = &tracer->sink,
						       .began_ns = tracer->began_ns,
						       .now_ns = clock_now_ns()},
			     &clock, event, timestamp);
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
	struct tracer *tracer = &the_tracer;
	struct guest guest;

	(void)size;
	guest_enter(&guest);
	if (valid_size > 0 && is_mine(tracer))
		send_buffer(tracer, buffer, valid_size);
	buffers_put(&tracer->buffers, buffer);
	count_dropped(tracer, context, stream);
	if (valid_size > 0 && is_mine(tracer) &&
	    (atomic_load(&tracer->phase) & ~TRACER_PROBES_CALLS) == TRACER_LEAVING)
		send_totals(tracer);
	guest_leave(&guest);
}

void tracer_flush(struct tracer *tracer, bool all)
{
	measure_clock(tracer);
	tracer->api.cuptiActivityFlushAll(all ? CUPTI_ABI_FLUSH_FORCED : 0);
	count_dropped(tracer, NULL, 0); /* those after the last buffer */
	launch_log_drain(&tracer->sink);
	callback_send_voids(tracer);
	call_stats_send(&tracer->sink);
	sink_flush(&tracer->sink);
}

/* ---- the flusher thread ---- */

/*
 * CUPTI writes records of devices when the driver starts, and documents that it may start too late
 * for that. If none came though there is work, they are requested once, from a thread that holds no
 * lock.
 */
static void ask_for_devices(struct tracer *tracer, uint32_t flag)
{
	if (!tracer->api.cuptiActivityEnableAndDump || !atomic_load(&tracer->has_context) ||
	    atomic_load(&tracer->saw_device) || !atomic_exchange(&tracer->wants_devices, false))
		return;
	tracer->api.cuptiActivityEnableAndDump(CUPTI_ABI_ACTIVITY_KIND_DEVICE);
	tracer->api.cuptiActivityFlushAll(flag);
}

/* The kinds of records: the first is required, the others are used where this CUPTI has them. */
static const uint32_t activities[] = {
	CUPTI_ABI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ABI_ACTIVITY_KIND_MEMCPY,
	CUPTI_ABI_ACTIVITY_KIND_MEMCPY2,           CUPTI_ABI_ACTIVITY_KIND_MEMSET,
	CUPTI_ABI_ACTIVITY_KIND_MEMORY2,           CUPTI_ABI_ACTIVITY_KIND_GRAPH_TRACE,
	CUPTI_ABI_ACTIVITY_KIND_MEM_DECOMPRESS,    CUPTI_ABI_ACTIVITY_KIND_DEVICE,
	CUPTI_ABI_ACTIVITY_KIND_CONTEXT,
};
#define ACTIVITIES (sizeof(activities) / sizeof(activities[0]))

/* These only describe what other records are about. */
static bool is_description(uint32_t kind)
{
	return kind == CUPTI_ABI_ACTIVITY_KIND_DEVICE || kind == CUPTI_ABI_ACTIVITY_KIND_CONTEXT;
}

static bool is_wanted(const struct tracer *tracer, uint32_t kind)
{
	if (is_description(kind))
		return tracer->describes_devices;
	if (kind == CUPTI_ABI_ACTIVITY_KIND_GRAPH_TRACE)
		return tracer->whole_graphs;
	if (kind == CUPTI_ABI_ACTIVITY_KIND_MEM_DECOMPRESS)
		return !tracer->kernels_only && tracer->api.version >= CUPTI_DECOMPRESSES;
	return !tracer->kernels_only || kind == CUPTI_ABI_ACTIVITY_KIND_CONCURRENT_KERNEL;
}

/* The profiler is gone: turn off all that costs the application time. */
static void turn_off(struct tracer *tracer)
{
	atomic_store(&tracer->phase, TRACER_OFF);
	call_probes_enable(tracer, 0, callback_follows);
	callback_unsubscribe(tracer);
	for (size_t i = 0; i < ACTIVITIES; i++)
		tracer->api.cuptiActivityDisable(activities[i]);
	if (atomic_load(&tracer->watches_uvm))
		tracer->api.cuptiActivityDisable(CUPTI_ABI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER);
}

/* Sleeps one tick; true when it is time to end. */
static bool wait_tick(struct tracer *tracer, uint32_t ms)
{
	struct timespec until = clock_in_ms(ms);
	bool stop;

	pthread_mutex_lock(&tracer->flusher_lock);
	if (!tracer->flusher_stop)
		pthread_cond_clockwait(&tracer->flusher_wake, &tracer->flusher_lock,
				       CLOCK_MONOTONIC, &until);
	stop = tracer->flusher_stop;
	pthread_mutex_unlock(&tracer->flusher_lock);
	return stop;
}

/* Makes CUPTI's callbacks those that the probes with these bits need. */
static void serve_calls(struct tracer *tracer, uint32_t on)
{
	call_probes_enable(tracer, on, callback_follows);
	if ((on & PROBES_OF_CALLS) || tracer->sends_errors)
		atomic_fetch_or(&tracer->phase, TRACER_PROBES_CALLS);
	else
		atomic_fetch_and(&tracer->phase, ~TRACER_PROBES_CALLS);
	tracer->probes = on;
}

static void *flusher_main(void *arg)
{
	struct tracer *tracer = arg;
	struct own_cost_mark mark = own_cost_begin();
	struct guest guest;

	guest_enter_briefly(&guest); /* all of this thread's time is measured here */
	for (uint64_t tick = 1; !wait_tick(tracer, TICK_MS); tick++) {
		if (sink_is_off(&tracer->sink)) {
			turn_off(tracer);
			break;
		}
		if (probes_on() != tracer->probes)
			serve_calls(tracer, probes_on());
		launch_stack_check_code(&tracer->sink);
		stack_sampling_tick();
		if (tick % TICKS_PER_FLUSH == 0) {
			tracer_flush(tracer, false);
			ask_for_devices(tracer, 0);
		} else {
			launch_log_drain(&tracer->sink);
			sink_flush(&tracer->sink);
		}
		own_cost_end(&mark);
		mark = own_cost_begin();
	}
	guest_leave(&guest);
	return NULL;
}

static void start_flusher(struct tracer *tracer, void *(*run)(void *tracer))
{
	sigset_t all, old;

	/* the application's signals are for its own threads */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	tracer->flusher_runs = pthread_create(&tracer->flusher, NULL, run, tracer) == 0;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (tracer->flusher_runs)
		pthread_setname_np(tracer->flusher, "profile-flush");
}

/*
 * At exit, for what may sit inside CUPTI: waits by trying again and again, as ThreadSanitizer knows
 * no function that waits for a lock or a thread by a clock that cannot be set.
 */
static uint64_t begin_patience(void)
{
	return clock_now_ns() + END_PATIENCE_MS * UINT64_C(1000000);
}

static bool is_patient(uint64_t until_ns)
{
	nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
	return clock_now_ns() < until_ns;
}

static void stop_flusher(struct tracer *tracer)
{
	uint64_t patience;

	if (!tracer->flusher_runs)
		return;
	pthread_mutex_lock(&tracer->flusher_lock);
	tracer->flusher_stop = true;
	pthread_cond_signal(&tracer->flusher_wake);
	pthread_mutex_unlock(&tracer->flusher_lock);
	/* it may sit inside CUPTI: exit must not hang on it */
	patience = begin_patience();
	while (pthread_tryjoin_np(tracer->flusher, NULL) == EBUSY && is_patient(patience))
		;
	tracer->flusher_runs = false;
}

/* ---- end, fork, start ---- */

static void tell_cost(struct tracer *tracer)
{
	uint64_t count = atomic_load(&tracer->captures);

	if (count > 0)
		tracer_notice(tracer, GPU_NOTICE_VERBOSE,
			      "%" PRIu64 " launch stacks took %" PRIu64 " ns each", count,
			      atomic_load(&tracer->capture_ns) / count);
}

/*
 * Sends the sums, then the totals: both of the same records, whoever sends more meanwhile. Again
 * after records that come later; the last goodbye counts.
 */
static void send_totals(struct tracer *tracer)
{
	uint64_t patience = begin_patience();
	bool locked;

	/* CUPTI's thread may still be at a buffer: exit must not hang on it */
	do
		locked = pthread_mutex_trylock(&tracer->record_lock) == 0;
	while (!locked && is_patient(patience));
	if (locked)
		activity_send_sums(&tracer->tally, &tracer->sink);
	sink_goodbye(&tracer->sink);
	if (locked)
		pthread_mutex_unlock(&tracer->record_lock);
}

static void say_goodbye(struct tracer *tracer)
{
	stop_flusher(tracer);
	tracer_flush(tracer, true);
	if (tracer->is_alone)
		return;
	ask_for_devices(tracer, CUPTI_ABI_FLUSH_FORCED);
	tell_cost(tracer);
	/* later handlers, destructors and other threads may still use the GPU */
	atomic_store(&tracer->phase,
		     TRACER_LEAVING | (atomic_load(&tracer->phase) & TRACER_PROBES_CALLS));
	launch_log_drain(&tracer->sink); /* of threads that launched meanwhile */
	callback_send_voids(tracer);
	call_stats_send(&tracer->sink);
	send_totals(tracer);
}

void tracer_send_late(struct tracer *tracer)
{
	struct guest guest;

	guest_enter(&guest);
	atomic_store(&tracer->has_late_work, true);
	launch_log_drain(&tracer->sink);
	callback_send_voids(tracer);
	sink_flush(&tracer->sink);
	guest_leave(&guest);
}

/*
 * The end of an orderly exit, for libraries that the program has loaded before this one: the last
 * moment to ask CUPTI for records, which is asked only if there may be some. Where the driver has
 * shut down by now it has refused the work before (seen with 580 on an H200). And the goodbye,
 * where nobody has called the exit handler: in a namespace of the loader (dlmopen), which has a C
 * library of its own.
 */
__attribute__((destructor)) static void on_unload(void)
{
	struct tracer *tracer = &the_tracer;
	struct guest guest;

	if (!is_mine(tracer))
		return;
	guest_enter(&guest);
	if (!atomic_exchange(&tracer->has_left, true)) {
		say_goodbye(tracer);
	} else if (atomic_exchange(&tracer->has_late_work, false)) {
		tracer_flush(tracer, true);
		send_totals(tracer);
	}
	guest_leave(&guest);
}

static void on_exit_process(void)
{
	struct guest guest;

	if (!is_mine(&the_tracer))
		return;
	guest_enter(&guest);
	atomic_store(&the_tracer.has_left, true);
	say_goodbye(&the_tracer);
	guest_leave(&guest);
}

/* CUDA does not work in a forked child, and the child's records would be the parent's again. */
static void on_fork_child(void)
{
	struct tracer *tracer = &the_tracer;
	struct guest guest;

	guest_enter(&guest);
	atomic_store(&tracer->phase, TRACER_OFF);
	atomic_store(&tracer->owner, 0);
	tracer->flusher_runs = false;
	sink_abandon(&tracer->sink);
	guest_leave(&guest);
}

/* Errors of begin_cupti besides CUPTI's results, which are positive. */
enum { TOO_OLD = -1 };

static int begin_cupti(void *context, struct cupti_api *api)
{
	struct tracer *tracer = context;
	int result;

	if (api->version < OLDEST_CUPTI)
		return TOO_OLD;
	tracer->clock = (struct clock_map){.steps = 0};
	measure_clock(tracer);
	/* without a profiler CUPTI is used again and again, and may still have buffers */
	if (!tracer->has_begun)
		buffers_init(&tracer->buffers, api->version >= CUPTI_REFUSAL_IS_SAFE);
	result = callback_subscribe(tracer);
	tracer->has_begun |= result == CUPTI_ABI_SUCCESS;
	return result;
}

/* Another client is in the way whatever library is used. */
static bool is_final(void *context, int error)
{
	(void)context;
	return error == CUPTI_ABI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
}

/* Loads and subscribes; on failure the reason is in the pipe. */
static bool set_up_cupti(struct tracer *tracer)
{
	struct cupti_api *api = &tracer->api;
	int err = cupti_api_load(api, &(struct cupti_api_use){begin_cupti, is_final, tracer});

	if (err == -ENOENT)
		tracer_notice(tracer, GPU_NOTICE_NO_CUPTI, "%s", api->looked);
	else if (err == -ENOSYS)
		tracer_notice(tracer, GPU_NOTICE_CUPTI_ERROR, "%s lacks a function that is needed",
			      api->path);
	else if (err == TOO_OLD)
		tracer_notice(tracer, GPU_NOTICE_OLD_CUPTI, "%s has CUPTI API version %u",
			      api->path, api->version);
	else if (err == CUPTI_ABI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED)
		tracer_notice(tracer, GPU_NOTICE_SUBSCRIBER_TAKEN, "%s",
			      callback_other_subscriber(tracer));
	else if (err)
		tracer_notice(tracer, GPU_NOTICE_CUPTI_ERROR, "cuptiSubscribe: %d (%s)", err,
			      cupti_api_error(api, err));
	return err == 0;
}

static const char *describe_activity(uint32_t kind)
{
	switch (kind) {
	case CUPTI_ABI_ACTIVITY_KIND_MEMCPY:
		return "copies";
	case CUPTI_ABI_ACTIVITY_KIND_MEMCPY2:
		return "copies between GPUs";
	case CUPTI_ABI_ACTIVITY_KIND_MEMSET:
		return "memory sets";
	case CUPTI_ABI_ACTIVITY_KIND_MEMORY2:
		return "allocations";
	case CUPTI_ABI_ACTIVITY_KIND_DEVICE:
		return "CUPTI did not name the devices";
	case CUPTI_ABI_ACTIVITY_KIND_CONTEXT:
		return "CUPTI did not report which contexts use MPS";
	case CUPTI_ABI_ACTIVITY_KIND_MEM_DECOMPRESS:
		return "CUPTI does not record decompression";
	default:
		return "graphs as a whole";
	}
}

/* Of interest to few: descriptions, and engines that most GPUs do not have. */
static bool is_missed(uint32_t kind)
{
	return !is_description(kind) && kind != CUPTI_ABI_ACTIVITY_KIND_MEM_DECOMPRESS;
}

/* Has to be asked for before any kind is enabled; takes 16 MiB of each context's memory. */
static void enable_device_graphs(struct tracer *tracer)
{
	const struct cupti_api *api = &tracer->api;
	int result;

	if (!tracer->device_graphs)
		return;
	if (!api->cuptiActivityEnableDeviceGraph) {
		tracer_notice(tracer, GPU_NOTICE_NOT_RECORDED,
			      "graphs that kernels launch: %s is older than CUDA 12.3", api->path);
		return;
	}
	result = api->cuptiActivityEnableDeviceGraph(1);
	if (result != CUPTI_ABI_SUCCESS)
		tracer_notice(tracer, GPU_NOTICE_NOT_RECORDED,
			      "graphs that kernels launch: %d (%s)", result,
			      cupti_api_error(api, result));
}

static bool is_copy_or_set(uint32_t kind)
{
	return kind == CUPTI_ABI_ACTIVITY_KIND_MEMCPY || kind == CUPTI_ABI_ACTIVITY_KIND_MEMCPY2 ||
	       kind == CUPTI_ABI_ACTIVITY_KIND_MEMSET;
}

static void enable_others(struct tracer *tracer)
{
	tracer->records_copies = !tracer->kernels_only;

	for (size_t i = 1; i < ACTIVITIES; i++) {
		int result = CUPTI_ABI_SUCCESS;

		if (is_wanted(tracer, activities[i]))
			result = tracer->api.cuptiActivityEnable(activities[i]);
		if (activities[i] == CUPTI_ABI_ACTIVITY_KIND_DEVICE)
			atomic_store(&tracer->wants_devices,
				     tracer->describes_devices && result == CUPTI_ABI_SUCCESS);
		if (result != CUPTI_ABI_SUCCESS && is_copy_or_set(activities[i]))
			tracer->records_copies = false;
		if (result != CUPTI_ABI_SUCCESS)
			tracer_notice(tracer,
				      is_missed(activities[i]) ? GPU_NOTICE_NOT_RECORDED
							       : GPU_NOTICE_VERBOSE,
				      "%s: %d (%s)", describe_activity(activities[i]), result,
				      cupti_api_error(&tracer->api, result));
	}
}

static bool start_activity(struct tracer *tracer)
{
	const struct cupti_api *api = &tracer->api;
	int result = api->cuptiActivityRegisterCallbacks(on_buffer_requested, on_buffer_completed);

	tracer->began_ns = clock_now_ns();
	enable_device_graphs(tracer);
	if (result == CUPTI_ABI_SUCCESS)
		result = api->cuptiActivityEnable(activities[0]);
	if (result == CUPTI_ABI_SUCCESS) {
		enable_others(tracer);
		return true;
	}
	tracer_notice(tracer, GPU_NOTICE_CUPTI_ERROR, "starting kernel activity: %d (%s)", result,
		      cupti_api_error(api, result));
	callback_unsubscribe(tracer);
	return false;
}

/* ---- without a profiler ---- */

/* The kinds of records that are read for probes, and for which. */
static const struct {
	uint32_t kind, probe;
} probed_activities[] = {
	{CUPTI_ABI_ACTIVITY_KIND_CONCURRENT_KERNEL, PROBE_BIT(kernel_done)},
	{CUPTI_ABI_ACTIVITY_KIND_MEMCPY, PROBE_BIT(memcpy_done)},
	{CUPTI_ABI_ACTIVITY_KIND_MEMCPY2, PROBE_BIT(memcpy_done)},
	{CUPTI_ABI_ACTIVITY_KIND_MEMSET, PROBE_BIT(memset_done)},
};

static void serve_work(struct tracer *tracer, uint32_t on)
{
	const struct cupti_api *api = &tracer->api;

	for (size_t i = 0; i < sizeof(probed_activities) / sizeof(probed_activities[0]); i++) {
		uint32_t kind = probed_activities[i].kind, probe = probed_activities[i].probe;
		int result = CUPTI_ABI_SUCCESS;

		if (!((on ^ tracer->probes) & probe))
			continue;
		if (on & probe)
			result = api->cuptiActivityEnable(kind);
		else
			api->cuptiActivityDisable(kind);
		if (result != CUPTI_ABI_SUCCESS)
			tracer_notice(tracer, GPU_NOTICE_NOT_RECORDED, "%s: %d (%s)",
				      describe_activity(kind), result,
				      cupti_api_error(api, result));
	}
}

/* False: CUPTI cannot be used; a notice says why. */
static bool begin_alone(struct tracer *tracer)
{
	int result;

	if (!set_up_cupti(tracer))
		return false;
	result = tracer->api.cuptiActivityRegisterCallbacks(on_buffer_requested,
							    on_buffer_completed);
	if (result != CUPTI_ABI_SUCCESS) {
		tracer_notice(tracer, GPU_NOTICE_CUPTI_ERROR, "activity records: %d (%s)", result,
			      cupti_api_error(&tracer->api, result));
		callback_unsubscribe(tracer);
		return false;
	}
	tracer->began_ns = clock_now_ns();
	launch_stack_check_code(&tracer->sink);
	atomic_store(&tracer->phase, TRACER_ALONE);
	return true;
}

/* The set of probes that are on has changed. What fails is tried again when it changes again. */
static void serve_alone(struct tracer *tracer, uint32_t on)
{
	bool uses_cupti = atomic_load(&tracer->phase) != TRACER_OFF;
	bool wants_cupti = (on & (PROBES_OF_CALLS | PROBES_OF_WORK)) != 0;

	if (wants_cupti && (uses_cupti || begin_alone(tracer))) {
		serve_work(tracer, on);
		serve_calls(tracer, on);
	} else if (uses_cupti && !wants_cupti) {
		/* another client of CUPTI may want it */
		tracer_flush(tracer, true);
		turn_off(tracer);
	}
	tracer->probes = on;
}

static void *watch_tracers(void *arg)
{
	struct tracer *tracer = arg;
	uint32_t ms = IDLE_TICK_MS;
	struct guest guest;

	guest_enter_briefly(&guest);
	for (uint64_t tick = 1; !wait_tick(tracer, ms); tick++) {
		if (probes_on() != tracer->probes)
			serve_alone(tracer, probes_on());
		ms = IDLE_TICK_MS;
		if (atomic_load(&tracer->phase) == TRACER_OFF)
			continue;
		ms = TICK_MS;
		launch_stack_check_code(&tracer->sink);
		if (tick % TICKS_PER_FLUSH == 0)
			tracer_flush(tracer, false);
	}
	guest_leave(&guest);
	return NULL;
}

/* For tracers: of those that are there already no call is missed. */
static void start_alone(struct tracer *tracer)
{
	tracer->is_alone = true;
	sink_open(&tracer->sink, "", (uint32_t)getpid(), 0); /* not at all */
	if (launch_log_init() != 0)
		return;
	pthread_atfork(NULL, NULL, on_fork_child);
	serve_alone(tracer, probes_on());
	start_flusher(tracer, watch_tracers);
	at_quick_exit(on_exit_process);
	exit_guard_add(on_exit_process);
}

/* ---- with a profiler ---- */

static void start(struct tracer *tracer, const struct instance *instance)
{
	bool ready;

	atomic_store(&tracer->has_said_hello, false); /* true after a fork */
	ready = set_up_cupti(tracer) && start_activity(tracer);
	launch_stack_check_code(&tracer->sink);
	atomic_store(&tracer->phase, ready ? TRACER_ON : TRACER_OFF);
	say_hello(tracer, instance, ready);
	if (!ready) {
		sink_flush(&tracer->sink);
		sink_abandon(&tracer->sink);
		return;
	}
	serve_calls(tracer, probes_on());
	start_flusher(tracer, flusher_main);
	at_quick_exit(on_exit_process);
	if (exit_guard_add(on_exit_process))
		tracer_notice(tracer, GPU_NOTICE_OTHER,
			      "out of memory: its last GPU work will be missing");
}

static void limit_stacks(struct tracer *tracer, const char *limit)
{
	unsigned long value = limit ? strtoul(limit, NULL, 10) : 0;

	tracer->limits_stacks = tracer->captures_stacks && value > 0 && value <= UINT32_MAX;
	if (tracer->limits_stacks)
		stack_sampling_init((uint32_t)value);
}

/* Called by the CUDA driver. Returns 1 as NVIDIA's samples do; the driver ignores failures. */
__attribute__((visibility("default"))) int InitializeInjection(void)
{
	struct tracer *tracer = &the_tracer;
	const char *pipe_path = getenv(GPU_WIRE_PIPE_ENV);
	struct instance instance;
	struct guest guest;
	pid_t nobody = 0;

	if (pipe_path && strlen(pipe_path) >= sizeof(tracer->pipe_path))
		return 1;
	if (!atomic_compare_exchange_strong(&tracer->owner, &nobody, getpid()))
		return 1;
	guest_enter(&guest);
	if (!pipe_path) {
		start_alone(tracer);
		guest_leave(&guest);
		return 1;
	}
	memcpy(tracer->pipe_path, pipe_path, strlen(pipe_path) + 1);
	tracer->captures_stacks = getenv(GPU_WIRE_STACKS_ENV) != NULL;
	own_cost_init();
	python_stack_init(&(struct python_stack_options){
		.lines = getenv(GPU_WIRE_PYTHON_LINES_ENV) != NULL,
		.keeps_native = getenv(GPU_WIRE_NATIVE_PYTHON_ENV) != NULL});
	tracer->verbose = getenv(GPU_WIRE_VERBOSE_ENV) != NULL;
	limit_stacks(tracer, getenv(GPU_WIRE_OVERHEAD_ENV));
	tracer->minds_stacks = tracer->verbose || tracer->limits_stacks;
	tracer->kernels_only = getenv(GPU_WIRE_KERNELS_ONLY_ENV) != NULL;
	tracer->unified_memory =
		!tracer->kernels_only && getenv(GPU_WIRE_UNIFIED_MEMORY_ENV) != NULL;
	tracer->describes_devices = getenv(GPU_WIRE_DEVICES_ENV) != NULL;
	tracer->whole_graphs = getenv(GPU_WIRE_GRAPHS_ENV) != NULL;
	tracer->device_graphs = getenv(GPU_WIRE_DEVICE_GRAPHS_ENV) != NULL;
	tracer->counts_calls = getenv(GPU_WIRE_CALLS_ENV) != NULL;
	tracer->follows_memory = getenv(GPU_WIRE_MEMORY_ENV) != NULL && !tracer->kernels_only;
	tracer->sends_errors = getenv(GPU_WIRE_ERRORS_ENV) != NULL;
	tracer->follows_waits = getenv(GPU_WIRE_WAITS_ENV) != NULL;
	tracer->times_launches = getenv(GPU_WIRE_TIMELINE_ENV) != NULL;
	instance_describe(&instance);
	if (launch_log_init() == 0 &&
	    sink_open(&tracer->sink, pipe_path, (uint32_t)getpid(), instance.id) == 0) {
		pthread_atfork(NULL, NULL, on_fork_child);
		start(tracer, &instance);
	}
	guest_leave(&guest);
	return 1;
}
