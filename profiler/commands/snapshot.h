/* SPDX-License-Identifier: MIT */
/*
 * Writes results of a run that goes on.
 *
 * A child of fork(2) completes and writes each snapshot. The child has a copy of all that was
 * collected, and the run goes on collecting. Until the child ends, the kernel keeps both versions
 * of memory that changes: at most twice the profiler's memory.
 *
 * Snapshot N of an output has N before the extension: out.html, out.1.html, out.2.html. A snapshot
 * appears when it is complete, and replaces a file of that name. Standard output, engines and
 * collectors only get the final result.
 *
 * A result of --every is a snapshot, too; with %t in the name of the output it has the time of its
 * start there, and no number. Engines get these results.
 *
 * An answer to a question (formats/query.h) is a snapshot, too: out.3.verdict.json, beside the
 * first output.
 */
#ifndef PROFILER_COMMANDS_SNAPSHOT_H
#define PROFILER_COMMANDS_SNAPSHOT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "profiler/base/log.h"
#include "profiler/commands/control.h"
#include "profiler/commands/options.h"

/*
 * Delays of a snapshot with --last. The snapshot shows the moment of the request, but records of
 * that moment arrive later. It is taken after SNAPSHOT_GRACE_NS, once all sent records are read,
 * and after SNAPSHOT_TIMEOUT_NS at the latest.
 */
#define SNAPSHOT_GRACE_NS 500000000u
#define SNAPSHOT_TIMEOUT_NS 5000000000u

/* Zero-initialise. */
struct snapshots {
	uint32_t count;     /* snapshots so far */
	bool has_failed;    /* the last one could not be written */
	uint32_t inexact;   /* written, but --strict finds losses */
	pid_t child;        /* process that writes the last snapshot; 0: none */
	uint64_t moment_ns; /* moment of the requested snapshot; 0: none is pending */
	uint64_t unix_ns;   /* start of the last or pending one, for %t */
	/* question of the last or pending snapshot, in `text`; without one it has all outputs */
	struct query query;
	char text[CONTROL_LINE_BYTES];
	unsigned int complaints; /* about questions */
};

/*
 * Sets the question of the next snapshot, or none for "". Returns false after logging the reason if
 * it is no question, or one that needs another file: writers of the FIFO choose no paths.
 */
bool snapshot_ask(struct snapshots *snapshots, struct log *log, const char *question);

/*
 * Replaces the names of files by those of result number `number`: its time in place of %t, else the
 * number. Returns false if out of memory. Names are never freed.
 */
bool snapshot_name_outputs(struct options *options, uint32_t number, uint64_t unix_ns);

/*
 * Copies the options for the last snapshot in the child: only the files, with its number in their
 * names, or the answer. Returns false if there are none, or if out of memory. Names are never
 * freed.
 */
bool snapshot_options(struct options *copy, const struct options *options,
		      const struct snapshots *snapshots);

/* Returns the first output that is no file: standard output, a device, a FIFO. NULL: none is. */
const char *snapshot_no_file(const struct options *options);

/* Returns whether an output can have snapshots. */
bool snapshot_is_possible(const struct options *options);

/*
 * Forks. Returns 0 in the child, which must call _exit; the snapshot's number is `count`. Returns
 * 1 in the parent, -EBUSY if the last snapshot is still being written, or -errno.
 */
int snapshot_start(struct snapshots *snapshots);

/*
 * Reports the last snapshot once it has ended; waits for the end if `waits`. Returns the CPU time
 * of the child in ns, once.
 */
uint64_t snapshot_end(struct snapshots *snapshots, struct log *log, const struct options *options,
		      bool waits);

#endif
