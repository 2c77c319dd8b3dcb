// SPDX-License-Identifier: MIT
#include "cupti_trace/main/flusher.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cupti_trace/core/active_marker.h"
#include "cupti_trace/core/guest.h"
#include "cupti_trace/core/overhead.h"
#include "cupti_trace/core/timeout.h"
#include "cupti_trace/core/attach_epoch.h"
#include "cupti_trace/hw/pc_sampling.h"
#include "cupti_trace/launch/call_stats.h"
#include "cupti_trace/launch/launch_log.h"
#include "cupti_trace/launch/launch_stack.h"
#include "cupti_trace/launch/layers.h"
#include "cupti_trace/launch/nvtx.h"
#include "cupti_trace/launch/probes.h"
#include "cupti_trace/launch/stack_sampling.h"
#include "cupti_trace/main/callback.h"
#include "cupti_trace/main/duty_cycle.h"
#include "cupti_trace/main/outflow.h"
#include "cupti_trace/unwind/code_map.h"

#define END_TICK_MS 10    /* once the range is over: the profiler waits */
#define TICKS_PER_FETCH 5 /* ticks between fetches of PC samples: 250 ms */
#define TICKS_PER_FLUSH 5 /* ticks between flushes under a budget */

static struct {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	pthread_t thread;
	_Atomic int state;        /* enum flusher_state */
	_Atomic bool wants_flush; /* before its next tick */
	bool polls_time_range;    /* the profiler may change the range */
	bool has_told_end;        /* GPU_NOTICE_RANGE_SENT was sent */
} flusher = {.lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER};

static bool is_to_stop(void)
{
	return atomic_load(&flusher.state) == FLUSHER_STOPS;
}

/*
 * Sleeps until then. Returns true when it is time to end. With `early`, returns sooner if a flush
 * is requested.
 */
static bool sleep_until(const struct timespec *until, bool early)
{
	int err = 0;
	bool stop;

	pthread_mutex_lock(&flusher.lock);
	while (!err && !is_to_stop() && !(early && atomic_load(&flusher.wants_flush)))
		err = pthread_cond_clockwait(&flusher.wake, &flusher.lock, CLOCK_MONOTONIC, until);
	stop = is_to_stop();
	pthread_mutex_unlock(&flusher.lock);
	return stop;
}

void tracer_flush_soon(void)
{
	if (atomic_exchange(&flusher.wants_flush, true))
		return;
	pthread_mutex_lock(&flusher.lock);
	pthread_cond_signal(&flusher.wake);
	pthread_mutex_unlock(&flusher.lock);
}

static bool is_before(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec != b->tv_sec ? a->tv_sec < b->tv_sec : a->tv_nsec < b->tv_nsec;
}

/* Sleeps until then, or until a flush is requested, and opens and closes windows meanwhile. */
static bool sleep_and_step(struct tracer *tracer, const struct timespec *until)
{
	for (;;) {
		uint64_t next = duty_cycle_next_ns();
		struct timespec edge = clock_deadline(next);

		if (next == UINT64_MAX || !is_before(&edge, until))
			return sleep_until(until, true);
		if (sleep_until(&edge, true))
			return true;
		if (atomic_load(&flusher.wants_flush))
			return false;
		duty_cycle_step(tracer);
	}
}

bool flusher_wait_tick(struct tracer *tracer, uint32_t ms)
{
	struct timespec until = clock_in_ms(ms), pause;

	while (!sleep_and_step(tracer, &until)) {
		if (!atomic_exchange(&flusher.wants_flush, false))
			return false;
		tracer_flush(tracer, false);
		pause = clock_in_ms(FLUSH_PAUSE_MS);
		if (!is_before(&pause, &until))
			return false;
		if (sleep_until(&pause, false))
			return true;
	}
	return true;
}

/* ---- a part of the run ---- */

/* Parses "FROM TO" or "FROM TO LEAVE". Returns false for anything else. */
static bool parse_time_range(const char *text, struct time_range *w)
{
	char *end;

	w->from_ns = strtoull(text, &end, 10);
	w->to_ns = *end == ' ' ? strtoull(end, &end, 10) : 0;
	w->leave_ns = *end == ' ' ? strtoull(end, &end, 10) : 0;
	return end != text && !*end;
}

