// SPDX-License-Identifier: MIT
#include "profiler/attach/attached_cuda.h"

#include <stdio.h>
#include "symbolize/util/monotonic.h"

/* CUPTI may wait for a busy GPU before it begins. */
#define LIBRARY_TIMEOUT_NS 10000000000u
#define LOG_WAITING_NS 2000000000u

void attached_cuda_open(struct attached_cuda *c, struct bpf_source *bpf,
			struct inject_queue *inject_queue)
{
	c->inject_queue = inject_queue;
	if (inject_queue && c->call_timing)
		c->driver = uprobes_new(PROBE_DRIVER, bpf, collect_calls(c->collect), c->log);
}

void attached_cuda_release(struct attached_cuda *c)
{
	attached_cuda_end_injections(c);
	cuda_states_release(&c->states);
	uprobes_free(c->driver);
}

void attached_cuda_end_injections(struct attached_cuda *c)
{
	inject_queue_free(c->inject_queue);
	c->inject_queue = NULL;
}

static struct cuda_state *state_of(struct attached_cuda *c, const struct process *process)
{
	return cuda_states_get(&c->states, process->id, process->pid);
}

/* Finds a process by its id. NULL: it has ended, or runs another program by now. */
static struct process *running_process(const struct attached_cuda *c, uint32_t id, pid_t pid)
{
	struct process *process = collect_knows_process(c->collect, pid)
					  ? collect_find_process(c->collect, pid)
					  : NULL;

	return process && process->id == id ? process : NULL;
}

void attached_cuda_begin(struct attached_cuda *c, struct process *process,
			 const struct code_mapping *mapping)
{
	bool is_covered;

	if (!process->gpu.has_driver || process->has_begun_cuda || process->ended_ns)
		return;
	process->has_begun_cuda = true;
	is_covered = c->driver && mapping && uprobes_cover(c->driver, mapping);
	if (c->driver && !is_covered && uprobes_scan_process(c->driver, process->pid) > 0)
		c->driver_probed_ns = monotonic_ns();
	/* may have been used before the probe existed */
	if (!is_covered || process->began_ns <= c->driver_probed_ns)
		state_of(c, process)->may_use_cuda = true;
	if (!c->inject_queue || inject_queue_add(c->inject_queue, process->id, process->pid) != 0)
		call_timing_begin(c->call_timing, process);
	else if (process->source == PROCESS_ATTACHED)
		state_of(c, process)->delays_recording = true;
}

void attached_cuda_note_user(struct attached_cuda *c, const struct stack_event *event)
{
	const struct process *process = collect_process_of(c->collect, event);

	if (process)
		state_of(c, process)->may_use_cuda = true;
}

/*
 * Returns true if the library is in the process. INJECT_ALREADY counts if it came with an injection
 * meant for the program that the process ran before exec.
 */
static bool has_arrived(const struct attached_cuda *c, const struct injected *injected)
{
	return injected->result == INJECT_DONE ||
	       (injected->result == INJECT_ALREADY &&
		cuda_states_was_injected(&c->states, injected->pid));
}

/* Has a process's calls timed if possible; otherwise counts it as lacking GPU time. */
static void count_untraced(struct attached_cuda *c, struct process *process)
{
	call_timing_begin(c->call_timing, process);
	call_timing_note_untraced(c->collect, process);
}

void attached_cuda_take_injected(struct attached_cuda *c)
{
	struct injected injected;

	while (inject_queue_next(c->inject_queue, &injected)) {
		struct process *process = running_process(c, injected.id, injected.pid);
		bool is_there = has_arrived(c, &injected);
		struct cuda_state *state = cuda_states_get(&c->states, injected.id, injected.pid);

		if (is_there) {
			state->was_injected = true;
			if (process && process->lacks_gpu_time)
				log_warn(c->log,
					 "process %d: the library was injected late; from "
					 "now on its GPU time is measured",
					 (int)injected.pid);
			else
				log_verbose(c->log, "process %d: the library was injected",
					    (int)injected.pid);
			if (process && !process_has_spoken(process))
				cuda_state_arrive(state);
			/* the library may end before it begins; timed processes are warned of
			 * elsewhere
			 */
			if (!process || !process->lacks_gpu_time)
				state->may_miss = true;
			continue;
		}
		state->delays_recording = false;
		if (!process || injected.result == INJECT_GONE) {
			log_verbose(c->log, "%s", injected.message);
			state->may_miss = true;
			continue;
		}
		log_warn(c->log, "no GPU time: %s%s", injected.message,
			 !c->call_timing        ? ""
			 : injected.hides_calls ? ", so its CUDA calls cannot be timed either"
						: "; its CUDA calls are timed instead");
		if (process->speech != PROCESS_TRACED)
			count_untraced(c, process);
	}
}

void attached_cuda_note_hello(struct attached_cuda *c, const struct process *process,
			      bool has_begun)
{
	cuda_state_note_hello(state_of(c, process));
	c->late += has_begun && process->source != PROCESS_ATTACHED;
}

