// SPDX-License-Identifier: MIT
/*
 * Implements the injection library's entry and exit.
 *
 * The CUDA driver loads the library named by CUDA_INJECTION64_PATH inside cuInit and calls
 * InitializeInjection. Only then does the application continue, so everything here happens before
 * the first launch. Start: pipe, libcupti, subscription, hello, wait for the profiler's probes,
 * activity records, flusher thread. Every failure goes into the pipe, and leaves the application as
 * if the library were not there. Nothing is printed, nothing exits or aborts.
 *
 * The profiler injects the library into a running process, and calls profile_begin with the text of
 * its environment (profiler/attach/inject_process.h). Then threads of ours do all of this:
 * contexts, modules and graphs exist already. Such a copy of the library can leave before the
 * process ends. It leaves when its range has ended (GPU_WIRE_TIME_RANGE_LINK), or when nobody reads
 * the pipe any more. It stays mapped and does nothing, until the next profiler of this build calls
 * profile_begin again. A copy that has followed memory, or could not be started, does not begin
 * again: a new copy is injected.
 *
 * Without a pipe, the library was injected without a profiler. With INJECTION_TRACE it works as
 * with a profiler, but into a file (sink.h), which `profile --from` reads later. Otherwise it
 * serves tracers that attach to its probes (probes.h): a thread polls for them, and CUPTI is used
 * only while there are some.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cupti_trace/core/active_marker.h"
#include "cupti_trace/core/exit_guard.h"
#include "cupti_trace/core/guest.h"
#include "cupti_trace/core/instance.h"
#include "cupti_trace/core/loader_count.h"
#include "cupti_trace/core/output_path.h"
#include "cupti_trace/core/overhead.h"
#include "cupti_trace/core/settings.h"
#include "cupti_trace/core/tracer.h"
#include "cupti_trace/hw/counter_output.h"
#include "cupti_trace/hw/hw_counters.h"
#include "cupti_trace/hw/pc_sampling.h"
#include "cupti_trace/launch/launch_log.h"
#include "cupti_trace/launch/launch_stack.h"
#include "cupti_trace/launch/layers.h"
#include "cupti_trace/launch/probes.h"
#include "cupti_trace/launch/recorded_range.h"
#include "cupti_trace/launch/stack_sampling.h"
#include "cupti_trace/launch/torch_operators.h"
#include "cupti_trace/main/callback.h"
#include "cupti_trace/main/duty_cycle.h"
#include "cupti_trace/main/flusher.h"
#include "cupti_trace/main/outflow.h"
#include "cupti_trace/main/record_kinds.h"
#include "cupti_trace/main/resources.h"
#include "cupti_trace/main/trace.h"
#include "cupti_trace/python/python_stack.h"
#include "cupti_trace/unwind/code_map.h"
#include "symbolize/util/text.h"

#define OLDEST_CUPTI 18          /* CUDA 11.8: the record layouts in cupti_abi.h */
#define CUPTI_REFUSAL_IS_SAFE 27 /* CUDA 12.9: can go without a buffer */
#define IDLE_TICK_MS 250         /* interval of polling for tracers without a profiler */

int InitializeInjection(void);
void profile_begin(const char *text);

/* CUPTI's buffer hooks and atexit carry no context: the one global state of this library. */
static struct tracer the_tracer = {
	.clock_lock = PTHREAD_MUTEX_INITIALIZER,
	.record_lock = PTHREAD_MUTEX_INITIALIZER,
};

/* Notices from before the hello, by the one thread that starts the library. */
#define DEFERRED_NOTICES_MAX 8
struct deferred_notice {
	enum gpu_notice code;
	char *detail;
};

static struct {
	pthread_mutex_t lock; /* protects questions */
	_Atomic bool is_sent;
	bool lacks_answer; /* the last question timed out; under the lock */
	struct deferred_notice deferred[DEFERRED_NOTICES_MAX];
	uint32_t deferred_count;
} hello = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void send_notice(struct tracer *tracer, enum gpu_notice code, const char *detail)
{
	struct gpu_event event = {.type = GPU_EVENT_NOTICE, .notice = {code, detail}};

	sink_put(&tracer->sink, &event);
}

/* Keeps a notice until after the hello: lines of a program without a hello are refused. */
static void defer_notice(enum gpu_notice code, const char *detail)
{
	char *copy = hello.deferred_count < DEFERRED_NOTICES_MAX ? strdup(detail) : NULL;

	if (copy)
		hello.deferred[hello.deferred_count++] = (struct deferred_notice){code, copy};
}

