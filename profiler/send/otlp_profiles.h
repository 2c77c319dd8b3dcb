/* SPDX-License-Identifier: MIT */
/*
 * Writes OpenTelemetry profiles: the message ProfilesData of opentelemetry-proto 1.10, which
 * equals ExportProfilesServiceRequest on the wire.
 *
 * Source: opentelemetry/proto/profiles/v1development/profiles.proto. Its status is Alpha, and its
 * field numbers change between releases.
 *
 * An OTLP profile has values of one type. A run becomes a profile per kind of time, one for
 * operations, and one for copied bytes. The profiles share the dictionary with all stacks.
 * Attributes of samples say where code ran, as far as the run has it: process.pid, thread.id,
 * thread.name, cuda.device, cuda.context, cuda.stream.
 *
 * The message is built in memory: about 20 bytes per row and value, and 40 bytes per frame and
 * stack.
 */
#ifndef PROFILER_SEND_OTLP_PROFILES_H
#define PROFILER_SEND_OTLP_PROFILES_H

#include <stdio.h>
#include "profiler/send/engine.h"

/* Returns 0 or -errno. */
int otlp_profiles_write(const struct engine_profile *profile, FILE *out);

#endif
