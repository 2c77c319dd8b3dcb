/* SPDX-License-Identifier: MIT */
/*
 * Results of a run that goes on: each is completed and written by a child of fork(2), which has all
 * that was collected at one moment as its own, while the run goes on collecting. Until it ends, the
 * kernel keeps two versions of the memory that changes meanwhile: at most twice the profiler's.
 *
 * Snapshot N of an output has N before the extension of its name: out.html, out.1.html, out.2.html.
 * It appears when it is whole, as outputs do, and replaces a file of that name. What goes to
 * standard output, to an engine or to a collector is for the end alone.
 */
#ifndef PROFILER_COMMANDS_SNAPSHOT_H
#define PROFILER_COMMANDS_SNAPSHOT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "profiler/base/log.h"
#include "profiler/commands/options.h"

/*
 * Of the last seconds (--last) a snapshot is of the moment at which it was asked for. Work of that
 * moment is reported later, so it is taken SNAPSHOT_GRACE_NS after it, once all that has been sent
 * is read, or at the latest SNAPSHOT_TIMEOUT_NS after it.
 */
#define SNAPSHOT_GRACE_NS 500000000u
#define SNAPSHOT_TIMEOUT_NS 5000000000u

/* Zero-initialised has taken none. */
struct snapshots {
	uint32_t count;     /* so far */
	pid_t child;        /* that writes the last one; 0: none */
	uint64_t moment_ns; /* what the next one is of, which is not taken yet; 0: none */
};

/*
 * In the child: the options of the run with the outputs of snapshot `number` alone. False: there
 * are none, or no memory. Names are never freed.
 */
bool snapshot_options(struct options *copy, const struct options *options, uint32_t number);

/* Returns whether options have an output that a snapshot can be of. */
bool snapshot_is_possible(const struct options *options);

/*
 * Forks. 0 in the child, which ends with _exit and an exit status; its number is `count`. 1 in the
 * parent; -EBUSY: the last one is still being written; -errno.
 */
int snapshot_start(struct snapshots *snapshots);

/*
 * Says what became of the last one; with `waits`, when it has ended. Returns the CPU time that the
 * child used, in ns, once.
 */
uint64_t snapshot_end(struct snapshots *snapshots, struct log *log, const struct options *options,
		      bool waits);

#endif