static void send_deferred(struct tracer *tracer)
{
	for (uint32_t i = 0; i < hello.deferred_count; i++) {
		send_notice(tracer, hello.deferred[i].code, hello.deferred[i].detail);
		free(hello.deferred[i].detail);
	}
	hello.deferred_count = 0;
}

void tracer_notice(struct tracer *tracer, enum gpu_notice code, const char *format, ...)
{
	char detail[GPU_WIRE_LINE_MAX];
	va_list args;

	if (code == GPU_NOTICE_VERBOSE && !tracer->config.verbose)
		return;
	va_start(args, format);
	vsnprintf(detail, sizeof(detail), format, args);
	va_end(args);
	if (probe_is_on(PROBE_notice))
		probe_fire_notice((const uint64_t[]){probe_text(detail)}, NULL);
	if (tracer_is_alone(tracer)) {
		counter_output_note(code == GPU_NOTICE_VERBOSE ? "note" : "error", detail);
		return;
	}
	if (atomic_load(&hello.is_sent))
		send_notice(tracer, code, detail);
	else
		defer_notice(code, detail);
}

void tracer_notice_result(struct tracer *tracer, enum gpu_notice code, const char *what, int result)
{
	if (result != CUPTI_ABI_SUCCESS)
		tracer_notice(tracer, code, "%s: %d (%s)", what, result,
			      cupti_api_error(&tracer->api, result));
}

/* ---- asking the profiler ---- */

/*
 * Opens the acknowledgement FIFO. Close it by guest_close with `*file`. Returns -errno if there is
 * none, so that no answer can come.
 */
static int open_ack_pipe(const struct tracer *tracer, char *path, size_t size, struct stat *file)
{
	const char *slash = strrchr(tracer->pipe_path, '/');
	int n = snprintf(path, size, "%.*s/" GPU_WIRE_ACK_FORMAT,
			 slash ? (int)(slash - tracer->pipe_path) : 1,
			 slash ? tracer->pipe_path : ".", tracer->sink.instance);

	if (n < 0 || (size_t)n >= size)
		return -ENAMETOOLONG;
	if (guest_is_sandboxed())
		return -EPERM;
	if (mkfifo(path, 0600) != 0 || lstat(path, file) != 0)
		return -errno;
	/* both ends, so that it neither blocks nor reports end of file before the answer */
	return guest_open(path, O_RDWR | O_NONBLOCK | O_NOFOLLOW);
}

/*
 * Returns whether to wait for an answer. After a timeout no thread waits again until the profiler
 * has read everything written: it may be stopped, and each loaded module asks.
 */
static bool is_worth_waiting(const struct tracer *tracer)
{
	int unread = 0;

	return !hello.lacks_answer || ioctl(tracer->sink.fd, FIONREAD, &unread) != 0 || unread == 0;
}

static void wait_for_answer(struct tracer *tracer, int ack)
{
	uint64_t ms = tracer_is_late(tracer) ? LATE_ACK_TIMEOUT_MS : ACK_TIMEOUT_MS;
	uint64_t deadline = clock_now_ns() + ms * UINT64_C(1000000);
	uint64_t now;

	while ((now = clock_now_ns()) < deadline) {
		struct pollfd p[2] = {{.fd = ack, .events = POLLIN}, {.fd = tracer->sink.fd}};

		if (poll(p, 2, (int)((deadline - now) / 1000000) + 1) < 0 && errno != EINTR)
			return;
		if (p[0].revents || p[1].revents) {
			hello.lacks_answer = false;
			return;
		}
	}
	hello.lacks_answer = true;
	tracer_notice(tracer, GPU_NOTICE_OTHER,
		      "no answer from the profiler within %" PRIu64
		      " ms; launches until its probes are attached are not captured",
		      ms);
}

void tracer_ask(struct tracer *tracer, const struct gpu_event *event)
{
	char path[CUPTI_API_PATH_MAX + 32] = "";
	struct stat file;
	bool waits;
	int ack;

	pthread_mutex_lock(&hello.lock);
	waits = is_worth_waiting(tracer);
	ack = guest_is_isolated() ? -1 : open_ack_pipe(tracer, path, sizeof(path), &file);
	sink_put(&tracer->sink, event);
	sink_flush(&tracer->sink);
	if (waits && ack >= 0 && !sink_is_off(&tracer->sink))
		wait_for_answer(tracer, ack);
	if (ack >= 0) {
		guest_close(ack, &file);
		unlink(path);
	}
	pthread_mutex_unlock(&hello.lock);
}

