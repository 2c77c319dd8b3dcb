// SPDX-License-Identifier: MIT
#include "profiler/run/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include "profiler/base/exit_status.h"
#include "profiler/run/attached.h"
#include "profiler/run/exec_error.h"
#include "profiler/run/kernel_reader.h"
#include "profiler/run/pipe_reader.h"
#include "profiler/run/run_parts.h"
#include "profiler/run/target.h"
#include "symbolize/util/monotonic.h"
#include "symbolize/util/saturate.h"

#define TICK_MS 50
#define DELAY_TICK_MS 250 /* during --delay with running processes */
#define QUICK_TICK_MS 5   /* while a program starts, to learn early what it runs */
#define FIRST_QUICK_NS 100000000u
#define PIPE_PAUSE_NS 2000000 /* let a busy pipe fill up: fewer, larger reads */
#define LOG_WAITING_NS 1000000000u
#define SURVIVORS_GRACE_NS 50000000u
#define LISTED_MAX 32
#define COUNT_NS 250000000u
#define NAMING_SLEEP_MS 10000 /* limit for slow files once recording is over */

struct session {
	struct run_parts run;
	const struct inherited *inherited;
	struct target target;
	bool ends_by_signal;     /* by a signal since session_begin_sending */
	bool abandons_target;    /* it became another user and cannot be killed */
	bool stops_waiting;      /* skip what this phase waits for, except the command */
	bool has_logged_waiting; /* the wait for surviving GPU users was logged */
	bool asks_snapshot_now;  /* a signal requested a snapshot */
	bool ends_delay;         /* end --delay with running processes */
	uint32_t interrupts;     /* SIGINTs so far */
	int early_signal;        /* signal that ends the run before the target runs; 0: none */
	uint64_t lost_samples, waiting, next_count_ns; /* for a watcher */
	uint64_t clocks_read_ns;                       /* last reading of processes' CPU clocks */
	uint64_t longest_round_ns;                     /* longest time between two waits */
	uint64_t other_children_ns;                    /* CPU time; session_discount_child */
};

struct session *session_new(const struct session_options *options,
			    const struct inherited *inherited,
			    const struct supervisor_link *supervisor, struct log *log)
{
	struct session *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	run_parts_init(&s->run, options, supervisor, log);
	s->inherited = inherited;
	target_init(&s->target);
	return s;
}

void session_free(struct session *s)
{
	if (!s)
		return;
	target_release_resources(&s->target);
	run_parts_close(&s->run);
	free(s);
}

int session_open(struct session *s)
{
	return run_parts_open(&s->run);
}

/* ---- setting up ---- */

/* Returns true if NVTX is to be injected. A tool chosen by the user stays: NVTX serves only one. */
static bool takes_nvtx(const struct session *s)
{
	const char *chosen = getenv(TARGET_ENVIRONMENT_NVTX);

	if ((s->run.options->measure.nvtx || s->run.options->measure.ranges) && chosen)
		log_warn(s->run.log,
			 TARGET_ENVIRONMENT_NVTX
			 " is set to %s and stays: no NVTX ranges in this profile",
			 chosen);
	return s->run.options->measure.nvtx && !chosen;
}

static int start_target(struct session *s, bool stdout_is_taken)
{
	const struct session_options *o = s->run.options;
	const char *injected = getenv(TARGET_ENVIRONMENT_CUDA);
	struct target_environment environment;
	struct target_options options = {
		.command = o->command,
		.inherited = s->inherited,
		.stdout_to_stderr = stdout_is_taken,
	};

	if (o->measure.traces_gpu) {
		struct measure measure = o->measure;

		if (injected)
			log_warn(s->run.log,
				 TARGET_ENVIRONMENT_CUDA
				 " is set to %s; it is replaced for this run",
				 injected);
		measure.nvtx = takes_nvtx(s);
		run_parts_environment(&s->run, &measure, &environment);
		options.environment = environment.variables;
	}
	return target_start(&s->target, &options);
}

