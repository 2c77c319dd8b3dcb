/* SPDX-License-Identifier: MIT */
/*
 * What the devices are called that processes run their work on: "GPU 0", "GPU 0 MIG 3/0" of a MIG
 * instance (its GPU instance's and compute instance's ids), "GPU 0 MPS" where the process shares
 * the GPU by the MPS server; and for -v CUPTI's name and the UUID.
 *
 * Device ids are a process's own, so a device is known by process and id. What CUPTI says of it may
 * come after operations on it: a label is a text that stays where it is and is right in the end.
 *
 * Bounded: DEVICES_MAX of all processes; those that come later have no label.
 */
#ifndef PROFILER_COLLECT_DEVICES_H
#define PROFILER_COLLECT_DEVICES_H

#include <stdint.h>
#include "cupti_trace/gpu_event.h"
#include "profiler/base/log.h"
#include "symbolize/hash_index.h"

#define DEVICES_MAX 65536u

/* Zero-initialised is empty. */
struct devices {
	struct device **list; /* each stays where it is */
	uint32_t count, capacity;
	uint32_t last; /* the one that was used last */
	struct hash_index index;
};

void devices_release(struct devices *d);

/* What a process says of its device, and of a context on it. 0 or -ENOMEM. */
int devices_describe(struct devices *d, uint32_t pid, const struct gpu_event_device *event);
int devices_note_context(struct devices *d, uint32_t pid, const struct gpu_event_context *event);

/*
 * The label of a device on which something ran; its text may change until the last event has come.
 * It lives until devices_release. NULL: it has none.
 */
const char *devices_use(struct devices *d, uint32_t pid, uint32_t id);

/* `pid` starts anew: its numbers may mean other devices. Labels that were given out stay. */
void devices_forget(struct devices *d, uint32_t pid);

/* The devices that were used, a line each, of all processes together (-v). */
void devices_report(const struct devices *d, struct log *log);

#endif
