// SPDX-License-Identifier: MIT
#include "profiler/session/session.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>
#include "profiler/session/session_state.h"

#define TICK_MS 50
#define QUICK_TICK_MS 5 /* while a program starts: what it runs is to be known soon */
#define QUICK_NS 300000000u
#define STATUS_NS 500000000u
#define BATCHES 8                /* of stacks, between looks at the pipe and for signals */
#define PIPE_CHUNK (4u << 20)    /* read at most this much between drains */
#define PROBE_SLACK_NS 20000000u /* a probe's stack may reach the ring this late */
#define PIPE_PAUSE_NS 2000000    /* let a busy pipe fill up: fewer, larger reads */

uint64_t session_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

bool session_traces_gpu(const struct session *s)
{
	return s->options->mode != MODE_CPU_ONLY;
}

bool session_uses_probes(const struct session *s)
{
	return session_traces_gpu(s) && s->options->launch_stacks == LAUNCH_STACKS_UPROBE;
}

/* ---- collecting ---- */

/* Bytes of an event in the ring's form; of a snapshot only as much as was copied. */
static size_t event_size(const struct stack_event *event)
{
	const struct stack_snapshot *snapshot = (const struct stack_snapshot *)event;
	size_t unused;

	if (event->kind != STACK_EVENT_CPU_SNAPSHOT && event->kind != STACK_EVENT_CALL)
		return sizeof(*event) +
		       ((size_t)event->user_frames + event->kernel_frames) * sizeof(__u64);
	unused = snapshot->stack_bytes < STACK_SNAPSHOT_BYTES
			 ? STACK_SNAPSHOT_BYTES - snapshot->stack_bytes
			 : 0;
	return sizeof(*snapshot) - (unused & ~(size_t)7);
}

static void keep_stack(void *context, const struct stack_event *event, const __u64 *frames)
{
	struct session *s = context;
	size_t size = event_size(event);
	size_t needed = s->stacks_used + size;

	(void)frames; /* they follow the event in memory */
	if (needed > s->stacks_capacity) {
		size_t capacity = needed * 2;
		unsigned char *stacks = realloc(s->stacks, capacity);

		if (!stacks) {
			s->collect.stats.out_of_memory++;
			return;
		}
		s->stacks = stacks;
		s->stacks_capacity = capacity;
	}
	memcpy(s->stacks + s->stacks_used, event, size);
	s->stacks_used = needed;
}

void session_apply_process_events(struct session *s, uint64_t until_ns)
{
	const struct process_event *event;

	while (s->process_events && (event = process_events_next(s->process_events, until_ns))) {
		bool is_wanted = collect_wants(&s->collect, event); /* before it has ended */

		if (is_wanted)
			recording_process_event(s->recording, event);
		if (event->type == PROCESS_EXEC && is_wanted)
			s->quick_until_ns = session_now_ns() + QUICK_NS;
		collect_process_event(&s->collect, event);
		if (is_wanted)
			session_watch_calls(s, event);
	}
}

static void read_process_events(struct session *s)
{
	if (s->process_events && process_events_read(s->process_events) != 0)
		s->collect.stats.out_of_memory++;
}

static void take_stack(struct session *s, const struct stack_event *event)
{
	const struct stack_snapshot *snapshot = (const struct stack_snapshot *)event;

	if (session_take_call(s, event))
		return; /* no part of a recording */
	if (event->kind == STACK_EVENT_CPU_SNAPSHOT) {
		recording_stack(s->recording, event, snapshot->kernel);
		collect_snapshot(&s->collect, snapshot);
		return;
	}
	recording_stack(s->recording, event, (const __u64 *)(event + 1));
	collect_stack(&s->collect, event, (const __u64 *)(event + 1));
}

/*
 * Takes in stacks the kernel has sent, each in the address space of its time: what processes did
 * before a stack was taken is recorded before the stack is, so it is read after the ring was
 * emptied. False: there are more. `*until_ns`: all up to then are in.
 */