/* Follows the target, which waits at its gate, and samples it from here on. */
static int follow_target(struct session *s)
{
	static const char refused[] = "%s. Without that, perf events need "
				      "kernel.perf_event_paranoid at 2 or less: %s. %s";
	bool has_bpf = kernel_events_bpf(s->run.kernel) != NULL,
	     needed = !s->run.options->measure.traces_gpu;
	int err;

	/* process the target's fork first: its parent is not followed */
	kernel_reader_drain(&s->run, true);
	err = kernel_events_follow(s->run.kernel, s->target.pid);
	if (err && has_bpf) {
		log_error(s->run.log, "cannot follow the command: %s", strerror(-err));
		return err;
	}
	if (err) {
		if (needed) {
			log_error(s->run.log, refused, s->run.no_bpf, strerror(-err),
				  "No CPU samples");
			return err;
		}
		log_warn(s->run.log, refused, s->run.no_bpf, strerror(-err),
			 "Going on with GPU time only");
	} else if (!has_bpf && s->run.options->measure.samples_cpu) {
		log_warn(
			s->run.log,
			"%s. Going on with CPU samples of user code only, without Python functions",
			s->run.no_bpf);
	}
	if (kernel_events_know_tree(s->run.kernel))
		collect_know_tree(s->run.collect);
	else
		collect_ledger(s->run.collect)->processes.unwatched = 1;
	if (!has_bpf)
		collect_lose_privileged(s->run.collect);
	if (!collect_start_target(s->run.collect, s->target.pid))
		return -ENOMEM;
	recording_target(s->run.recording, s->target.pid);
	return kernel_events_watch(s->run.kernel, s->run.epoll, READY_KERNEL);
}

static int set_up(struct session *s, bool stdout_is_taken)
{
	int err;

	if (run_parts_open_inputs(&s->run) != 0)
		return EXIT_PROFILER_FAILED;
	err = start_target(s, stdout_is_taken);
	if (err)
		return log_failure(s->run.log, "cannot start a process: %s", strerror(-err));
	supervisor_report_target(s->run.supervisor, s->target.pid);
	run_parts_lock(&s->run);
	if (s->target.end >= 0)
		run_parts_watch(&s->run, s->target.end, READY_TARGET);
	if (run_parts_probe_libraries(&s->run) != 0 || follow_target(s) != 0)
		return EXIT_PROFILER_FAILED;
	return 0;
}

/* ---- signals ---- */

static bool asks_to_end(int signal)
{
	return signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT;
}

/*
 * Returns true if the target already has a signal. Signals typed at the terminal reach its process
 * group directly. On hangup, though, the kernel sends SIGHUP to the session leader alone.
 */
static bool target_has_it(const struct session *s, const struct supervisor_signal *signal)
{
	return signal->from_terminal && signal->number != SIGHUP &&
	       getpgid(s->target.pid) == getpgrp();
}

static void kill_target(struct session *s)
{
	log_warn(s->run.log, "interrupted again: killing the command");
	s->stops_waiting = true;
	if (target_signal(&s->target, SIGKILL) != -EPERM)
		return;
	log_warn(s->run.log,
		 "the command runs as another user and cannot be killed: finishing without it");
	s->abandons_target = true;
}

/* Returns true if SESSION_SNAPSHOT_SIGNAL requests a snapshot rather than going to the command. */
static bool takes_snapshots(const struct session *s)
{
	return s->run.options->measure.last_ns || s->run.options->measure.attached;
}

static void on_signal(struct session *s, const struct supervisor_signal *signal)
{
	s->ends_by_signal |= asks_to_end(signal->number);
	if (takes_snapshots(s) && signal->number == SESSION_SNAPSHOT_SIGNAL) {
		s->asks_snapshot_now = true; /* taken once the run goes on */
	} else if (s->run.phase == RUN_SETTING_UP) {
		if (asks_to_end(signal->number))
			s->early_signal = signal->number;
	} else if (s->target.ended || s->run.attachment) {
		s->stops_waiting |= asks_to_end(signal->number);
	} else if (signal->number == SIGINT && ++s->interrupts >= 2) {
		kill_target(s);
	} else if (!target_has_it(s, signal)) {
		target_signal(&s->target, signal->number);
	}
}

