// SPDX-License-Identifier: MIT
#include "profiler/sources/kernel_events.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include "profiler/base/capability_advice.h"
#include "profiler/sources/process_events.h"
#include "symbolize/util/monotonic.h"

struct kernel_events {
	struct bpf_source *bpf;           /* NULL: not usable, or not needed */
	struct process_events *processes; /* NULL: no process events */
	uint32_t sample_hz;
	bool is_last;                    /* the input has ended */
	const struct stack_event *stack; /* taken from the batch, not yet returned */
	bool batch_is_done;
	bool catches_up;
	uint64_t filled_ns, last_stack_ns;
	uint64_t stopped_ns; /* end of samples; 0: still running */
};

static int open_bpf(struct kernel_events *k, const struct kernel_events_options *o, char *error,
		    size_t error_size)
{
	int err;

	k->bpf = bpf_source_open(&o->bpf, error, error_size);
	if (!k->bpf)
		return o->needs_bpf ? -EPERM : 0;
	k->processes = process_events_open(-1, 0);
	if (k->processes)
		return 0;
	err = -errno;
	if (err == -ENOBUFS)
		snprintf(error, error_size,
			 "cannot record memory mappings of processes: the limit of locked memory "
			 "is too low; "
			 "raise it (ulimit -l), run with sudo, or give the binary CAP_IPC_LOCK");
	else
		snprintf(error, error_size,
			 "cannot record memory mappings of processes: perf_event_open: "
			 "%s; " CAPABILITY_ADVICE,
			 strerror(-err));
	bpf_source_close(k->bpf);
	k->bpf = NULL;
	/* without samples, BPF would only have timed calls */
	return o->bpf.sample_hz > 0 || o->needs_bpf ? err : 0;
}

int kernel_events_open(const struct kernel_events_options *options, struct kernel_events **result,
		       char *error, size_t error_size)
{
	struct kernel_events *k = calloc(1, sizeof(*k));
	int err = 0;

	error[0] = '\0';
	if (!k) {
		snprintf(error, error_size, "out of memory");
		return -ENOMEM;
	}
	k->sample_hz = options->bpf.sample_hz;
	if (options->wants_bpf || options->needs_bpf)
		err = open_bpf(k, options, error, error_size);
	if (err)
		kernel_events_close(k);
	else
		*result = k;
	return err;
}

void kernel_events_close(struct kernel_events *k)
{
	if (!k)
		return;
	bpf_source_close(k->bpf);
	process_events_close(k->processes);
	free(k);
}

struct bpf_source *kernel_events_bpf(const struct kernel_events *k)
{
	return k->bpf;
}

int kernel_events_follow(struct kernel_events *k, pid_t target)
{
	if (k->bpf)
		return bpf_source_track(k->bpf, target);
	if (k->sample_hz == 0)
		return 0;
	k->processes = process_events_open(target, k->sample_hz);
	return k->processes ? 0 : -errno;
}

bool kernel_events_know_tree(const struct kernel_events *k)
{
	return k->processes != NULL;
}

int kernel_events_watch(struct kernel_events *k, int epoll, uint32_t tag)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u32 = tag};

	if (k->bpf && epoll_ctl(epoll, EPOLL_CTL_ADD, bpf_source_fd(k->bpf), &event) != 0)
		return -errno;
	return k->processes ? process_events_watch(k->processes, epoll, tag) : 0;
}

int kernel_events_fill(struct kernel_events *k)
{
	/*
	 * The kernel records process events before a later stack, so read them after closing the
	 * batch of stacks.
	 */
	k->filled_ns = monotonic_ns();
	k->batch_is_done = k->bpf == NULL;
	k->catches_up = false;
	if (k->bpf)
		bpf_source_fill(k->bpf);
	return k->processes ? process_events_read(k->processes) : 0;
}

void kernel_events_keep(struct kernel_events *k)
{
	if (k->bpf)
		bpf_source_keep(k->bpf);
}

/*
 * Returns true if sampling has stopped and nothing else is recorded, so that the ring holds
 * everything.
 */
static bool is_quiet(const struct kernel_events *k)
{
	return k->stopped_ns && k->filled_ns > k->stopped_ns &&
	       !(k->bpf && bpf_source_has_probes(k->bpf));
}

void kernel_events_catch_up(struct kernel_events *k)
{
	k->catches_up = true;
}

uint64_t kernel_events_until(const struct kernel_events *k)
{
	uint64_t until_ns = k->filled_ns;

	if (k->is_last)
		return UINT64_MAX;
	if (is_quiet(k) && !kernel_events_has_more(k))
		return until_ns;
	if (kernel_events_has_more(k) && k->last_stack_ns < until_ns)
		until_ns = k->last_stack_ns;
	return until_ns > KERNEL_EVENTS_SLACK_NS ? until_ns - KERNEL_EVENTS_SLACK_NS : 0;
}

static bool is_late_sample(const struct kernel_events *k, const struct kernel_event *event)
{
	if (!k->stopped_ns)
		return false;
	return event->process ? event->process->type == PROCESS_SAMPLE &&
					event->process->time_ns > k->stopped_ns
			      : event->stack->kind == STACK_EVENT_CPU_SNAPSHOT &&
					event->stack->time_ns > k->stopped_ns;
}

static uint64_t limit_of_processes(const struct kernel_events *k)
{
	if (k->stack)
		return k->stack->time_ns;
	return k->catches_up ? k->filled_ns : kernel_events_until(k);
}

static bool take_next(struct kernel_events *k, struct kernel_event *event)
{
	*event = (struct kernel_event){0};
	if (!k->stack && !k->batch_is_done) {
		k->stack = bpf_source_next(k->bpf);
		k->batch_is_done = !k->stack;
	}
	/* events that no stack can precede, but not newer ones */
	if (k->processes)
		event->process = process_events_next(k->processes, limit_of_processes(k));
	if (event->process)
		return true;
	if (!k->stack)
		return false;
	event->stack = k->stack;
	k->last_stack_ns = k->stack->time_ns;
	k->stack = NULL;
	return true;
}

bool kernel_events_next(struct kernel_events *k, struct kernel_event *event)
{
	while (take_next(k, event))
		if (!is_late_sample(k, event))
			return true;
	return false;
}

bool kernel_events_has_more(const struct kernel_events *k)
{
	return k->bpf && bpf_source_has_more(k->bpf);
}

void kernel_events_finish(struct kernel_events *k)
{
	k->is_last = true;
}

void kernel_events_stop_samples(struct kernel_events *k)
{
	if (k->stopped_ns)
		return;
	k->stopped_ns = monotonic_ns();
	if (!k->bpf)
		return;
	bpf_source_stop_clocks(k->bpf);
	bpf_source_stop_times(k->bpf);
}

uint64_t kernel_events_lost(const struct kernel_events *k)
{
	return k->processes ? process_events_lost(k->processes) : 0;
}