static bool drain_batch(struct session *s, uint64_t *until_ns)
{
	bool is_all = true;
	size_t at = 0;

	s->stacks_used = 0;
	*until_ns = session_now_ns() - PROBE_SLACK_NS;
	if (s->cpu)
		is_all = bpf_source_drain(s->cpu, keep_stack, s);
	read_process_events(s);
	while (at < s->stacks_used) {
		/* every size is a multiple of 8: events stay aligned */
		const struct stack_event *event = (const struct stack_event *)(s->stacks + at);

		session_apply_process_events(s, event->time_ns);
		take_stack(s, event);
		at += event_size(event);
		if (!is_all && at == s->stacks_used && event->time_ns < *until_ns + PROBE_SLACK_NS)
			*until_ns = event->time_ns - PROBE_SLACK_NS;
	}
	/* those that no stack waits for, but not newer ones that a stack may still precede */
	session_apply_process_events(s, *until_ns);
	session_scan_changed(s);
	return is_all;
}

/* The same, until there are no more or something else has waited long enough. */
static uint64_t drain_stacks(struct session *s)
{
	uint64_t until_ns;

	for (int i = 0; i < BATCHES && !drain_batch(s, &until_ns); i++)
		;
	return until_ns;
}

/* A process waits for our probes: puts them on what it maps, if there are to be any, and says so.
 */
static void answer(struct session *s, uint32_t pid)
{
	int err;

	if (s->probes) {
		int n = probes_scan_process(s->probes, (pid_t)pid);

		log_verbose(s->log, "process %u: %d launch functions newly probed, %u in all", pid,
			    n > 0 ? n : 0, probes_count(s->probes));
	}
	err = payload_acknowledge(&s->payload, (pid_t)pid);
	if (err)
		log_warn(s->log, "cannot answer process %u: %s; it waits for some seconds", pid,
			 strerror(-err));
}

void session_on_gpu_event(void *context, uint32_t pid, const struct gpu_event *event,
			  const char *kernel)
{
	struct session *s = context;

	if (event->type == GPU_EVENT_HELLO) {
		log_verbose(s->log,
			    "process %u (%s) uses CUDA; CUPTI %u: %s; clock within %" PRIu64 " ns",
			    pid, event->hello.executable, event->hello.cupti_version,
			    event->hello.cupti_path, event->hello.clock_error_ns);
		if (gpu_pipe_has_graph_time_bug(event->hello.cupti_version))
			log_verbose(s->log,
				    "process %u: this CUPTI (CUDA 13.0) is known to give wrong "
				    "times after some 25 million records of graphs' nodes",
				    pid);
		drain_stacks(s); /* the stacks of the process's earlier program, if any */
	}
	if (event->type == GPU_EVENT_GOODBYE)
		log_verbose(s->log,
			    "process %u: CUPTI reported %" PRIu64 " operations, %" PRIu64 " ns",
			    pid, event->goodbye.kernels, event->goodbye.kernel_ns);
	if (event->type == GPU_EVENT_NOTICE)
		notices_add(&s->notices, pid, &event->notice);
	collect_gpu_event(&s->collect, pid, event, kernel);
	if (event->type == GPU_EVENT_HELLO && event->hello.is_off) {
		session_time_calls(s, pid);
		session_note_missing(s, pid);
	} else if (event->type == GPU_EVENT_HELLO) {
		session_is_traced(s, pid);
	}
	if ((event->type == GPU_EVENT_HELLO && event->hello.wants_ack) ||
	    (event->type == GPU_EVENT_MAPS && event->maps.wants_ack))
		answer(s, pid);
}

static void read_pipe(struct session *s)
{
	int result;

	if (!session_traces_gpu(s) || s->pipe_ended)
		return;
	result = gpu_pipe_read(s->gpu, s->payload.pipe, PIPE_CHUNK);
	if (result == -EPIPE)
		s->pipe_ended = true;
	else if (result < 0)
		log_warn(s->log, "reading the pipe: %s", strerror(-result));
}

/* One round over all sources. */
static void collect_round(struct session *s)
{
	uint64_t probes_until = drain_stacks(s);

	read_pipe(s);
	collect_advance(&s->collect, probes_until);
}

