/* SPDX-License-Identifier: MIT */
/*
 * OpenTelemetry's profiles: the message ProfilesData of opentelemetry-proto 1.10
 * (opentelemetry/proto/profiles/v1development/profiles.proto, which has the status Alpha and
 * changes its numbers from release to release), which on the wire is ExportProfilesServiceRequest
 * as well.
 *
 * A profile of OTLP has values of one type: so the run is one for each kind of time, for operations
 * and for bytes that were copied. They share stacks, and all that is in the dictionary. Where
 * something ran are attributes of samples: process.pid, thread.id, thread.name, cuda.device,
 * cuda.context, cuda.stream, as far as the run kept them.
 *
 * The message is in memory as a whole: some 20 bytes for each row and value, and 40 for each frame
 * and stack.
 */
#ifndef PROFILER_SEND_OTLP_PROFILES_H
#define PROFILER_SEND_OTLP_PROFILES_H

#include <stdio.h>
#include "profiler/send/engine.h"

/* 0 or -errno. */
int otlp_profiles_write(const struct engine_profile *profile, FILE *out);

#endif