/* Sends a question, if a profiler can answer. */
static void send_question(struct tracer *tracer, const struct gpu_event *event)
{
	if (!tracer->sink.is_file) {
		tracer_ask(tracer, event);
		return;
	}
	sink_put(&tracer->sink, event);
	sink_flush(&tracer->sink);
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

/*
 * Sends the hello. Always waits: the profiler may have probes to attach, above all if CUPTI is
 * missing.
 */
static void send_hello(struct tracer *tracer, const struct instance *instance, bool will_trace)
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
			  .wants_ack = !tracer->sink.is_file,
			  .is_off = !will_trace},
	};

	executable[n > 0 ? n : 0] = '\0';
	dl_iterate_phdr(note_library, &libraries);
	atomic_store(&tracer->code_generation, loader_count_read().loaded);
	send_question(tracer, &event);
	if (tracer->sink.is_file)
		trace_describe_run(&tracer->sink);
	atomic_store(&hello.is_sent, true);
	send_deferred(tracer);
}
/* ---- end, fork, start ---- */

static void send_goodbye(struct tracer *tracer)
{
	flusher_stop();
	if (!tracer_is_on(tracer))
		return; /* recording ended before the program did */
	if (!tracer_is_alone(tracer)) {
		outflow_send_rest(tracer);
		outflow_send_goodbye(tracer);
		outflow_report_failure(tracer);
		return;
	}
	if (tracer_reads_counters(tracer))
		counters_write_rest();
	tracer_flush(tracer, true);
}

/*
 * Ends an orderly exit, after libraries that the program has loaded before this one. It is the last
 * moment to ask CUPTI for records; asks only if there may be some. If the driver has shut down by
 * now, it has refused the work before (seen with 580 on an H200). Also says goodbye if the exit
 * handler was not called: in a namespace of the loader (dlmopen), which has a C library of its own.
 */
__attribute__((destructor)) static void on_unload(void)
{
	struct tracer *tracer = &the_tracer;
	struct guest guest;

	if (!tracer_is_on(tracer))
		return;
	guest_enter(&guest);
	if (tracer_moves(&tracer->exit, EXIT_AHEAD, EXIT_CALLED)) {
		send_goodbye(tracer);
	} else if (tracer_moves(&tracer->exit, EXIT_LATE_WORK, EXIT_CALLED)) {
		tracer_flush(tracer, true);
		outflow_send_goodbye(tracer);
	}
	guest_leave(&guest);
}

static void on_exit_process(void)
{
	struct guest guest;

	if (!tracer_is_on(&the_tracer))
		return;
	guest_enter(&guest);
	tracer_moves(&the_tracer.exit, EXIT_AHEAD, EXIT_CALLED);
	send_goodbye(&the_tracer);
	guest_leave(&guest);
}

/*
 * Turns tracing off. CUDA does not work in a forked child, and its records would duplicate the
 * parent's.
 */
static void on_fork_child(void)
{
	struct tracer *tracer = &the_tracer;
	struct guest guest;

	guest_enter(&guest);
	atomic_store(&tracer->phase, TRACER_OFF);
	atomic_store(&tracer->owner, 0);
	flusher_forget();
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
	if (tracer_is_late(tracer))
		pthread_setname_np(pthread_self(), GPU_WIRE_IN_CUPTI);
	tracer->clock = (struct clock_map){.steps = 0};
	outflow_measure_clock(tracer);
	/* without a profiler CUPTI is used again and again, and may still have buffers */
	if (tracer->stage < STAGE_BEGUN)
		buffers_init(&tracer->buffers, api->version >= CUPTI_REFUSAL_IS_SAFE);
	result = callback_subscribe(tracer);
	if (result == CUPTI_ABI_SUCCESS && tracer->stage < STAGE_BEGUN)
		tracer->stage = STAGE_BEGUN;
	return result;
}

/* Returns whether the search ends: another client blocks every library. */
static bool is_final(void *context, int error)
{
	(void)context;
	return error == CUPTI_ABI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
}