static void collect_rest(struct session *s)
{
	uint64_t calls;

	if (session_traces_gpu(s)) {
		while (!s->pipe_ended && gpu_pipe_read(s->gpu, s->payload.pipe, PIPE_CHUNK) == 1)
			;
		gpu_pipe_finish(s->gpu);
	}
	calls = s->cpu ? bpf_source_counters(s->cpu).calls : 0;
	drain_stacks(s);
	session_apply_process_events(s, UINT64_MAX);
	collect_finish(&s->collect, session_now_ns());
	if (calls > s->collect.stats.calls)
		s->lost_calls = calls - s->collect.stats.calls;
}

struct session *session_new(const struct options *options, const struct identity *identity,
			    struct log *log)
{
	struct session *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->options = options;
	s->identity = identity;
	s->log = log;
	payload_init(&s->payload);
	s->target.gate = s->target.exec_error = -1;
	s->epoll = s->signals = -1;
	notices_init(&s->notices, log);
	if (collect_init(&s->collect) == 0) {
		s->collect.by.order = options->by;
		if (!options->waits || collect_follow_waits(&s->collect) == 0)
			return s;
		collect_release(&s->collect);
	}
	free(s);
	return NULL;
}

/* Those that came while the profile was written: unblocked, they would change the exit status. */
static void discard_signals(int fd)
{
	struct signalfd_siginfo info;

	while (read(fd, &info, sizeof(info)) == sizeof(info))
		;
}

void session_free(struct session *s)
{
	if (!s)
		return;
	target_release_resources(&s->target);
	recording_close(s->recording);
	payload_remove(&s->payload);
	probes_free(s->probes);
	probes_free(s->call_probes);
	probes_free(s->subscribe_probes);
	free(s->timed);
	hash_index_release(&s->timed_index);
	bpf_source_close(s->cpu);
	process_events_close(s->process_events);
	gpu_pipe_free(s->gpu);
	collect_release(&s->collect);
	if (s->epoll >= 0)
		close(s->epoll);
	if (s->signals >= 0) {
		discard_signals(s->signals);
		close(s->signals);
	}
	if (s->mask_changed)
		sigprocmask(SIG_SETMASK, &s->old_mask, NULL);
	free(s->stacks);
	free(s);
}

/* ---- the loop ---- */

/* A signal typed at the terminal has reached the target's process group already. */
static bool target_has_it(const struct session *s, const struct signalfd_siginfo *info)
{
	return info->ssi_code > 0 && getpgid(s->target.pid) == getpgrp();
}

static void on_signal(struct session *s, const struct signalfd_siginfo *info)
{
	int signal = (int)info->ssi_signo;

	if (signal == SIGCHLD)
		return; /* the loop looks at the target in any case */
	if (s->target.ended) {
		s->stop_waiting = true;
		return;
	}
	if (signal == SIGINT && ++s->interrupts >= 2) {
		log_warn(s->log, "interrupted again: killing the target");
		target_signal(&s->target, SIGKILL);
		s->stop_waiting = true;
	} else if (!target_has_it(s, info)) {
		target_signal(&s->target, signal);
	}
}

static void read_signals(struct session *s)
{
	struct signalfd_siginfo info;

	while (read(s->signals, &info, sizeof(info)) == sizeof(info))
		on_signal(s, &info);
}

static void show_status(struct session *s, uint64_t now)
{
	struct stack_counters bpf =
		s->cpu ? bpf_source_counters(s->cpu) : (struct stack_counters){0};
	struct gpu_pipe_stats gpu = {0};
	uint64_t seconds = (now - s->start_ns) / 1000000000u;
	uint64_t dropped;

	if (now - s->status_ns < STATUS_NS)
		return;
	s->status_ns = now;
	if (s->gpu)
		gpu = gpu_pipe_stats(s->gpu);
	dropped = bpf.dropped_samples + bpf.dropped_launches + gpu.dropped_kernels;
	log_status(s->log,
		   "[%02" PRIu64 ":%02" PRIu64 "] %" PRIu64 " CPU samples, %" PRIu64
		   " launches, %" PRIu64 " GPU operations, %" PRIu64 " dropped",
		   seconds / 60, seconds % 60, s->collect.stats.cpu_samples, gpu.launches,
		   gpu.kernels, dropped);
}

struct pid_list {
	char text[256];
	size_t used;
};

