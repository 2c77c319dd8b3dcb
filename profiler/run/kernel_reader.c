// SPDX-License-Identifier: MIT
#include "profiler/run/kernel_reader.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include "profiler/base/cuda_functions.h"
#include "symbolize/util/monotonic.h"
#include "symbolize/util/saturate.h"

#define QUICK_NS 300000000u          /* after a program has started */
#define BATCHES 8                    /* batches before the pipe and signals are polled */
#define TIMES_TIMEOUT_NS 1000000000u /* timeout for the times of ending threads */
#define TIMES_PAUSE_NS 5000000

void kernel_reader_pass_on_pythons(struct run_parts *run)
{
	struct bpf_source *bpf = kernel_events_bpf(run->kernel);
	struct python_found found;
	char detail[64];

	while (collect_next_python(run->collect, &found)) {
		struct gpu_event_notice notice = {.code = GPU_NOTICE_NO_PYTHON, .detail = detail};
		uint32_t hex = found.unknown_hex;
		int err = 0;

		if (hex) {
			snprintf(detail, sizeof(detail), "Python %u.%u.%u is not known", hex >> 24,
				 hex >> 16 & 0xff, hex >> 8 & 0xff);
			notices_add(&run->notices, (uint32_t)found.pid, &notice);
			continue;
		}
		if (bpf)
			err = bpf_source_set_python(bpf, found.pid, &found.layout);
		log_verbose(run->log, "process %d runs Python%s%s", (int)found.pid, err ? ": " : "",
			    err ? strerror(-err) : "");
	}
}

/* Takes a CPU sample, or a launch that a probe reported. */
static void take_snapshot(struct run_parts *run, const struct stack_snapshot *snapshot,
			  bool is_launch)
{
	const struct stack_event *event = &snapshot->event;
	const char *api = is_launch ? cuda_function_name(event->launch_function) : NULL;

	if (collect_snapshot(run->collect, snapshot, api))
		recording_stack(run->recording, run->collect, event, is_launch);
}

static void take_process_event(struct run_parts *run, const struct process_event *event)
{
	struct process *process;

	if (event->type == PROCESS_SAMPLE) {
		take_snapshot(run, event->snapshot, false);
		return;
	}
	process = collect_process_event(run->collect, event);
	if (!process)
		return;
	recording_process_event(run->recording, event);
	if (event->type == PROCESS_EXEC)
		run->quick_until_ns = monotonic_ns() + QUICK_NS;
	obstacles_watch(run->obstacles, event, process);
	call_timing_watch(run->call_timing, event, process);
	if (run->options->attach)
		attached_cuda_begin(&run->cuda, process,
				    event->type == PROCESS_MAP ? &event->mapping : NULL);
	kernel_reader_pass_on_pythons(run);
}

/* Closes the times of a thread that runs on: its current interval ends with the run. */
static void end_times(struct run_parts *run, const struct stack_times *times)
{
	struct stack_event head = {.time_ns = run->ended_ns, .pid = times->pid, .tid = times->tid};
	struct stack_thread_times record = {.event = head, .times = *times};
	uint64_t ns = run->ended_ns > times->since_ns ? run->ended_ns - times->since_ns : 0;
	uint64_t woken_ns =
		times->woken_ns > times->since_ns ? times->woken_ns - times->since_ns : ns;
	struct stack_on_cpu back = {.event = head,
				    .left_ns = times->since_ns,
				    .kind = times->kind,
				    .site = times->site};

	back.blocked_ns = times->is_runnable ? 0 : woken_ns < ns ? woken_ns : ns;
	back.runnable_ns = ns - back.blocked_ns;
	if (!times->is_off)
		record.times.ran_ns += ns;
	else if (times->is_in_call)
		record.times.in_calls_ns += ns;
	else
		collect_on_cpu(run->collect, &back);
	collect_thread_times(run->collect, &record);
}