/* Loads and subscribes. On failure the reason is in the pipe. */
static bool set_up_cupti(struct tracer *tracer)
{
	struct cupti_api *api = &tracer->api;
	int err;

	if (tracer_is_late(tracer) && tracer->stage >= STAGE_BEGUN) /* it has been loaded */
		err = begin_cupti(tracer, api);
	else
		err = cupti_api_load(api, &(struct cupti_api_use){begin_cupti, is_final, tracer});
	if (err == -ENOENT)
		tracer_notice(tracer, GPU_NOTICE_NO_CUPTI, "%s", api->looked);
	else if (err == -ENOSYS)
		tracer_notice(tracer, GPU_NOTICE_CUPTI_ERROR, "%s lacks a required function",
			      api->path);
	else if (err == TOO_OLD)
		tracer_notice(tracer, GPU_NOTICE_OLD_CUPTI, "%s has CUPTI API version %u",
			      api->path, api->version);
	else if (err == CUPTI_ABI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED)
		tracer_notice(tracer, GPU_NOTICE_SUBSCRIBER_TAKEN, "%s",
			      callback_other_subscriber(tracer));
	else
		tracer_notice_result(tracer, GPU_NOTICE_CUPTI_ERROR, "cuptiSubscribe", err);
	return err == 0;
}

static bool start_activity(struct tracer *tracer)
{
	int result = outflow_open(tracer);

	tracer->began_ns = clock_now_ns();
	if (result == CUPTI_ABI_SUCCESS)
		result = record_kinds_enable(tracer);
	if (result == CUPTI_ABI_SUCCESS)
		return true;
	tracer_notice_result(tracer, GPU_NOTICE_CUPTI_ERROR, "starting kernel activity", result);
	callback_unsubscribe(tracer);
	return false;
}

/* Sets up the configured counters. Removes them from the configuration if they cannot be read. */
static void read_counters(struct tracer *tracer)
{
	struct trace_config *config = &tracer->config;

	if (config->metrics &&
	    !counters_init(tracer,
			   &(struct counters_options){config->metrics, config->metrics_kernels,
						      config->metrics_launches}))
		config->metrics = NULL;
}

/* ---- without a profiler ---- */

/* Begins without a profiler. Returns false, after a notice, if CUPTI cannot be used. */
static bool begin_alone(struct tracer *tracer)
{
	int result;

	if (!set_up_cupti(tracer))
		return false;
	result = outflow_open(tracer);
	if (result != CUPTI_ABI_SUCCESS) {
		tracer_notice_result(tracer, GPU_NOTICE_CUPTI_ERROR, "activity records", result);
		callback_unsubscribe(tracer);
		return false;
	}
	tracer->began_ns = clock_now_ns();
	launch_stack_check_code(&tracer->sink);
	atomic_store(&tracer->phase, TRACER_ALONE);
	return true;
}

/* Serves a changed set of probes. A failure is retried at the next change. */
static void serve_alone(struct tracer *tracer, uint32_t on)
{
	bool uses_cupti = atomic_load(&tracer->phase) != TRACER_OFF;
	bool wants_cupti =
		tracer_reads_counters(tracer) || (on & (PROBES_OF_CALLS | PROBES_OF_WORK)) != 0;

	if (wants_cupti && (uses_cupti || begin_alone(tracer))) {
		record_kinds_serve(tracer, on);
		callback_serve(tracer, on);
	} else if (uses_cupti && !wants_cupti) {
		/* another client of CUPTI may want it */
		tracer_flush(tracer, true);
		outflow_turn_off(tracer);
	}
	tracer->probes = on;
}

static void *watch_tracers(void *arg)
{
	struct tracer *tracer = arg;
	uint32_t ms = IDLE_TICK_MS;
	struct guest guest;

	guest_enter_briefly(&guest);
	while (!flusher_wait_tick(tracer, ms)) {
		if (probes_on() != tracer->probes)
			serve_alone(tracer, probes_on());
		ms = IDLE_TICK_MS;
		if (atomic_load(&tracer->phase) == TRACER_OFF)
			continue;
		ms = FLUSHER_TICK_MS;
		launch_stack_check_code(&tracer->sink);
		tracer_flush(tracer, false);
	}
	guest_leave(&guest);
	return NULL;
}

/*
 * Starts counters for a file, if the program's user asks for them. Not in programs that run with
 * more privilege than their user has.
 */
