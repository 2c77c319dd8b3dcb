/* SPDX-License-Identifier: MIT */
/*
 * Pushes the profile to profile engines at the end of the run: --push.
 *
 * Engines get the result that an output file would show. The service is OTEL_SERVICE_NAME, or the
 * name of the command. Header fields may hold credentials, so they come from PROFILE_PUSH_HEADERS:
 * everybody can read a command line.
 */
#ifndef PROFILER_COMMANDS_PUSH_H
#define PROFILER_COMMANDS_PUSH_H

#include <stdbool.h>
#include <stdint.h>
#include "profiler/base/log.h"
#include "profiler/commands/options.h"
#include "profiler/model/result.h"
#include "profiler/run/helper.h"
#include "profiler/run/identity.h"
#include "profiler/run/session.h"
#include "profiler/send/engine.h"
#include "profiler/send/http_channel.h"

#define PUSH_TIMEOUT_MS 30000 /* for all engines together */

/*
 * Checks the URLs before the command runs, so that mistakes show at once. Returns true without
 * --push, and false after logging the reason.
 */
bool push_check(struct log *log, const struct options *options, const struct identity *identity,
		const struct helper *helper);

/*
 * Pushes the profile to all engines and reports the results. A signal of the session ends the
 * waiting; `session` may be NULL. Returns the number of engines that did not take the profile; the
 * reasons are logged.
 */
uint32_t push_result(struct log *log, const struct options *options, const struct helper *helper,
		     struct session *session, const struct result *result);

/* A profile in the form of an engine. Zero-initialise; push_body_release frees the members. */
struct push_body {
	char *query; /* query of the URL; NULL: none */
	char *bytes;
	size_t size;
};

void push_body_release(struct push_body *body);

/* Encodes a profile for the engine of a URL. Returns false after logging the reason. */
bool push_encode(struct log *log, const char *url, const struct engine_profile *profile,
		 struct push_body *body);

enum push_answer {
	PUSH_TAKEN,
	PUSH_REFUSED,   /* this body, for what it is: never again */
	PUSH_NOT_TAKEN, /* the engine is away, busy or refuses all */
};

/*
 * Sends a body, and waits up to `limit_ms` for the answer, and until a signal of the session, which
 * may be NULL. Sets `why`, which begins with the server, unless the engine took it.
 */
enum push_answer push_send(struct log *log, const struct helper *helper, const char *url,
			   const struct push_body *body, int64_t limit_ms, struct session *session,
			   char why[HTTP_WHY_BYTES]);

#endif