static void list_pid(void *context, uint32_t pid)
{
	struct pid_list *list = context;
	int n = snprintf(list->text + list->used, sizeof(list->text) - list->used, "%s%u",
			 list->used ? ", " : "", pid);

	if (n > 0 && (size_t)n < sizeof(list->text) - list->used)
		list->used += (size_t)n;
	else
		list->text[list->used] = '\0';
}

/* The target has ended: are its traced descendants still sending? */
static bool is_done(struct session *s)
{
	struct pid_list pids = {.used = 0};

	if (!session_traces_gpu(s) || s->stop_waiting)
		return true;
	payload_close_writer(&s->payload);
	if (s->pipe_ended)
		return true;
	if (s->ended_ns == 0)
		s->ended_ns = session_now_ns();
	if (!s->told_waiting && session_now_ns() - s->ended_ns > 1000000000u) {
		s->told_waiting = true;
		gpu_pipe_each_open(s->gpu, list_pid, &pids);
		log_warn(s->log,
			 "the command has ended, but processes it started still use the GPU "
			 "(%s); waiting for them, Ctrl-C stops waiting",
			 pids.used ? pids.text : "unknown");
	}
	return false;
}

static void loop(struct session *s)
{
	const struct timespec pause = {0, PIPE_PAUSE_NS};
	uint64_t drained_ns = session_now_ns(), last_ns = drained_ns;
	bool done = false;

	while (!done) {
		struct epoll_event ready[16];
		bool ended = target_poll(&s->target);
		int tick = ended || session_now_ns() < s->quick_until_ns ? QUICK_TICK_MS : TICK_MS;
		int n = epoll_wait(s->epoll, ready, 16, tick);
		bool pipe_ready = false, stacks_ready = false;
		uint64_t now = session_now_ns();

		if (now - last_ns > s->longest_round_ns)
			s->longest_round_ns = now - last_ns;
		last_ns = now;
		for (int i = 0; i < n; i++) {
			if (ready[i].data.u32 == READY_SIGNAL)
				read_signals(s);
			pipe_ready |= ready[i].data.u32 == READY_PIPE;
			stacks_ready |= ready[i].data.u32 == READY_STACKS;
			if (ready[i].data.u32 == READY_PROCESSES)
				read_process_events(s);
		}
		if (stacks_ready || ended || now - drained_ns >= (uint64_t)tick * 1000000) {
			collect_round(s);
			drained_ns = now;
		} else if (pipe_ready) {
			read_pipe(s);
			nanosleep(&pause, NULL);
		}
		show_status(s, now);
		if (ended)
			done = is_done(s);
	}
}

int session_run(struct session *s, int *exit_status)
{
	int status = session_set_up(s);

	if (!status)
		status = session_release_target(s);
	if (status)
		return status;
	/* from here on files are opened for names that the target gives: only the user's may be */
	identity_enter_files(s->identity);
	loop(s);
	log_clear_status(s->log);
	collect_rest(s);
	s->ended_ns = session_now_ns();
	*exit_status = target_exit_status(&s->target);
	status = recording_close(s->recording);
	s->recording = NULL;
	if (status)
		log_warn(s->log, "the recording is incomplete: %s", strerror(-status));
	/* before names are looked up, which takes a moment: give back what the machine lent us */
	payload_remove(&s->payload);
	return 0;
}

struct collect *session_collect(struct session *s)
{
	return &s->collect;
}

const char *session_first_malformed(const struct session *s)
{
	return s->gpu ? gpu_pipe_first_malformed(s->gpu) : "";
}

struct session_stats session_stats(const struct session *s)
{
	struct session_stats stats = {
		.collect = s->collect.stats,
		.join = join_stats(s->collect.join),
		.elapsed_ns = s->ended_ns - s->start_ns,
		.longest_round_ns = s->longest_round_ns,
		.counted = &s->collect.counted,
		.told = &s->collect.told,
		.devices = &s->collect.devices,
	};

	if (s->cpu)
		stats.bpf = bpf_source_counters(s->cpu);
	if (s->process_events)
		stats.lost_process_events = process_events_lost(s->process_events);
	if (s->gpu)
		stats.gpu = gpu_pipe_stats(s->gpu);
	if (s->probes)
		stats.probes = probes_count(s->probes);
	stats.timed_processes = session_timed_processes(s);
	stats.lost_calls = s->lost_calls;
	return stats;
}