static void read_signals(struct session *s)
{
	struct supervisor_signal signal;
	int result;

	while ((result = supervisor_next_signal(s->run.supervisor, &signal)) == 1)
		on_signal(s, &signal);
	if (result < 0 && s->run.phase != RUN_FAILED)
		run_phase_enter(&s->run.phase, RUN_FAILED);
}

/* Returns true if a signal ended the run before it began. The command does not run then. */
static bool is_called_off(struct session *s)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	sigset_t pending;

	read_signals(s);
	/* signals from the terminal reach us before the supervisor can send them */
	if (!s->early_signal && sigpending(&pending) == 0)
		for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
			if (sigismember(&pending, ends[i]))
				s->early_signal = ends[i];
	return s->run.phase == RUN_FAILED || s->early_signal;
}

static int called_off_status(const struct session *s)
{
	return s->run.phase == RUN_FAILED ? EXIT_PROFILER_FAILED
					  : EXIT_SIGNAL_BASE + s->early_signal;
}

static int release_target(struct session *s)
{
	char variable[TARGET_VARIABLE_BYTES];
	int err;

	if (is_called_off(s))
		return called_off_status(s);
	run_phase_enter(&s->run.phase, RUN_GOING);
	run_parts_begin(&s->run);
	s->run.quick_until_ns = s->run.start_ns + FIRST_QUICK_NS; /* covers its exec */
	recorded_time_range_set(&s->run, variable);
	err = target_release(&s->target, variable);
	return err ? exec_error_explain(s->run.log, s->run.options->command, -err) : 0;
}

/* ---- running processes ---- */

/* Waits for --delay, or until all processes have ended. Returns false after a signal. */
static bool await_delay(struct session *s)
{
	const struct session_watcher *watcher = &s->run.options->watcher;
	uint64_t now_ns = monotonic_ns(), most_ms = watcher->look ? TICK_MS : DELAY_TICK_MS;
	uint64_t until_ns = saturated_sum(now_ns, s->run.options->attach->delay_ns);
	struct epoll_event ready;

	if (now_ns < until_ns)
		log_verbose(s->run.log, "the processes are looked at after --delay");
	for (; now_ns < until_ns && !s->ends_delay && !attachment_has_ended(s->run.attachment);
	     now_ns = monotonic_ns()) {
		uint64_t left_ms = (until_ns - now_ns) / 1000000 + 1;

		if (is_called_off(s))
			return false;
		epoll_wait(s->run.epoll, &ready, 1, (int)(left_ms < most_ms ? left_ms : most_ms));
		if (watcher->look)
			watcher->look(watcher->context, NULL);
	}
	return !is_called_off(s);
}

static int attach(struct session *s)
{
	if (attached_open(&s->run) != 0)
		return EXIT_PROFILER_FAILED;
	if (!await_delay(s))
		return called_off_status(s);
	return attached_follow(&s->run) == 0 ? 0 : EXIT_PROFILER_FAILED;
}

/* ---- the loop ---- */

/* Polls all sources once. */
static void collect_round(struct session *s)
{
	struct bpf_source *bpf = kernel_events_bpf(s->run.kernel);
	uint64_t begun_ns = monotonic_ns();

	obstacles_look(s->run.obstacles, begun_ns);
	if (s->run.phase == RUN_GOING && !kernel_events_know_tree(s->run.kernel))
		obstacles_scan(s->run.obstacles, s->target.pid, begun_ns);
	if (bpf)
		bpf_source_vary_clocks(bpf, begun_ns);
	else if (s->run.phase == RUN_GOING && begun_ns - s->clocks_read_ns >= TICK_MS * 1000000u) {
		s->clocks_read_ns = begun_ns;
		collect_read_clocks(s->run.collect, begun_ns, false);
	}
	/* catch up while a program starts, to learn early whether it is Python */
	kernel_reader_drain(&s->run, begun_ns < s->run.quick_until_ns);
	if (pipe_reader_read(&s->run))
		pipe_reader_close_ended(&s->run, begun_ns);
	attached_cuda_take_injected(&s->run.cuda);
	attached_look_again(&s->run);
	collect_advance(s->run.collect, kernel_events_until(s->run.kernel));
	collect_set_time(s->run.collect, begun_ns);
	collect_read_thread_names(s->run.collect);
	gpu_watch_look(&s->run.gpu_watch, s->run.collect, s->run.log, begun_ns);
}

