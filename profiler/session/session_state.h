/* SPDX-License-Identifier: MIT */
/*
 * What session.c (the loop) and session_start.c (setting up) share: the session's state. Nobody
 * else includes this.
 */
#ifndef PROFILER_SESSION_SESSION_STATE_H
#define PROFILER_SESSION_SESSION_STATE_H

#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "profiler/collect/collect.h"
#include "profiler/sources/bpf_source.h"
#include "profiler/sources/gpu_pipe.h"
#include "profiler/session/identity.h"
#include "profiler/session/notices.h"
#include "profiler/commands/options.h"
#include "profiler/session/payload.h"
#include "profiler/sources/probes.h"
#include "profiler/sources/recording.h"
#include "profiler/session/target.h"

/* What a descriptor watched by the session's epoll is. */
enum { READY_SIGNAL, READY_PIPE, READY_STACKS, READY_PROCESSES };

#define SESSION_CHANGED_MAX 64

/* A process whose calls of CUDA are timed. */
struct timed_process {
	uint64_t since_ns; /* 0: not any more */
	uint32_t pid;
	bool counts; /* it has made calls, or would have been traced */
};

struct session {
	const struct options *options;
	const struct identity *identity;
	struct log *log;
	struct payload payload;
	struct target target;
	struct bpf_source *cpu;
	struct process_events *process_events;
	struct probes *probes;
	/* for processes without CUPTI; NULL: BPF is not to be had. See session_calls.c */
	struct probes *call_probes, *subscribe_probes;
	struct timed_process *timed; /* by pid, those that are not any more included */
	uint32_t timed_count, timed_capacity;
	uint64_t lost_calls; /* timed, but not told */
	struct hash_index timed_index;
	uint32_t changed[SESSION_CHANGED_MAX], changed_count; /* mapped something: look again */
	struct gpu_pipe *gpu;
	struct notices notices;
	struct collect collect;
	char cupti_lib[PATH_MAX];    /* absolute path of -cupti-lib */
	struct recording *recording; /* NULL: not asked for */
	int epoll, signals;
	sigset_t old_mask;
	bool mask_changed;
	bool samples_by_perf; /* CPU samples come with process_events: BPF is not to be had */
	char bpf_error[512];  /* why */
	uint32_t interrupts;  /* SIGINTs so far */
	bool stop_waiting;    /* for processes that outlive the target */
	bool pipe_ended;
	bool told_waiting;
	uint64_t quick_until_ns; /* look often until then */
	uint64_t start_ns, status_ns, ended_ns;
	uint64_t longest_round_ns; /* from one wait for events to the next */
	unsigned char *stacks;     /* drained from the ring, not yet located */
	size_t stacks_used, stacks_capacity;
};

/* CLOCK_MONOTONIC, ns. */
uint64_t session_now_ns(void);

bool session_traces_gpu(const struct session *s);

/* Launch stacks come from BPF probes, not from the library in the process. */
bool session_uses_probes(const struct session *s);

/* Where CUPTI is not to be had, CUDA's calls can be timed instead. */
bool session_can_time_calls(const struct session *s);

/* They are, in this process, from now on; if they can be. */
void session_time_calls(struct session *s, uint32_t pid);

/* That is to be told: it would have had GPU time. How many there are. */
void session_note_missing(struct session *s, uint32_t pid);
uint32_t session_timed_processes(const struct session *s);

/* The process is traced: its calls are not timed, and who else asks for CUPTI there is told. */
void session_is_traced(struct session *s, uint32_t pid);

/* A process event was taken in; then, after a number of them, processes are looked at again. */
void session_watch_calls(struct session *s, const struct process_event *event);
void session_scan_changed(struct session *s);

/* True if the event was one of timed calls or of CUPTI's refusals, and is taken. */
bool session_take_call(struct session *s, const struct stack_event *event);

/* Everything up to the closed gate, and its opening. 0, or our exit status with the reason told. */
int session_set_up(struct session *s);
int session_release_target(struct session *s);

/* Handed to the sources while setting up. */
void session_on_gpu_event(void *context, uint32_t pid, const struct gpu_event *event,
			  const char *kernel);
void session_apply_process_events(struct session *s, uint64_t until_ns);

#endif
