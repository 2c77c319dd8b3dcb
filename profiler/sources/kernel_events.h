/* SPDX-License-Identifier: MIT */
/*
 * What the kernel reports, in order of time: what happened to processes, and the stacks that were
 * taken then, so that each stack is looked at in the address space of its moment.
 *
 * With BPF: samples, launches and calls come through its ring buffer, process events from perf's
 * side records of all processes. Without: CPU samples of user code and the side records of the
 * target alone, from perf events, as any user may have them. Or none of it, where only GPU time is
 * wanted.
 */
#ifndef PROFILER_SOURCES_KERNEL_EVENTS_H
#define PROFILER_SOURCES_KERNEL_EVENTS_H

#include <stdbool.h>
#include <stdint.h>
#include "profiler/collect/process_event.h"
#include "profiler/sources/bpf_source.h"

struct kernel_events;

struct kernel_events_options {
	struct bpf_source_options bpf;
	bool needs_bpf; /* nothing else will do: launch stacks by uprobe were asked for */
	bool wants_bpf; /* it would be of use */
};

/*
 * Opens all that needs privilege. 0, also where there is no BPF and none is needed: then `error`
 * says why; or -errno, and `error` is a whole sentence for the user.
 */
int kernel_events_open(const struct kernel_events_options *options, struct kernel_events **result,
		       char *error, size_t error_size);
void kernel_events_close(struct kernel_events *k);

/* The BPF side; NULL: there is none. */
struct bpf_source *kernel_events_bpf(const struct kernel_events *k);

/*
 * The target, at its gate, is followed from here on; without BPF, and if samples are wanted, perf
 * events are opened on it. 0 or -errno.
 */
int kernel_events_follow(struct kernel_events *k, pid_t target);

/* Whether the kernel reports the whole tree of the target. */
bool kernel_events_know_tree(const struct kernel_events *k);

/* Has `epoll` report `tag` when there is something to be taken in. 0 or -errno. */
int kernel_events_watch(struct kernel_events *k, int epoll, uint32_t tag);

/* Takes in what is there, or a good part of it. 0 or -ENOMEM. */
int kernel_events_fill(struct kernel_events *k);

/*
 * All that processes did until now is to be handed out, also before stacks that may still come
 * late: one of them has just said what it is. Holds until the next kernel_events_fill.
 */
void kernel_events_catch_up(struct kernel_events *k);

/* One of the two; both are valid until the next call. */
struct kernel_event {
	const struct process_event *process;
	const struct stack_event *stack;
};

/* The next event of what was taken in; false: none that is in order for sure. */
bool kernel_events_next(struct kernel_events *k, struct kernel_event *event);

/* After the last one: everything up to this time has been handed out. */
uint64_t kernel_events_until(const struct kernel_events *k);

/* There was more than what was taken in. */
bool kernel_events_has_more(const struct kernel_events *k);

/* Nothing more will happen: what is still held back is in order. */
void kernel_events_finish(struct kernel_events *k);

/* CPU samples end: the command has. */
void kernel_events_stop_samples(struct kernel_events *k);

/* Records of processes that the kernel had no room for. */
uint64_t kernel_events_lost(const struct kernel_events *k);

#endif
