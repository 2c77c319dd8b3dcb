// SPDX-License-Identifier: MIT
#include "profiler/attach/call_timing.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/base/cuda_functions.h"
#include "profiler/sources/uprobes.h"
#include "symbolize/util/id_map.h"
#include "symbolize/util/monotonic.h"
#include "symbolize/util/text.h"

#define CHANGED_MAX 64

struct call_timing {
	struct bpf_source *bpf;
	struct collect *collect;
	struct notices *notices;
	struct log *log;
	struct uprobes *calls, *subscribes;
	struct id_map timed;                          /* pid -> start of timing, ns */
	uint32_t changed[CHANGED_MAX], changed_count; /* pids with new mappings, to be probed */
};

struct call_timing *call_timing_new(struct bpf_source *bpf, struct collect *collect,
				    struct notices *notices, struct log *log)
{
	struct call_timing *t = calloc(1, sizeof(*t));
	struct bounded_caller *calls = collect_calls(collect);

	if (!t)
		return NULL;
	*t = (struct call_timing){.bpf = bpf,
				  .collect = collect,
				  .notices = notices,
				  .log = log,
				  .calls = uprobes_new(PROBE_CALL, bpf, calls, log),
				  .subscribes = uprobes_new(PROBE_SUBSCRIBE, bpf, calls, log)};
	if (t->calls && t->subscribes)
		return t;
	call_timing_free(t);
	return NULL;
}

void call_timing_free(struct call_timing *t)
{
	if (!t)
		return;
	uprobes_free(t->calls);
	uprobes_free(t->subscribes);
	id_map_release(&t->timed);
	free(t);
}

static bool is_timed(const struct call_timing *t, pid_t pid)
{
	return id_map_find(&t->timed, (uint32_t)pid) != NULL;
}

void call_timing_note_untraced(struct collect *collect, struct process *process)
{
	collect_ledger(collect)->calls.processes += !process->lacks_gpu_time;
	process->lacks_gpu_time = true;
}

/* Ends timing that began before `time_ns`: by an exec, or for a reused pid. */
static void end_timing(struct call_timing *t, pid_t pid, uint64_t time_ns)
{
	const uint64_t *since_ns = id_map_find(&t->timed, (uint32_t)pid);

	if (!since_ns || *since_ns > time_ns)
		return;
	id_map_remove(&t->timed, (uint32_t)pid);
	bpf_source_time_calls(t->bpf, pid, false);
	uprobes_forget_process(t->calls, pid);
}

static void start_timing(struct call_timing *t, pid_t pid)
{
	uint64_t *since_ns;
	int n, err;

	if (is_timed(t, pid))
		return;
	/* the pid came from the process, and differs in another pid namespace */
	if (!bpf_source_follows(t->bpf, pid)) {
		log_verbose(t->log, "process %d: not a known process of the command", (int)pid);
		return;
	}
	since_ns = id_map_get(&t->timed, (uint32_t)pid);
	if (!since_ns) {
		log_warn(t->log, "process %d: its CUDA calls cannot be timed: out of memory",
			 (int)pid);
		return;
	}
	*since_ns = monotonic_ns();
	n = uprobes_scan_process(t->calls, pid);
	err = n < 0 ? n : bpf_source_time_calls(t->bpf, pid, true);
	if (err)
		id_map_remove(&t->timed, (uint32_t)pid);
	if (err && err != -ENOENT && err != -ESRCH)
		log_warn(t->log, "process %d: its CUDA calls cannot be timed: %s", (int)pid,
			 strerror(-err));
	log_verbose(t->log, "process %d: %d CUDA functions newly probed, %u in all", (int)pid,
		    n > 0 ? n : 0, uprobes_count(t->calls));
}

void call_timing_begin(struct call_timing *t, struct process *process)
{
	if (!t)
		return;
	start_timing(t, process->pid);
	call_timing_note_untraced(t->collect, process);
}

void call_timing_note_traced(struct call_timing *t, struct process *process)
{
	if (!t)
		return;
	end_timing(t, process->pid, UINT64_MAX);
	if (bpf_source_follows(t->bpf, process->pid))
		uprobes_scan_process(t->subscribes, process->pid);
}

/* ---- mappings ---- */

static bool maps_library(const struct process_event *event, const char *name)
{
	const char *slash = strrchr(event->mapping.path, '/');

	return slash && starts_with(slash + 1, name);
}

/* Marks a process to be probed once all its pending mappings are known. */
static void mark_changed(struct call_timing *t, pid_t pid)
{
	for (uint32_t i = 0; i < t->changed_count; i++)
		if (t->changed[i] == (uint32_t)pid)
			return;
	if (t->changed_count == CHANGED_MAX)
		call_timing_scan(t);
	t->changed[t->changed_count++] = (uint32_t)pid;
}

void call_timing_watch(struct call_timing *t, const struct process_event *event,
		       struct process *process)
{
	pid_t pid = event->pid;

	if (!t)
		return;
	if (event->type == PROCESS_EXEC || process->ended_ns)
		end_timing(t, pid, event->time_ns);
	if (event->type != PROCESS_MAP)
		return;
	if (maps_library(event, "libcuda.so") && process->speech != PROCESS_TRACED &&
	    !is_timed(t, pid) && untraced_is_obstacle(process->gpu.obstacle))
		start_timing(t, pid);
	if (is_timed(t, pid) || maps_library(event, "libcupti.so"))
		mark_changed(t, pid);
}

void call_timing_scan(struct call_timing *t)
{
	if (!t)
		return;
	for (uint32_t i = 0; i < t->changed_count; i++) {
		pid_t pid = (pid_t)t->changed[i];

		uprobes_scan_process(is_timed(t, pid) ? t->calls : t->subscribes, pid);
	}
	t->changed_count = 0;
}

/* ---- events ---- */

/*
 * Reports a client that CUPTI refused in a traced process, because of us. CUPTI's older function
 * calls the newer one; only the older one's return shows the caller.
 */
static void take_refusal(struct call_timing *t, struct process *process, uint64_t caller)
{
	struct gpu_event_notice notice = {.code = GPU_NOTICE_OTHER_REFUSED};

	if (process->speech != PROCESS_TRACED)
		return; /* we were refused there */
	notice.detail = base_name(collect_module_path(t->collect, process, caller));
	if (!starts_with(notice.detail, "libcupti")) /* the inner call */
		notices_add(t->notices, (uint32_t)process->pid, &notice);
}

void call_timing_take(struct call_timing *t, const struct stack_event *event)
{
	const char *function = cuda_function_name(event->launch_function);
	struct process *process = t ? collect_process_of(t->collect, event) : NULL;

	if (!process)
		return;
	switch (event->kind) {
	case STACK_EVENT_CALL:
		call_timing_note_untraced(t->collect, process);
		collect_call(t->collect, (const struct stack_snapshot *)event, function,
			     cuda_function_kernel_register(event->launch_function));
		break;
	case STACK_EVENT_CALL_END:
		call_timing_note_untraced(t->collect, process);
		collect_call_end(t->collect, event, ((const struct stack_value *)event)->value,
				 function);
		break;
	case STACK_EVENT_REFUSED:
		take_refusal(t, process, ((const struct stack_value *)event)->value);
		break;
	default:
		break;
	}
}
