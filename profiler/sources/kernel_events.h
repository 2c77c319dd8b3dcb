/* SPDX-License-Identifier: MIT */
/*
 * The kernel's events in order of time: process events, and stacks, so that each stack is located
 * in the address space at the time it was taken.
 *
 * With BPF: samples, launches and calls from its ring buffer, process events from perf's side
 * records of all processes. Without: CPU samples of user code and the side records of the target
 * alone, from perf events, which any user may open. Or nothing, if only GPU time is wanted.
 */
#ifndef PROFILER_SOURCES_KERNEL_EVENTS_H
#define PROFILER_SOURCES_KERNEL_EVENTS_H

#include <stdbool.h>
#include <stdint.h>
#include "profiler/cpu/process_event.h"
#include "profiler/sources/bpf_source.h"

#define KERNEL_EVENTS_SLACK_NS 20000000u /* that an event may reach its ring after its time */

struct kernel_events;

struct kernel_events_options {
	struct bpf_source_options bpf;
	bool needs_bpf; /* launch stacks by uprobe were requested */
	bool wants_bpf; /* it would be useful */
};

/*
 * Opens everything that needs privileges. 0, also if there is no BPF and none is needed: then
 * `error` says why; or -errno, and `error` is a whole sentence for the user.
 */
int kernel_events_open(const struct kernel_events_options *options, struct kernel_events **result,
		       char *error, size_t error_size);
void kernel_events_close(struct kernel_events *k);

/* The BPF side; NULL: none. */
struct bpf_source *kernel_events_bpf(const struct kernel_events *k);

/*
 * Follows the target, stopped before its exec; without BPF, and if samples are wanted, opens perf
 * events on it. 0 or -errno.
 */
int kernel_events_follow(struct kernel_events *k, pid_t target);

/* Returns whether the kernel reports the whole tree of the target. */
bool kernel_events_know_tree(const struct kernel_events *k);

/* Has `epoll` report `tag` when there is input. 0 or -errno. */
int kernel_events_watch(struct kernel_events *k, int epoll, uint32_t tag);

/* Reads the available input, or a good part of it. 0 or -ENOMEM. */
int kernel_events_fill(struct kernel_events *k);

/*
 * While the caller waits for something else: makes room for stacks that are taken meanwhile. What
 * was returned stays valid.
 */
void kernel_events_keep(struct kernel_events *k);

/*
 * Returns all process events up to the last kernel_events_fill, even before stacks that are unread,
 * or being written: a process has just said hello. Holds until the next kernel_events_fill.
 */
void kernel_events_catch_up(struct kernel_events *k);

/* One of the two; both are valid until the next call. */
struct kernel_event {
	const struct process_event *process;
	const struct stack_event *stack;
};

/* The next event read; false: none whose order is certain. */
bool kernel_events_next(struct kernel_events *k, struct kernel_event *event);

/*
 * After the last one: everything up to this time has been returned. It lies KERNEL_EVENTS_SLACK_NS
 * or more in the past.
 */
uint64_t kernel_events_until(const struct kernel_events *k);

/* Returns whether input was left unread. */
bool kernel_events_has_more(const struct kernel_events *k);

/* The input has ended: the order of held-back events is now certain. */
void kernel_events_finish(struct kernel_events *k);

/* Stops CPU samples, at the end of the command. */
void kernel_events_stop_samples(struct kernel_events *k);

/* Process records that the kernel dropped. */
uint64_t kernel_events_lost(const struct kernel_events *k);

#endif
