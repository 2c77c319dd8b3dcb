/* SPDX-License-Identifier: MIT */
/*
 * Merges the kernel's process events and stacks in order of time. So each stack is located in the
 * address space of its time.
 *
 * With BPF: samples, launches and calls come from its ring buffer, process events from perf's side
 * records of all processes. Without BPF: perf events, which any user may open, yield CPU samples of
 * user code and the target's side records. If only GPU time is wanted, there are no events.
 */
#ifndef PROFILER_SOURCES_KERNEL_EVENTS_H
#define PROFILER_SOURCES_KERNEL_EVENTS_H

#include <stdbool.h>
#include <stdint.h>
#include "profiler/cpu/process_event.h"
#include "profiler/sources/bpf_source.h"

#define KERNEL_EVENTS_SLACK_NS 20000000u /* maximum delay of an event to its ring */

struct kernel_events;

struct kernel_events_options {
	struct bpf_source_options bpf;
	bool needs_bpf; /* launch stacks by uprobe were requested */
	bool wants_bpf; /* BPF would be useful */
};

/*
 * Opens everything that needs privileges. Returns 0, or -errno with `error` a whole sentence for
 * the user. Returns 0 also if BPF is neither available nor needed; then `error` says why.
 */
int kernel_events_open(const struct kernel_events_options *options, struct kernel_events **result,
		       char *error, size_t error_size);
void kernel_events_close(struct kernel_events *k);

/* Returns the BPF side, or NULL. */
struct bpf_source *kernel_events_bpf(const struct kernel_events *k);

/*
 * Follows the target, stopped before its exec. Without BPF opens perf events on it if samples are
 * wanted. Returns 0, or -errno.
 */
int kernel_events_follow(struct kernel_events *k, pid_t target);

/* Returns true if the kernel reports the whole tree of the target. */
bool kernel_events_know_tree(const struct kernel_events *k);

/* Makes `epoll` report `tag` when there is input. Returns 0, or -errno. */
int kernel_events_watch(struct kernel_events *k, int epoll, uint32_t tag);

/* Reads the available input, or a good part of it. Returns 0, or -ENOMEM. */
int kernel_events_fill(struct kernel_events *k);

/* Makes room for stacks that are taken while the caller waits. Returned events stay valid. */
void kernel_events_keep(struct kernel_events *k);

/*
 * Makes all process events up to the last kernel_events_fill available, even before unread or
 * unfinished stacks: a process has just said hello. Holds until the next kernel_events_fill.
 */
void kernel_events_catch_up(struct kernel_events *k);

/* Either a process event or a stack, valid until the next call. */
struct kernel_event {
	const struct process_event *process;
	const struct stack_event *stack;
};

/* Returns the next event. Returns false if the order of the remaining ones is not certain yet. */
bool kernel_events_next(struct kernel_events *k, struct kernel_event *event);

/*
 * Returns the time up to which all events have been returned. It is at least KERNEL_EVENTS_SLACK_NS
 * ago.
 */
uint64_t kernel_events_until(const struct kernel_events *k);

/* Returns true if input was left unread. */
bool kernel_events_has_more(const struct kernel_events *k);

/* Ends the input: the order of held-back events is now certain. */
void kernel_events_finish(struct kernel_events *k);

/* Stops CPU samples, at the end of the command. */
void kernel_events_stop_samples(struct kernel_events *k);

/* Returns the number of process records that the kernel dropped. */
uint64_t kernel_events_lost(const struct kernel_events *k);

#endif