/* ---- before recording begins ---- */

bool attached_cuda_postpone_answer(struct attached_cuda *c, const struct process *process,
				   uint64_t instance)
{
	state_of(c, process)->unanswered_id = instance;
	return state_of(c, process)->unanswered_id == instance;
}

bool attached_cuda_next_unanswered(struct attached_cuda *c, uint32_t *at, pid_t *pid,
				   uint64_t *instance)
{
	while (*at < c->states.count) {
		struct cuda_state *state = &c->states.list[(*at)++];

		*pid = state->pid;
		*instance = state->unanswered_id;
		state->unanswered_id = 0;
		if (*instance && collect_knows_process(c->collect, *pid))
			return true;
	}
	return false;
}

void attached_cuda_forget_missed(struct attached_cuda *c)
{
	if (!c->states.count || !collect_count_running(c->collect))
		return;
	for (uint32_t i = 0; i < c->states.count; i++) {
		struct cuda_state *state = &c->states.list[i];

		state->may_miss &= running_process(c, state->id, state->pid) != NULL;
	}
}

/*
 * Returns the next state from position `*at` on, 0 at first, of a running process that delays
 * recording; NULL if there is none.
 */
static struct cuda_state *next_delaying(const struct attached_cuda *c, uint32_t *at,
					struct process **process)
{
	while (*at < c->states.count) {
		struct cuda_state *state = &c->states.list[(*at)++];

		if (state->delays_recording &&
		    (*process = running_process(c, state->id, state->pid)))
			return state;
	}
	return NULL;
}

/* Stops waiting for a process, which has no GPU time; `why` completes the warning. */
static void time_silent(struct attached_cuda *c, struct process *process, const char *why)
{
	log_warn(c->log, "no GPU time: CUPTI has not begun in process %d %s%s", (int)process->pid,
		 why, c->call_timing ? "; its CUDA calls are timed until it has" : "");
	count_untraced(c, process);
	state_of(c, process)->may_miss = false; /* warned of here */
}

static void time_all_silent(struct attached_cuda *c)
{
	struct process *process;
	struct cuda_state *state;
	uint32_t at = 0;
	char why[32];

	snprintf(why, sizeof(why), "within %d s", (int)(LIBRARY_TIMEOUT_NS / 1000000000u));
	while ((state = next_delaying(c, &at, &process))) {
		state->delays_recording = false;
		time_silent(c, process, why);
	}
}

/* Stops waiting for processes in which the library is stuck. */
static void time_stuck(struct attached_cuda *c)
{
	struct process *process;
	struct cuda_state *state;
	uint32_t at = 0;

	while ((state = next_delaying(c, &at, &process))) {
		if (state->stage != LIBRARY_ARRIVED || !cuda_state_is_stuck(state))
			continue;
		time_silent(c, process,
			    "(it is stopped, or waits for a file that does not answer: restart the "
			    "server of that FUSE or network file system, or unmount it)");
		cuda_state_give_up(state);
	}
}

bool attached_cuda_delays_recording(struct attached_cuda *c, uint64_t since_ns)
{
	uint64_t waited_ns = monotonic_ns() - since_ns;
	uint32_t count = 0, at = 0;
	struct process *process;
	pid_t pid = 0;
	char text[32];

	time_stuck(c);
	for (; next_delaying(c, &at, &process); count++)
		pid = process->pid;
	if (count && waited_ns >= LIBRARY_TIMEOUT_NS) {
		time_all_silent(c);
		return false;
	}
	if (count && waited_ns >= LOG_WAITING_NS && !c->has_logged_waiting) {
		c->has_logged_waiting = true;
		if (count == 1)
			snprintf(text, sizeof(text), "process %d", (int)pid);
		else
			snprintf(text, sizeof(text), "%u processes", count);
		log_line(c->log, "Waiting for CUPTI to begin in %s", text);
	}
	return count > 0;
}

/* ---- the end ---- */

/* Returns true if the library has been injected into a running process and has not said hello. */
static bool awaits_hello(const struct attached_cuda *c)
{
	for (uint32_t i = 0; i < c->states.count; i++) {
		const struct cuda_state *state = &c->states.list[i];

		if (state->stage == LIBRARY_ARRIVED && running_process(c, state->id, state->pid))
			return true;
	}
	return false;
}

bool attached_cuda_is_busy(struct attached_cuda *c)
{
	return inject_queue_is_busy(c->inject_queue) || awaits_hello(c);
}

void attached_cuda_warn_missed(struct attached_cuda *c)
{
	uint32_t missed = cuda_states_count_missed(&c->states);

	if (missed)
		collect_ledger(c->collect)->calls.processes += missed; /* without GPU time */
	log_warn_if(c->log, missed,
		    "# process{|es} had loaded CUDA and ended, or {was|were} left, before the "
		    "library could be injected: {its|their} GPU time, if any, is missing");
	log_warn_if(c->log, c->late,
		    "# process{|es} that started meanwhile had loaded CUDA when the library was "
		    "injected: GPU time from before is missing");
}