/* Counts survivors after a grace period for processes that end with their parent. */
static bool has_counted_survivors(struct session *s)
{
	uint32_t count;

	if (s->run.phase != RUN_COMMAND_ENDED)
		return true;
	count = s->run.options->measure.samples_cpu ? collect_count_running(s->run.collect) : 0;
	if (count && !s->stops_waiting && monotonic_ns() - s->run.ended_ns < SURVIVORS_GRACE_NS)
		return false;
	collect_ledger(s->run.collect)->cpu.after_end = count;
	run_phase_enter(&s->run.phase, RUN_AWAITING_SURVIVORS);
	return true;
}

/* Returns true if nothing more is to be waited for after the command's end. */
static bool is_done(struct session *s)
{
	pid_t pids[LISTED_MAX];
	char text[256] = "";
	uint32_t count;
	size_t used = 0;

	if (s->run.attachment)
		return s->stops_waiting || attached_libraries_left(&s->run);
	if (!has_counted_survivors(s))
		return false;
	if (!s->run.pipe || s->stops_waiting)
		return true;
	if (!gpu_pipe_has_running(s->run.pipe)) {
		payload_close_writer(&s->run.payload);
		/* find out first whether another writer has the pipe open */
		pipe_reader_read(&s->run);
	}
	if (s->run.reader.has_ended)
		return true;
	/* a process that never stops writing would keep the pipe from getting empty */
	if (s->has_logged_waiting || s->run.reader.unread_at_end ||
	    monotonic_ns() - s->run.ended_ns < LOG_WAITING_NS)
		return false;
	s->has_logged_waiting = true;
	count = gpu_pipe_list(s->run.pipe, pids, LISTED_MAX);
	for (uint32_t i = 0; i < count && i < LISTED_MAX && used < sizeof(text) - 16; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%d", i ? ", " : "",
					 (int)pids[i]);
	log_warn(s->run.log,
		 "the command has ended, but processes it started still use the GPU "
		 "(%s%s); waiting for them, Ctrl-C stops waiting",
		 count ? text : "unknown", count > LISTED_MAX ? ", ..." : "");
	return false;
}

/* Returns true if the command, or all that is followed, has ended or is waited for no longer. */
static bool has_ended(struct session *s)
{
	if (s->run.phase != RUN_GOING)
		return true;
	if (s->run.attachment) {
		if (!attached_end_if_over(&s->run, s->stops_waiting))
			return false;
		s->stops_waiting = false;
		return true;
	}
	if (!target_poll(&s->target) && !s->abandons_target)
		return false;
	run_phase_enter(&s->run.phase, RUN_COMMAND_ENDED);
	s->run.ended_ns = monotonic_ns();
	s->run.reader.unread_at_end = s->run.pipe ? payload_count_left(&s->run.payload) : 0;
	if (s->target.ended) {
		supervisor_report_ended(s->run.supervisor);
		collect_wait_status(s->run.collect, s->target.pid, s->run.ended_ns,
				    s->target.wait_status);
	}
	if (s->target.end >= 0)
		epoll_ctl(s->run.epoll, EPOLL_CTL_DEL, s->target.end, NULL);
	/* CPU samples end with the command; survivors are counted */
	kernel_events_stop_samples(s->run.kernel);
	kernel_reader_drain(&s->run, false);
	if (s->target.used_ns)
		collect_cpu_used(s->run.collect, s->target.pid, s->run.ended_ns, s->target.used_ns,
				 false);
	collect_read_clocks(s->run.collect, s->run.ended_ns, true);
	return true;
}

/* Returns true if -d is over and programs have sent its data, or their timeout has passed. */
static bool has_recorded(struct session *s)
{
	return recorded_time_range_is_over(&s->run) &&
	       (!s->run.pipe || s->run.reader.has_ended || s->stops_waiting ||
		monotonic_ns() - s->run.recorded.time_range.to_ns >= GOODBYE_TIMEOUT_NS ||
		!gpu_pipe_has_running(s->run.pipe));
}

