/* SPDX-License-Identifier: MIT */
/*
 * Frames at the root that say whose time it is: process, thread, device, context, stream (--by).
 *
 * A group is a stack of such frames in the stack table. Of CPU samples only process and thread are
 * known, of GPU work all but the thread: that is its launch's. So where threads are wanted, the
 * join carries launch ids in place of stack ids, each a stack and the thread that launched from it.
 *
 * Names are those of the moment when a process or thread is first seen: "train.py 4711" for an
 * interpreter's script, else "name 4711"; "[process 4711]" when it is gone. Streams and contexts
 * have CUPTI's numbers. A device's frame is the label that the place has (devices.h), whose text
 * may change until names are put to the profile.
 */
#ifndef PROFILER_COLLECT_BY_H
#define PROFILER_COLLECT_BY_H

#include <stdbool.h>
#include <stdint.h>
#include "profiler/profile/stack_table.h"
#include "symbolize/hash_index.h"
#include "symbolize/intern.h"

enum by_part { BY_PROCESS, BY_THREAD, BY_DEVICE, BY_CONTEXT, BY_STREAM, BY_PARTS };

/* The parts in the order in which they stand, from the root on. */
struct by_order {
	uint8_t parts[BY_PARTS]; /* enum by_part */
	uint8_t count;           /* 0: no groups */
};

struct by {
	struct by_order order;
	struct stack_table *stacks;
	struct intern *strings;
	struct by_launch *launches; /* by launch id */
	uint32_t launch_count, launch_capacity;
	struct hash_index launch_index;
	struct by_cached_group *groups;
	uint32_t group_count, group_capacity;
	struct hash_index group_index;
	struct by_name *names; /* of processes and threads */
	uint32_t name_count, name_capacity;
	struct hash_index name_index;
};

/* Whose: what is not known is 0. */
struct by_place {
	uint32_t pid, tid;
	bool is_gpu; /* else the rest means nothing */
	uint32_t device, context, stream;
	const char *device_label; /* one a device of a process; NULL: "GPU" and its number */
};

/* "process,thread,device,stream,context" in any order, each at most once. False: it is not that. */
bool by_parse(const char *text, struct by_order *order);

bool by_has(const struct by_order *order, enum by_part part);

/* No groups until `order` is set. Both are borrowed. */
void by_init(struct by *by, struct stack_table *stacks, struct intern *strings);
void by_release(struct by *by);

/* A process is there, and may not be for long: where processes are wanted, its name is read now. */
void by_process(struct by *by, uint32_t pid);

/* What the join is to carry for a launch: `stack` itself unless threads are wanted. */
uint32_t by_launch(struct by *by, uint32_t stack, uint32_t pid, uint32_t tid);

/* The stack of what the join carried, and the thread (0: not known). */
uint32_t by_launch_stack(const struct by *by, uint32_t carried, uint32_t *tid);

/* The group of a place; PROFILE_NO_GROUP without --by or when out of memory. */
uint32_t by_group(struct by *by, const struct by_place *place);

#endif