static void take_stack(struct run_parts *run, const struct stack_event *event)
{
	const struct stack_snapshot *snapshot = (const struct stack_snapshot *)event;

	switch (event->kind) {
	case STACK_EVENT_CPU_SNAPSHOT:
	case STACK_EVENT_LAUNCH:
		take_snapshot(run, snapshot, event->kind == STACK_EVENT_LAUNCH);
		break;
	case STACK_EVENT_THREAD:
		collect_thread(run->collect, snapshot); /* not recorded by --save-input */
		break;
	case STACK_EVENT_OFF_CPU:
		collect_off_cpu(run->collect, snapshot); /* not recorded, nor the next two kinds */
		break;
	case STACK_EVENT_ON_CPU:
		collect_on_cpu(run->collect, (const struct stack_on_cpu *)event);
		break;
	case STACK_EVENT_THREAD_TIMES:
		if (event->flags & STACK_EVENT_OVER)
			end_times(run, &((const struct stack_thread_times *)event)->times);
		else
			collect_thread_times(run->collect,
					     (const struct stack_thread_times *)event);
		break;
	case STACK_EVENT_PYTHON_CODE:
		collect_python_code(run->collect, (const struct stack_python_code *)event);
		break;
	case STACK_EVENT_CPU_USED:
		if (event->flags & STACK_EVENT_NO_ACCESS)
			recording_no_access(run->recording, (pid_t)event->pid);
		if (event->flags & STACK_EVENT_ENDS)
			collect_wait_status(run->collect, (pid_t)event->pid, event->time_ns,
					    (int)(event->flags >> STACK_EVENT_STATUS_AT));
		if (event->flags & STACK_EVENT_LOOKED)
			collect_open_devices(run->collect, (pid_t)event->pid, event->time_ns,
					     event->flags & STACK_EVENT_HAS_GPU,
					     event->flags >> STACK_EVENT_OPENED_AT &
						     STACK_EVENT_OPENED_MAX);
		collect_cpu_used(run->collect, (pid_t)event->pid, event->time_ns,
				 ((const struct stack_value *)event)->value,
				 event->flags & STACK_EVENT_EXEC);
		break;
	case STACK_EVENT_USES_DRIVER:
		attached_cuda_note_user(&run->cuda, event);
		break;
	default:
		call_timing_take(run->call_timing, event); /* not recorded */
	}
}

/* Processes the events read so far, in order of time. */
static void apply_kernel_events(struct run_parts *run)
{
	struct kernel_event event;

	while (kernel_events_next(run->kernel, &event)) {
		if (event.process)
			take_process_event(run, event.process);
		else
			take_stack(run, event.stack);
	}
}

void kernel_reader_drain(struct run_parts *run, bool catches_up)
{
	for (int i = 0; i < BATCHES; i++) {
		if (kernel_events_fill(run->kernel) != 0)
			collect_ledger(run->collect)->bounds.out_of_memory++;
		apply_kernel_events(run);
		if (!kernel_events_has_more(run->kernel))
			break;
	}
	if (catches_up) {
		kernel_events_catch_up(run->kernel);
		apply_kernel_events(run);
	}
	call_timing_scan(run->call_timing);
}

void kernel_reader_finish(struct run_parts *run)
{
	const struct timespec pause = {0, TIMES_PAUSE_NS};
	struct bpf_source *bpf = kernel_events_bpf(run->kernel);
	struct stack_times times;
	uint64_t until_ns;

	kernel_events_finish(run->kernel);
	kernel_reader_drain(run, false);
	until_ns = monotonic_ns() + TIMES_TIMEOUT_NS;
	while (bpf && bpf_source_next_times(bpf, &times))
		end_times(run, &times);
	kernel_reader_drain(run, false);
	while (bpf && bpf_source_lacks_times(bpf) && monotonic_ns() < until_ns) {
		nanosleep(&pause, NULL);
		kernel_reader_drain(run, false);
	}
	if (bpf)
		collect_ledger(run->collect)->cpu.in_calls =
			bpf_source_counters(bpf).samples_in_calls;
}

void kernel_reader_take_counters(struct run_parts *run)
{
	struct ledger *l = collect_ledger(run->collect);
	struct bpf_source *bpf = kernel_events_bpf(run->kernel);
	struct stack_counters counters;

	if (run->probes)
		l->launches.probed_functions = uprobes_count(run->probes);
	if (!bpf) {
		/* samples share these rings and are most of their content */
		l->cpu.dropped = kernel_events_lost(run->kernel);
		return;
	}
	l->processes.lost_records = kernel_events_lost(run->kernel);
	counters = bpf_source_counters(bpf);
	l->cpu.dropped = counters.dropped_samples;
	saturated_add(&l->launches.dropped, counters.dropped_launches);
	l->wall.lost = counters.lost_times + counters.unfollowed_times;
	l->cost.kernel_ns =
		counters.sample_ns + counters.switch_ns + STACK_PROBE_EVERY * counters.probe_ns;
	l->processes.not_followed = counters.untracked_processes;
	l->processes.lost_threads = counters.dropped_threads;
	if (counters.calls > l->calls.timed + l->outside.calls)
		l->calls.lost = counters.calls - l->calls.timed - l->outside.calls;
}