/* Updates counters that are too costly for each round. */
static void count_for_watcher(struct session *s, uint64_t now_ns)
{
	struct bpf_source *bpf = kernel_events_bpf(s->run.kernel);
	struct stack_counters counters;

	if (now_ns < s->next_count_ns)
		return;
	s->next_count_ns = now_ns + COUNT_NS;
	s->waiting = s->run.pipe ? gpu_pipe_waiting(s->run.pipe) : 0;
	s->lost_samples = bpf ? 0 : kernel_events_lost(s->run.kernel);
	if (!bpf)
		return;
	counters = bpf_source_counters(bpf);
	s->lost_samples = counters.dropped_samples + counters.dropped_launches;
}

/* Calls the watcher; `is_over`: for the last time. */
static void call_watcher(struct session *s, bool is_over)
{
	const struct session_watcher *watcher = &s->run.options->watcher;
	uint64_t now_ns;

	if (!watcher->look)
		return;
	now_ns = monotonic_ns();
	count_for_watcher(s, now_ns);
	watcher->look(watcher->context,
		      &(struct session_view){
			      .collected = collect_results(s->run.collect),
			      .start_ns = s->run.start_ns,
			      .now_ns = now_ns,
			      .sample_ns = measure_sample_ns(s->run.options->measure.frequency_hz),
			      .lost_samples = s->lost_samples,
			      .waiting = s->waiting,
			      .asks_snapshot = s->asks_snapshot_now,
			      .has_read_all = s->run.reader.has_read_all,
			      .is_over = is_over,
			      .pid = s->run.attachment ? attachment_first(s->run.attachment)
						       : s->target.pid});
	s->asks_snapshot_now = false;
}

static void loop(struct session *s)
{
	const struct timespec pause = {0, PIPE_PAUSE_NS};
	uint64_t drained_ns = monotonic_ns(), last_ns = drained_ns;
	bool is_over = false;

	recorded_time_range_begin_when_due(&s->run);
	while (!is_over && s->run.phase != RUN_FAILED) {
		struct epoll_event ready[16];
		bool had_ended = s->run.phase != RUN_GOING, ended = has_ended(s);
		bool is_quick = ended || monotonic_ns() < s->run.quick_until_ns ||
				(s->run.attachment && s->run.recorded.stage == TIME_RANGE_AHEAD);
		int tick = is_quick ? QUICK_TICK_MS : TICK_MS;
		int n = epoll_wait(s->run.epoll, ready, 16,
				   ended && !had_ended ? 0 /* all may have been read already */
						       : recorded_time_range_tick(&s->run, tick));
		bool pipe_is_ready = false, kernel_is_ready = false;
		uint64_t now = monotonic_ns();

		if (now - last_ns > s->longest_round_ns)
			s->longest_round_ns = now - last_ns;
		last_ns = now;
		recorded_time_range_begin_when_due(&s->run);
		for (int i = 0; i < n; i++) {
			if (ready[i].data.u32 == READY_SIGNAL)
				read_signals(s);
			pipe_is_ready |= ready[i].data.u32 == READY_PIPE;
			kernel_is_ready |= ready[i].data.u32 == READY_KERNEL;
		}
		if (kernel_is_ready || ended || now - drained_ns >= (uint64_t)tick * 1000000) {
			collect_round(s);
			drained_ns = now;
		} else if (pipe_is_ready) {
			pipe_reader_read(&s->run);
			nanosleep(&pause, NULL);
		}
		if (s->run.phase == RUN_FAILED) /* show and copy nothing */
			break;
		call_watcher(s, false);
		is_over = has_recorded(s) || (ended && is_done(s));
	}
}

/* ---- the end ---- */

static uint64_t cpu_ns(const struct rusage *usage)
{
	return ((uint64_t)usage->ru_utime.tv_sec + (uint64_t)usage->ru_stime.tv_sec) * 1000000000u +
	       ((uint64_t)usage->ru_utime.tv_usec + (uint64_t)usage->ru_stime.tv_usec) * 1000u;
}