/* Applies the range, which the profiler may have changed. Launching threads read it meanwhile. */
static void poll_time_range(struct tracer *tracer)
{
	const char *slash = strrchr(tracer->pipe_path, '/');
	char path[CUPTI_API_PATH_MAX + 32], text[GPU_WIRE_TIME_RANGE_BYTES + 1];
	struct time_range w;
	ssize_t n;

	snprintf(path, sizeof(path), "%.*s/" GPU_WIRE_TIME_RANGE_LINK,
		 slash ? (int)(slash - tracer->pipe_path) : 1, slash ? tracer->pipe_path : ".");
	n = readlink(path, text, sizeof(text) - 1);
	if (n <= 0)
		return;
	text[n] = '\0';
	if (!parse_time_range(text, &w))
		return;
	__atomic_store_n(&tracer->time_range.to_ns, w.to_ns, __ATOMIC_RELAXED);
	__atomic_store_n(&tracer->time_range.from_ns, w.from_ns, __ATOMIC_RELAXED);
	tracer->time_range.leave_ns = w.leave_ns; /* this thread's alone */
}

void flusher_read_time_range(struct tracer *tracer, const char *text)
{
	flusher.polls_time_range = tracer_is_late(tracer) || text;
	if (!text || !parse_time_range(text, &tracer->time_range))
		tracer->time_range = (struct time_range){0};
	/* if it is over, there is nothing to send; an injected copy says hello, then leaves */
	if (text && !tracer_is_late(tracer))
		poll_time_range(tracer);
}

/* Returns whether records of the range, which is over, are waited for no longer. */
static bool has_waited(const struct tracer *tracer, uint64_t now)
{
	const struct time_range *w = &tracer->time_range;
	uint64_t grace =
		tracer_is_late(tracer) ? TIME_RANGE_INJECTED_GRACE_NS : TIME_RANGE_GRACE_NS;

	return now - w->to_ns >= grace || (w->leave_ns && now >= w->leave_ns);
}

/* Sends what is known of the range, which is over, and says so. */
static void tell_range_is_sent(struct tracer *tracer)
{
	struct gpu_event event = {.type = GPU_EVENT_NOTICE, .notice = {GPU_NOTICE_RANGE_SENT, ""}};

	flusher.has_told_end = true;
	tracer_flush(tracer, false);
	sink_put(&tracer->sink, &event);
	sink_flush(&tracer->sink);
}

/*
 * Follows the range. Returns true when it has ended: its work has been sent, and nothing more will
 * be.
 */
static bool follow_time_range(struct tracer *tracer)
{
	uint64_t now = clock_now_ns();

	if (!time_range_is_far(&tracer->time_range, now))
		atomic_fetch_and(&tracer->phase, ~TRACER_IDLE);
	if (!time_range_is_over(&tracer->time_range, now))
		return false;
	atomic_fetch_or(&tracer->phase, TRACER_IDLE);
	if (!has_waited(tracer, now)) {
		if (!flusher.has_told_end)
			tell_range_is_sent(tracer);
		return false;
	}
	outflow_send_rest(tracer);
	if (!tracer_is_late(tracer)) /* otherwise it is the last thing sent */
		outflow_send_goodbye(tracer);
	outflow_turn_off(tracer);
	return true;
}

/* ---- a copy that was injected ---- */

/*
 * Detaches the thread, which is about to end. Returns false if the process is ending, too, and
 * waits for it.
 */
static bool end_alone(void)
{
	bool ends_alone;

	pthread_mutex_lock(&flusher.lock);
	ends_alone = tracer_moves(&flusher.state, FLUSHER_RUNS, FLUSHER_NONE);
	if (ends_alone)
		pthread_detach(flusher.thread);
	pthread_mutex_unlock(&flusher.lock);
	return ends_alone;
}

/*
 * Forgets what this profiler was sent: the next one knows nothing of it. Entries that threads have
 * logged since are lost in the closed pipe. Memory and threads' own tables are used again.
 */