static void start_counters_alone(struct tracer *tracer)
{
	const char *metrics = secure_getenv("INJECTION_METRICS");
	const char *output = secure_getenv("INJECTION_OUTPUT");
	int err;

	if (!metrics)
		return;
	tracer->config.verbose = secure_getenv("INJECTION_VERBOSE") != NULL;
	err = output ? counter_output_open(output) : -ENOENT;
	if (err) {
		if (tracer->config.verbose)
			output_path_complain("INJECTION_OUTPUT", output, err);
		return;
	}
	tracer->config.metrics = metrics;
	tracer->config.metrics_kernels = secure_getenv("INJECTION_METRICS_KERNELS");
	tracer->config.metrics_launches = secure_getenv("INJECTION_METRICS_LAUNCHES");
	read_counters(tracer);
}

/* Starts for tracers. If some are attached already, no call is missed. */
static void start_alone(struct tracer *tracer)
{
	tracer->start = START_ALONE;
	start_counters_alone(tracer);
	sink_open(&tracer->sink, "", (uint32_t)getpid(), 0); /* not open at all */
	if (launch_log_init() != 0)
		return;
	pthread_atfork(NULL, NULL, on_fork_child);
	serve_alone(tracer, probes_on());
	flusher_start(tracer, watch_tracers);
	at_quick_exit(on_exit_process);
	exit_guard_add(on_exit_process);
}

/* ---- with a profiler ---- */

static void start(struct tracer *tracer, const struct instance *instance)
{
	bool ready, flusher_runs;

	atomic_store(&hello.is_sent, false); /* true after a fork */
	hello.lacks_answer = false;
	ready = set_up_cupti(tracer) && start_activity(tracer);
	if (ready && tracer_is_late(tracer))
		resources_expect_contexts(tracer);
	if (tracer->config.stacks)
		code_map_open();
	launch_stack_check_code(NULL); /* notices about Python come after the hello */
	/* a running program would send before the hello */
	if (tracer_is_late(tracer))
		send_hello(tracer, instance, ready);
	tracer->began_ns = tracer_is_late(tracer) ? clock_now_ns() : tracer->began_ns;
	if (ready)
		duty_cycle_begin(tracer);
	atomic_store(&tracer->phase, !ready                  ? TRACER_OFF
				     : tracer->config.budget ? TRACER_ON | TRACER_IN_WINDOWS
							     : TRACER_ON);
	if (!tracer_is_late(tracer))
		send_hello(tracer, instance, ready);
	python_stack_look(&tracer->sink);
	if (!ready) {
		sink_flush(&tracer->sink);
		sink_abandon(&tracer->sink);
		active_marker_end();
		return;
	}
	callback_serve(tracer, probes_on());
	flusher_runs = flusher_start(tracer, flusher_main);
	recorded_range_begin(tracer);
	if (flusher_runs && time_range_is_far(&tracer->time_range, clock_now_ns()))
		atomic_fetch_or(&tracer->phase, TRACER_IDLE); /* the flusher ends that in time */
	if (tracer->stage == STAGE_HOOKED)
		return;
	tracer->stage = STAGE_HOOKED;
	at_quick_exit(on_exit_process);
	if (exit_guard_add(on_exit_process))
		tracer_notice(tracer, GPU_NOTICE_OTHER,
			      "out of memory: its last GPU work will be missing");
}

/* Reads the configuration, and resolves contradictions in it. */
static void read_options(struct tracer *tracer)
{
	struct trace_config *config = &tracer->config;

	*config = *settings_config();
	python_stack_init(&(struct python_stack_options){.lines = config->python_lines,
							 .keeps_native = config->native_python,
							 .modules = config->modules});
	layers_follow(config->modules);
	torch_operators_follow(&(struct torch_operators_options){
		.operators = config->ops, .layers = config->modules && !tracer_is_late(tracer)});
	if (!config->stacks)
		config->max_overhead = 0;
	if (config->max_overhead)
		stack_sampling_init(config->max_overhead);
	config->unified_memory &= !config->kernels_only;
	config->memory &= !config->kernels_only;
	if (config->stall_period < PC_SAMPLING_PERIOD_MIN ||
	    config->stall_period > PC_SAMPLING_PERIOD_MAX)
		config->stall_period = 0;
	read_counters(tracer);
}