/* Returns the CPU time of the command and of the children that it waited for. */
static uint64_t waited_cpu_ns(const struct session *s)
{
	struct rusage children = {0};
	uint64_t ns;

	getrusage(RUSAGE_CHILDREN, &children);
	ns = cpu_ns(&children);
	return ns > s->other_children_ns ? ns - s->other_children_ns : 0;
}

/* Returns the end of the run. With --last this is the end of the last process. */
static uint64_t end_of_run(const struct session *s)
{
	uint64_t now_ns = monotonic_ns(), ended_ns = collect_last_end(s->run.collect);

	if (!s->run.options->measure.last_ns || !ended_ns || ended_ns > now_ns ||
	    collect_count_running(s->run.collect) > 0)
		return now_ns;
	return ended_ns;
}

static void finish_collect(struct session *s)
{
	obstacles_finish(s->run.obstacles);
	collect_finish(s->run.collect, s->run.ended_ns);
	kernel_reader_take_counters(&s->run);
	collect_discount_taken(s->run.collect);
}

static void collect_rest(struct session *s)
{
	pipe_reader_finish(&s->run);
	kernel_reader_finish(&s->run);
	collect_waited_for(s->run.collect, s->run.attachment ? 0 : waited_cpu_ns(s));
	if (!s->run.attachment) /* otherwise libraries may have taken time to leave */
		s->run.ended_ns = end_of_run(s);
	gpu_watch_end(&s->run.gpu_watch, s->run.collect, s->run.log, monotonic_ns());
	call_watcher(s, true);
	attached_cuda_take_injected(&s->run.cuda); /* results of the last processes */
	attached_cuda_warn_missed(&s->run.cuda);
	finish_collect(s);
}

void session_complete_copy(struct session *s, uint64_t until_ns)
{
	run_phase_enter(&s->run.phase, RUN_COPIED);
	s->run.ended_ns = until_ns;
	if (s->run.attachment && s->run.recorded.stage == TIME_RANGE_AHEAD) /* nothing recorded */
		s->run.start_ns = until_ns;
	if (s->run.options->measure.last_ns &&
	    !time_range_is_over(&s->run.recorded.time_range, until_ns))
		recorded_time_range_end_copy(&s->run, until_ns);
	collect_close(s->run.collect);
	collect_read_clocks(s->run.collect, s->run.ended_ns, true);
	finish_collect(s);
}

void session_note_copy(struct session *s, uint64_t until_ns)
{
	struct ledger *ledger = collect_ledger(s->run.collect), before = *ledger;

	kernel_reader_take_counters(&s->run);
	collect_note_copy(s->run.collect, until_ns, ledger);
	*ledger = before; /* the kernel's counts are added at the end */
}

void session_take(struct session *s)
{
	collect_take(s->run.collect);
}

int session_begin_time_range(struct session *s)
{
	if (s->run.phase != RUN_SETTING_UP)
		return recorded_time_range_begin_soon(&s->run);
	s->ends_delay = true;
	return 0;
}

void session_stop(struct session *s)
{
	uint64_t now_ns = monotonic_ns();

	s->stops_waiting |= s->run.attachment && s->run.phase != RUN_LEAVING;
	if (!s->run.attachment && !time_range_is_over(&s->run.recorded.time_range, now_ns))
		recorded_time_range_end(&s->run, now_ns);
}

void session_discount_child(struct session *s, uint64_t ns)
{
	s->other_children_ns += ns;
}

bool session_goes_on(const struct session *s)
{
	return !s->run.attachment && !s->target.ended && !s->abandons_target;
}

/* Returns the status to pass on. An abandoned command counts as ended by Ctrl-C. */
static int final_status(const struct session *s)
{
	if (s->run.attachment)
		return 0;
	if (s->target.ended)
		return target_exit_status(&s->target);
	return session_goes_on(s) ? 0 : EXIT_SIGNAL_BASE + SIGINT;
}

