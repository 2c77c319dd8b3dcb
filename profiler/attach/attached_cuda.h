/* SPDX-License-Identifier: MIT */
/*
 * Handles running processes that use CUDA, and their descendants: injects the library, or has their
 * calls timed. Covers the time from the mapping of the CUDA driver to the final warnings about
 * missing GPU time.
 *
 * With the library, recording begins when it is in all of them, so that processes can be compared.
 * A hello is not answered before recording begins.
 */
#ifndef PROFILER_ATTACH_ATTACHED_CUDA_H
#define PROFILER_ATTACH_ATTACHED_CUDA_H

#include "profiler/attach/inject_queue.h"
#include "profiler/attach/call_timing.h"
#include "profiler/attach/cuda_states.h"
#include "profiler/base/log.h"
#include "profiler/join/collect.h"
#include "profiler/sources/uprobes.h"

/* Zero-initialised: empty. Then only functions without a process may be called. */
struct attached_cuda {
	struct collect *collect;         /* borrowed; set by the caller, like the next two */
	struct call_timing *call_timing; /* NULL: calls cannot be timed */
	struct log *log;
	struct inject_queue *inject_queue; /* owned; NULL: no injection */
	struct cuda_states states;
	struct uprobes *driver;    /* on the driver's entry points; NULL: use is unknown */
	uint64_t driver_probed_ns; /* time of the last new probe */
	uint32_t late;             /* new processes whose hello came during recording */
	bool has_logged_waiting;
};

/* Takes ownership of the inject queue, which may be NULL. */
void attached_cuda_open(struct attached_cuda *c, struct bpf_source *bpf,
			struct inject_queue *inject_queue);
void attached_cuda_release(struct attached_cuda *c);

/* Ends the injecting threads, which have capabilities. */
void attached_cuda_end_injections(struct attached_cuda *c);

/*
 * Injects the library into a process that has mapped the CUDA driver, or has its calls timed.
 * `mapping` is the driver's; NULL if unknown. Acts once per program. A mapping inherited by fork
 * does not count, because CUDA does not work in such a child.
 */
void attached_cuda_begin(struct attached_cuda *c, struct process *process,
			 const struct code_mapping *mapping);

/* Notes that a process has entered the driver, whose mapping may still be unknown. */
void attached_cuda_note_user(struct attached_cuda *c, const struct stack_event *event);

/* Handles results of injections. If one failed, has the process's calls timed. */
void attached_cuda_take_injected(struct attached_cuda *c);

/* Notes a hello from the library. `has_begun`: recording has begun. */
void attached_cuda_note_hello(struct attached_cuda *c, const struct process *process,
			      bool has_begun);

/* Notes that the hello of `instance` is to be answered later. Returns false if out of memory. */
bool attached_cuda_postpone_answer(struct attached_cuda *c, const struct process *process,
				   uint64_t instance);

/*
 * Takes the next unanswered hello from position `*at` on, which starts at 0. Returns false if there
 * is none.
 */
bool attached_cuda_next_unanswered(struct attached_cuda *c, uint32_t *at, pid_t *pid,
				   uint64_t *instance);

/*
 * Returns true while the library's start is undecided in some process. The timeout is 10 s after
 * `since_ns`; calls are timed there instead. Processes started meanwhile do not count, since there
 * may always be more.
 */
bool attached_cuda_delays_recording(struct attached_cuda *c, uint64_t since_ns);

/* Forgets processes that ended before recording begins, unless nothing is left to record. */
void attached_cuda_forget_missed(struct attached_cuda *c);

/* Returns true if an injection is pending, or an injected library has not said hello. */
bool attached_cuda_is_busy(struct attached_cuda *c);

/*
 * Warns of missing GPU time. New processes get the library after they load the driver, which may be
 * after they begin to use it.
 */
void attached_cuda_warn_missed(struct attached_cuda *c);

#endif