static void start_over(struct tracer *tracer)
{
	atomic_fetch_add(&attach_epoch, 1);
	launch_log_drain(&tracer->sink);
	call_stats_send(&tracer->sink);
	nvtx_count_missing(&tracer->sink);
	launch_stack_start_over();
	pthread_mutex_lock(&tracer->record_lock);
	names_release(&tracer->names);
	work_tally_release(&tracer->tally);
	pthread_mutex_unlock(&tracer->record_lock);
	sink_start_over(&tracer->sink);
	tracer->probes = 0;
	atomic_store(&tracer->captures, 0);
	atomic_store(&tracer->capture_ns, 0);
	atomic_store(&tracer->watches_uvm, false);
	atomic_store(&tracer->reported_device_launch, false);
	atomic_store(&tracer->devices, DEVICES_SETTLED);
	atomic_store(&tracer->void_launches, 0);
	atomic_store(&tracer->exit, EXIT_AHEAD);
	atomic_store(&tracer->skips_unended, false);
	/* last: profile_begin may be called again */
	atomic_store(&tracer->owner, 0);
}

/*
 * Leaves the program, once everything is off. CUPTI returns its remaining memory, and the pipe is
 * closed. cuptiFinalize is not called: after a few attachments programs with graphs failed
 * (docs/attach.md).
 */
static void leave(struct tracer *tracer)
{
	tracer->api.cuptiActivityFlushAll(CUPTI_ABI_FLUSH_FORCED);
	outflow_send_goodbye(tracer);
	sink_close(&tracer->sink);
	buffers_trim(&tracer->buffers);
	code_map_close();
	if (end_alone() && !tracer->config.memory)
		start_over(tracer);
	active_marker_end();
}

/* ---- the thread ---- */

void *flusher_main(void *arg)
{
	struct tracer *tracer = arg;
	struct overhead_mark mark = overhead_begin();
	struct guest guest;

	callback_find_own();
	guest_enter_briefly(&guest); /* all of this thread's time is measured here */
	flusher.has_told_end = false;
	for (uint64_t tick = 1;
	     !flusher_wait_tick(tracer, flusher.has_told_end ? END_TICK_MS : FLUSHER_TICK_MS);
	     tick++) {
		if (tracer_is_late(tracer))
			sink_look_for_reader(&tracer->sink);
		if (flusher.polls_time_range)
			poll_time_range(tracer);
		if (sink_is_off(&tracer->sink)) {
			outflow_report_failure(tracer);
			outflow_turn_off(tracer);
			break;
		}
		if (time_range_is_part(&tracer->time_range) && follow_time_range(tracer))
			break;
		if (probes_on() != tracer->probes)
			callback_serve(tracer, probes_on());
		launch_stack_check_code(&tracer->sink);
		layers_check();
		stack_sampling_tick();
		/* samples of single launches are many more */
		if (tracer->config.stall_period &&
		    (tracer->config.exact_stalls || tick % TICKS_PER_FETCH == 0))
			pc_sampling_fetch(tracer);
		if (!tracer->config.budget || tick % TICKS_PER_FLUSH == 0)
			tracer_flush(tracer, false);
		sink_beat(&tracer->sink);
		outflow_ask_for_devices(tracer, 0);
		overhead_end(&mark);
		mark = overhead_begin();
	}
	if (atomic_load(&tracer->phase) == TRACER_OFF) {
		if (tracer_is_late(tracer))
			leave(tracer);
		else
			active_marker_end();
	}
	guest_leave(&guest);
	return NULL;
}

bool flusher_start(struct tracer *tracer, void *(*run)(void *tracer))
{
	sigset_t all, old;
	bool runs;

	/* the application's signals are for its own threads */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	runs = pthread_create(&flusher.thread, NULL, run, tracer) == 0 &&
	       tracer_moves(&flusher.state, FLUSHER_NONE, FLUSHER_RUNS);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (runs)
		pthread_setname_np(flusher.thread, "profile-flush");
	return runs;
}

void flusher_stop(void)
{
	bool runs;

	pthread_mutex_lock(&flusher.lock);
	runs = atomic_exchange(&flusher.state, FLUSHER_STOPS) == FLUSHER_RUNS;
	pthread_cond_signal(&flusher.wake);
	pthread_mutex_unlock(&flusher.lock);
	if (runs)
		timeout_join(flusher.thread, TIMEOUT_MS); /* it may be inside CUPTI */
}

void flusher_forget(void)
{
	tracer_moves(&flusher.state, FLUSHER_RUNS, FLUSHER_NONE);
}