/* Reports the signal that killed the command. A status of 128 + N gets no message. */
static void report_killed(const struct session *s)
{
	int signal = s->target.ended ? target_killed_by(&s->target) : 0;
	const char *name = sigabbrev_np(signal);

	if (name)
		log_warn(s->run.log, "the command was killed by SIG%s (%d)", name, signal);
	else if (signal)
		log_warn(s->run.log, "the command was killed by signal %d", signal);
}

int session_run(struct session *s, bool stdout_is_taken, int *exit_status)
{
	int status = s->run.options->attach ? attach(s) : set_up(s, stdout_is_taken);

	if (!status && !s->run.attachment)
		status = release_target(s);
	if (status)
		return status;
	loop(s);
	if (s->run.phase == RUN_FAILED)
		return EXIT_PROFILER_FAILED;
	run_phase_enter(&s->run.phase, RUN_OVER);
	collect_rest(s);
	report_killed(s);
	*exit_status = final_status(s);
	status = recording_close(s->run.recording);
	s->run.recording = NULL;
	if (status)
		log_warn(s->run.log, "the recording is incomplete: %s", strerror(-status));
	setpriority(PRIO_PROCESS, 0, s->inherited->nice);
	if (s->run.attachment) /* names come from files that may be on a slow disk */
		bounded_caller_limit_sleep(collect_calls(s->run.collect), NAMING_SLEEP_MS);
	attached_cuda_end_injections(&s->run.cuda);
	/* free memory before names are looked up */
	if (s->target.ended || s->run.attachment)
		run_parts_remove_payload(&s->run);
	else
		payload_close_pipe(&s->run.payload); /* later programs look for the library */
	run_parts_close_kernel(&s->run);
	gpu_pipe_free(s->run.pipe);
	s->run.pipe = NULL;
	return 0;
}

int session_await(struct session *s)
{
	collect_free(s->run.collect);
	s->run.collect = NULL;
	while (!target_poll(&s->target) && !s->abandons_target && s->run.phase != RUN_FAILED) {
		struct epoll_event ready;

		if (epoll_wait(s->run.epoll, &ready, 1, TICK_MS * (s->target.end >= 0 ? 20 : 1)) >
		    0)
			read_signals(s);
	}
	run_parts_remove_payload(&s->run);
	report_killed(s);
	return s->run.phase == RUN_FAILED ? EXIT_PROFILER_FAILED : final_status(s);
}

void session_begin_sending(struct session *s)
{
	supervisor_report_written(s->run.supervisor);
	read_signals(s); /* discards earlier ones, such as the one that ended the command */
	s->ends_by_signal = false;
}

bool session_ends_sending(struct session *s)
{
	read_signals(s);
	return s->ends_by_signal || s->run.phase == RUN_FAILED;
}

struct collect *session_collect(struct session *s)
{
	return s->run.collect;
}

void session_note_cost(struct totals *totals)
{
	struct rusage own = {0};

	getrusage(RUSAGE_SELF, &own);
	totals->own_cpu_ns = cpu_ns(&own);
	totals->own_memory_bytes = (uint64_t)own.ru_maxrss * 1024;
}

struct totals session_totals(const struct session *s)
{
	bool has_waited = !s->run.attachment && s->run.phase != RUN_COPIED && !session_goes_on(s);
	struct totals totals;

	totals = (struct totals){
		.ledger = collect_ledger(s->run.collect),
		.program = s->run.program,
		.command_pid = (uint32_t)(s->run.attachment ? attachment_first(s->run.attachment)
							    : s->target.pid),
		.start_ns = s->run.start_ns,
		.start_unix_ns = s->run.start_unix_ns,
		.elapsed_ns = s->run.ended_ns - s->run.start_ns,
		.longest_round_ns = s->longest_round_ns,
		.command_cpu_ns =
			has_waited ? waited_cpu_ns(s) : collect_ledger(s->run.collect)->cpu.used_ns,
		.measure = s->run.options->measure,
		.sample_ns = measure_sample_ns(s->run.options->measure.frequency_hz)};
	recorded_time_range_note(&s->run, &totals.measure);
	session_note_cost(&totals);
	return totals;
}