/* Begins with a pipe. */
static void begin(struct tracer *tracer, const char *pipe_path)
{
	struct instance instance;

	memcpy(tracer->pipe_path, pipe_path, strlen(pipe_path) + 1);
	flusher_read_time_range(tracer, setting(GPU_WIRE_TIME_RANGE_ENV));
	if (time_range_is_over(&tracer->time_range, clock_now_ns())) {
		active_marker_end();
		return;
	}
	overhead_init();
	read_options(tracer);
	instance_describe(&instance);
	if (tracer->stage >= STAGE_BEGUN) {
		/* a thread may have been in a callback when the library left */
		launch_log_drain(&tracer->sink);
		launch_stack_start_over();
	}
	if (launch_log_init() == 0 &&
	    sink_open(&tracer->sink, pipe_path, (uint32_t)getpid(), instance.id) == 0) {
		if (tracer->stage < STAGE_HOOKED)
			pthread_atfork(NULL, NULL, on_fork_child);
		start(tracer, &instance);
	} else {
		active_marker_end();
	}
}

/* Begins with a file instead of a pipe. Returns 0 or -errno. */
static int begin_trace(struct tracer *tracer, const char *path)
{
	struct instance instance;
	int err;

	instance_describe(&instance);
	trace_use_settings();
	err = launch_log_init();
	if (!err)
		err = sink_open_file(&tracer->sink, path, (uint32_t)getpid(), instance.id);
	if (err)
		return err;
	overhead_init();
	output_path_note_stderr();
	read_options(tracer);
	pthread_atfork(NULL, NULL, on_fork_child);
	active_marker_begin(); /* a later profiler finds CUPTI taken */
	start(tracer, &instance);
	return 0;
}

/* Starts a trace if the program's user asks for it. Returns false if not. */
static bool start_trace(struct tracer *tracer)
{
	const char *name = trace_name();
	char path[SINK_PATH_MAX];
	int err;

	if (!name)
		return false;
	err = output_path(name, path, sizeof(path));
	if (!err)
		err = begin_trace(tracer, path);
	if (err && secure_getenv("INJECTION_VERBOSE"))
		output_path_complain(TRACE_ENV, name, err);
	return !err;
}

static bool is_too_long(const char *pipe_path)
{
	return pipe_path && strlen(pipe_path) >= sizeof(the_tracer.pipe_path);
}

/* Called by the CUDA driver. Returns 1 as NVIDIA's samples do; the driver ignores failures. */
__attribute__((visibility("default"))) int InitializeInjection(void)
{
	struct tracer *tracer = &the_tracer;
	const char *pipe_path = setting(GPU_WIRE_PIPE_ENV);
	struct guest guest;
	pid_t nobody = 0;

	if (is_too_long(pipe_path))
		return 1;
	if (!atomic_compare_exchange_strong(&tracer->owner, &nobody, getpid()))
		return 1;
	guest_begin();
	guest_enter(&guest);
	if (pipe_path)
		begin(tracer, pipe_path);
	else if (!start_trace(tracer))
		start_alone(tracer);
	guest_leave(&guest);
	return 1;
}

/* Held until the starting thread has its first name: the thread sets the next one. */
static pthread_mutex_t naming = PTHREAD_MUTEX_INITIALIZER;

static void *begin_late(void *arg)
{
	struct tracer *tracer = arg;
	const char *pipe_path = setting(GPU_WIRE_PIPE_ENV);
	struct guest guest;

	pthread_mutex_lock(&naming);
	pthread_mutex_unlock(&naming);
	guest_begin();
	guest_enter(&guest);
	begin(tracer, pipe_path);
	guest_leave(&guest);
	return NULL;
}

/*
 * Begins in an injected process, in a thread that was interrupted anywhere. Nothing here may wait:
 * other threads may hold locks and wait for this one. So a thread of ours calls CUPTI.
 */
__attribute__((visibility("default"))) void profile_begin(const char *text)
{
	struct tracer *tracer = &the_tracer;
	const char *pipe_path;
	pid_t nobody = 0;
	pthread_t thread;

	/* a child of fork inherits its parent's state, but no CUDA */
	if (tracer->sink.owner && tracer->sink.owner != getpid())
		return;
	if (!atomic_compare_exchange_strong(&tracer->owner, &nobody, getpid()))
		return;
	tracer->start = START_LATE;
	if (settings_use(text) != 0)
		return;
	pipe_path = setting(GPU_WIRE_PIPE_ENV);
	/* the caller has blocked all signals, which the thread inherits */
	if (!pipe_path || is_too_long(pipe_path))
		return;
	active_marker_begin();
	pthread_mutex_lock(&naming);
	if (pthread_create(&thread, NULL, begin_late, tracer) == 0) {
		pthread_setname_np(thread, GPU_WIRE_SEARCHING);
		pthread_detach(thread);
	} else {
		active_marker_end();
	}
	pthread_mutex_unlock(&naming);
}
