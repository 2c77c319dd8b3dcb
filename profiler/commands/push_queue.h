/* SPDX-License-Identifier: MIT */
/*
 * Pushes the results of --every, and keeps those that an engine does not take.
 *
 * A child of fork(2) writes each result (snapshot.h), and pushes it. What an engine does not take
 * comes back to the parent through shared memory, and later children send it first, in order. While
 * an engine is away, one attempt is made each PUSH_QUEUE_PAUSE_NS. A message says when it goes
 * away, and when it takes results again.
 *
 * Results that an engine refuses for good (HTTP status 400, 413 or 422) are lost at once: else they
 * would keep back all later ones.
 *
 * PUSH_QUEUE_BYTES are kept for all engines together. Beyond that the oldest results are dropped,
 * and counted.
 *
 * There is one queue in a process.
 */
#ifndef PROFILER_COMMANDS_PUSH_QUEUE_H
#define PROFILER_COMMANDS_PUSH_QUEUE_H

#include <stdbool.h>
#include <stdint.h>
#include "profiler/base/log.h"
#include "profiler/commands/options.h"
#include "profiler/model/result.h"
#include "profiler/run/helper.h"
#include "profiler/run/session.h"

#ifndef PUSH_QUEUE_BYTES /* tests use less */
#define PUSH_QUEUE_BYTES (64u << 20)
#endif
#define PUSH_QUEUE_PAUSE_NS UINT64_C(5000000000)
#define PUSH_QUEUE_TRY_MS 2000 /* for an engine that was away; PUSH_TIMEOUT_MS for others */

/* Prepares the queue in the parent, before each child. Does nothing without --push. */
void push_queue_prepare(const struct options *options);

/*
 * Pushes what was kept, and a result, in the child (`session` is NULL) or at the end of the run. At
 * the end all engines are asked once more, for PUSH_TIMEOUT_MS without success and until a signal,
 * and what they do not take is lost. Returns the number of lost results then, else 0.
 */
uint32_t push_queue_send(struct log *log, const struct options *options,
			 const struct helper *helper, struct session *session,
			 const struct result *result);

/* Takes what the child left, in the parent, and reports engines that went away or came back. */
void push_queue_settle(struct log *log, const struct options *options);

#endif
