/* SPDX-License-Identifier: MIT */
/*
 * What is done with processes that use CUDA and ran before us, and with their descendants: the
 * library is brought into them, or their calls are timed. From the mapping of CUDA's driver to what
 * is said at the end about GPU time that is missing.
 *
 * With the library, the profile is of the time in which it is in all of them: what began earlier in
 * one than in others could not be compared. So a hello is not answered until recording begins.
 */
#ifndef PROFILER_ATTACH_ATTACHED_CUDA_H
#define PROFILER_ATTACH_ATTACHED_CUDA_H

#include "profiler/attach/inject_queue.h"
#include "profiler/attach/call_timing.h"
#include "profiler/attach/cuda_states.h"
#include "profiler/base/log.h"
#include "profiler/join/collect.h"
#include "profiler/sources/uprobes.h"

/* Zero-initialised: there are none. Then only functions without a process may be called. */
struct attached_cuda {
	struct collect *collect;         /* borrowed; set by the caller, as the next two */
	struct call_timing *call_timing; /* NULL: calls cannot be timed */
	struct log *log;
	struct inject_queue *inject_queue; /* owned; NULL: the library is brought into no process */
	struct cuda_states states;
	struct uprobes *driver;    /* of who begins to use CUDA; NULL: it is not known */
	uint64_t driver_probed_ns; /* the last time that there was a new one */
	uint32_t late;             /* new processes that said hello in what is recorded */
	bool has_said_waiting;
};

/* Takes the inject queue, which may be NULL. */
void attached_cuda_open(struct attached_cuda *c, struct bpf_source *bpf,
			struct inject_queue *inject_queue);
void attached_cuda_release(struct attached_cuda *c);

/* Frees the threads that bring the library in, which have capabilities. */
void attached_cuda_end_injections(struct attached_cuda *c);

/*
 * Brings the library into a process that has mapped CUDA's driver, or times its calls by probes.
 * `mapping`: that of the driver; NULL: it is not known. Once for each program.
 * (What a child of fork has inherited it has not mapped: CUDA does not work there.)
 */
void attached_cuda_begin(struct attached_cuda *c, struct process *process,
			 const struct code_mapping *mapping);

/* Notes that a process has entered the driver, whose mapping may not be known yet. */
void attached_cuda_note_user(struct attached_cuda *c, const struct stack_event *event);

/* Has calls timed where the library could not be brought in. Elsewhere its hello comes. */
void attached_cuda_take_injected(struct attached_cuda *c);

/* Notes that the library says hello. `has_begun`: recording has. */
void attached_cuda_hear(struct attached_cuda *c, const struct process *process, bool has_begun);

/* Notes that the hello of `instance` is to be answered later. False: out of memory. */
bool attached_cuda_put_off(struct attached_cuda *c, const struct process *process,
			   uint64_t instance);

/* Takes the next of those from `*at` on, 0 at first. False: there is none. */
bool attached_cuda_next_unanswered(struct attached_cuda *c, uint32_t *at, pid_t *pid,
				   uint64_t *instance);

/*
 * Returns whether it is not known yet what the library can do in some process. That is waited for
 * since `since_ns`, 10 s at most; then calls are timed there. Processes that started meanwhile do
 * not count, since there may always be more.
 */
bool attached_cuda_delays_recording(struct attached_cuda *c, uint64_t since_ns);

/* Forgets what has ended before recording begins, unless nothing is left to record. */
void attached_cuda_forget_missed(struct attached_cuda *c);

/* Returns whether the library is on its way into a process, or has not said hello in one. */
bool attached_cuda_is_busy(struct attached_cuda *c);

/*
 * Warns of GPU time that is missing: the library is brought into processes that start meanwhile
 * when they have loaded the driver, not before they use it.
 */
void attached_cuda_tell_missed(struct attached_cuda *c);

#endif
